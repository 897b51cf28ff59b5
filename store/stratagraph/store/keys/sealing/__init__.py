"""Encryption at rest: sealed blobs, the tenants' data keys, and the master key that wraps them.

The content of a record at or above the configured sensitivity is stored in one AES-256-GCM envelope (`envelope`),
sealed by a data key of its tenant (`vault`). Data keys and index keys are stored in the database, wrapped by a master
key (`master`), which is never stored there. `contents` seals and opens the content of rows, `shredding` deletes a
tenant's keys, and `records.key_rotation` replaces keys. See docs/security.md and docs/data-model.md, Encryption.
"""
