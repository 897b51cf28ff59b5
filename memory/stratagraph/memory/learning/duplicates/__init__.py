"""Entities and facts that say the same: found, weighed, and merged or listed for a decision. See docs/learning.md."""
