"""Bringing in what already happened: a repository's history, an agent's conversations."""
