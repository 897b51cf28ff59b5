"""Artifacts: large bytes identified by their SHA-256, stored as objects outside the database.

`objects` and `object_keys` define an object and the key that seals it, `uploads` and `references` decide which
artifacts exist and who may know of them, `removals` which objects must be removed, and `blobs` is the object store.

The database and the object store cannot change in one transaction. Each object is therefore written once, under a key
of its own, and the table `artifact_removal` lists every object that must not stay: from before it is written until a
row in `artifact` refers to it, and again from the transaction that deletes that row until the object is removed. After
a crash at any instant, an object that should not exist is listed there, and a later pass removes it. A removal never
deletes a new upload of the same bytes, because that upload has another key.

What an uploader may know depends on the upload alone (`artifact_upload`), never on what others stored: sending bytes
that another caller keeps hidden reveals nothing. An uploader's claim ends when a record of the uploader refers to the
artifact (from then on, access follows from the record), or after the grace period.
"""
