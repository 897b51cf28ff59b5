"""What a memory is, without any I/O: records and payloads, salience, trust, predicates, canonical forms, errors.

Everything here is a value or a pure function; time comes in as an argument.
"""
