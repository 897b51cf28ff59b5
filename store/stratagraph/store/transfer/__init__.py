"""Moving records between instances: reading them for an export, with all that belongs to them, and restoring them.

`exporting` reads pages of records, relations and tombstones under a caller's trust.
`restorable` computes what this instance has of an exported record, `known` finds what contradicts it, and `restoring`
inserts it as it was.
"""
