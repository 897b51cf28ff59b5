"""Changing what is remembered: with an actor, a reason, evidence, and a trace (SPEC §5)."""
