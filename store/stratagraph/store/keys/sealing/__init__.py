"""Encryption at rest (SPEC §3): sealed blobs, the tenants' data keys, and the master key that wraps them.

A record at or above the configured level keeps its content in one AES-256-GCM envelope (`envelope`), sealed by a data
key of its tenant (`vault`). Data keys and index keys lie in the database wrapped by a master key (`master`), which
never does. Content goes in and out through `contents`; `rotation` makes new keys, `shredding` drops them for good.
"""
