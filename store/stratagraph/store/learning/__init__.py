"""What learning stores beside records: its runs, their reports, what each changed, and which episodes are due."""
