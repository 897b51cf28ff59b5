"""Postgres, the only truth, in wings. Each imports only from those above it in this list:

model       records, payloads, salience, trust, errors: no I/O
event_log   a module: what all rooms log with
postgres    connections, roles, named statements, the schema
keys        tenants, callers, credentials, encryption at rest
feed, audit, artifacts, jobs
            the change log and its consumers; who did what, hash-chained; large bytes by their hash; leases,
            schedules and set-aside rows of background jobs
records     reading and writing records and relations
search      candidates by words
traversal   the graph in SQL
learning    due episodes, runs of learning, and what they changed
erasure, mirror, transfer
            pruning, deleting, erasing; what the mirror in Neo4j reads

Wings of one entry do not import each other.
SQL lives in this room and nowhere else: in the `.sql` files of the wings, or in SQLAlchemy Core.
"""
