"""What a change does to the records derived from it: re-evaluation, its queue and preview, and grounded support."""
