"""What a language model finds in texts: facts, and what they name. See docs/learning.md."""
