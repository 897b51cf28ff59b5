"""Moving records between instances: reading them for an export, with all that belongs to them, and restoring them.

`exporting` reads pages of records, relations and tombstones under a caller's trust.
"""
