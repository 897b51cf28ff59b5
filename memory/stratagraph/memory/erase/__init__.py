"""The right to be forgotten (SPEC §2)."""
