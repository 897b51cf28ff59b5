"""Capture: stage, classify, apply policy, interpret, resolve, link, commit (SPEC §4).

`classify`, `policy` and `interpret` are pure and run before the transaction; `writer` resolves, links and commits.
"""
