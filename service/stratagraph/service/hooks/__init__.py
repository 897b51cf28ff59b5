"""Hooks of coding agents: their lines in the agents' settings, and what they do when an agent calls them."""
