"""Postgres, the only truth: records, relations, their history and trust, search, traversal and the change feed.

Read `records.py` and `salience.py` first, then `writing.py` (how a transaction is put together) and
`reading.py` (how rows become records under a caller's trust). SQL lives in this room and nowhere else.
"""
