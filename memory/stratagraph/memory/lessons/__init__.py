"""Lessons from mistakes: competence records with a `lesson` block, ranked, retired, and returned as playbooks."""
