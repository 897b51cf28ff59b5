"""What the web expects of an API: other origins, compression, GET with ETags, persisted documents, ranges, trace ids.

See docs/requests.md.
"""
