"""What tasks need: which tools, learned from the words of earlier tasks. See docs/learning.md."""
