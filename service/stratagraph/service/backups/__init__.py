"""Backups of the embedded database with its artifacts, and their restoration into a new data directory.

A backup is a directory:

    manifest.json       versions, hashes, row counts, and the names of the master keys that its keys are wrapped by
    SHA256SUMS          the hash of each file below, in the form that `sha256sum --check` reads
    roles.sql           the roles of the cluster, without passwords
    database.dump       pg_dump's custom format, of one snapshot
    artifacts/…         the objects of the artifacts in that snapshot, as they are stored

The master key is in none of these files. `staging` makes a directory appear complete or not at all, `making` writes a
backup, `restoring` reads one, `client_programs` runs pg_dump and pg_restore.
"""
