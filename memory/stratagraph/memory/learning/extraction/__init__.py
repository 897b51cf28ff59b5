"""Facts that a language model extracts from closed episodes. See docs/learning.md."""
