"""Retrieval (SPEC §6): candidates from indexes, fused and weighted; expansion; what the caller may see; selection."""
