"""Candidate records for a query: word search by BM25, its statistics, recency search, and the log of retrievals."""
