"""The change feed: the log that every write appends to, the snapshots that divide it into windows, and its consumers.

`changes` appends to the log, `snapshots` stores the snapshots, `consumer` reads without loss, `sequence` makes the
tokens that writers receive, and `settling` waits until an instant of the past can no longer change. The design is
described in docs/architecture.md, The change feed.
"""
