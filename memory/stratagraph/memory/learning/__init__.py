"""Learning from closed episodes: what a stage is given, what it may write, and the stages (docs/learning.md)."""
