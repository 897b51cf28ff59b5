"""Export and import of records in the two forms of the RFC: its schema appendix and its normative block.

Both forms are lossless in both directions. An exported document has all fields with their defaults, times in UTC with
a `Z`, and fields of our own for what the form cannot express. Importing it gives an equal record, and exporting that
record gives the same canonical JSON, byte for byte. A document from another source may leave out what its form does
not require; the defaults are at the fields (`envelope.py`).

A key that a form does not know is refused, with its path, where a record cannot store it (the envelope, lifecycle,
relations, audit entries), because dropping it would lose data silently. Payloads and sources keep unknown keys.
An id must be a UUID and is never translated, because another record may refer to it.
"""

from stratagraph.store.model.rfc.appendix import from_appendix, to_appendix
from stratagraph.store.model.rfc.envelope import ExportedRecord
from stratagraph.store.model.rfc.normative import from_normative, to_normative

__all__ = ["ExportedRecord", "from_appendix", "from_normative", "to_appendix", "to_normative"]
