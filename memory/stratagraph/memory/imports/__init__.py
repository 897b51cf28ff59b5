"""Imports of past events: the history of a git repository, and recorded conversations of agents."""
