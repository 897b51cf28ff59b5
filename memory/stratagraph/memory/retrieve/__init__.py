"""Retrieval (docs/specification.md, Retrieval): candidates, ranking, expansion, visibility, selection."""
