"""Capture (docs/specification.md, Capture).

Before the transaction, and without I/O: `request` checks, `classify` decides the type, `policy` the trust and the
lifecycle, `caption` the text, `interpret` the names and references. Inside the transaction, `writer` finds or creates
entities, settles facts, joins episodes and inserts the rows.
"""
