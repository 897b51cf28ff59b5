"""The domain model: records and payloads, salience, trust, predicates, canonical forms, errors.

Only values and pure functions: no I/O, and the time is an argument. docs/specification.md says what each one means.
"""
