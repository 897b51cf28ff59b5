"""Candidates for a question: word search by BM25, the statistics it needs, and the log of what was answered."""
