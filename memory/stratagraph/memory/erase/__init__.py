"""Erasing: deleting records, with every trace of them, on request.

`service` is what callers use. One record or entity is erased in one transaction (`single`), a scope (`scope`) or a
tenant (`tenant`) in batches, each a transaction of its own. `deletion` deletes records for the first two, with all that
refers to them. See docs/erasing.md.
"""
