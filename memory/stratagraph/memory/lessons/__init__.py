"""Lessons from mistakes: competence records with a `lesson` block, learned, ranked, retired and told to agents."""
