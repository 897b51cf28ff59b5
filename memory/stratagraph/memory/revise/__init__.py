"""Revision of records: every change has an actor, a reason and a trace, and new facts need evidence.

`service` is what callers use. `unit_of_work` is the transaction that all kinds of revision share.
"""
