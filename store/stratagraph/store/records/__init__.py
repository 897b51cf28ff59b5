"""Records and relations: read them under a caller's trust, write them, and find what they rest on.

Start with `reading` (rows become records), `inserting` and `editing` (records become rows). Facts, entities, episodes
and working records each have modules for the rules of their type.

Every transaction that writes takes its locks in one order, so that two of them never wait for each other in a circle:
entity terms, fact slots, working records, episodes (each sorted by key), then the rows themselves, then audit. The
last statement appends the changes to the feed (`append_changes`), when all rows are written and locked. See
docs/architecture.md, Lock order.
"""
