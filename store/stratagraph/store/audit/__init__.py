"""Who did what, when and why: the insert-only, hash-chained log, and its verification."""
