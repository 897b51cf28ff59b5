"""How records leave the store: pruned when their salience has decayed, deleted on request, or erased with all traces.

`removal` deletes records for all three. `pruning` chooses the records that are due. An erasure finds all records that
must be erased with the requested ones (`closure`), removes references to them from other records (`traces`,
`rewriting`, `episodes`), remembers their sources (`sources`), deletes the rows about them in other tables
(`leftovers`, `notes`, `failed_captures`, `scopes`, `tenants`) and leaves a receipt (`receipts`, `counts`).
"""
