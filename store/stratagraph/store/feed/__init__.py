"""The change feed: the log that every write appends to, the snapshots that cut it into windows, and its consumers.

`consumer` describes how a reader misses nothing; `settling` when an instant of the past can no longer change.
"""
