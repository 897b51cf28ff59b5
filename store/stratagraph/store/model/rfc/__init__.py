"""Records as the RFC writes them: in the form of its schema appendix, and in that of its normative block (SPEC §1).

Both forms are lossless both ways. What is exported says everything: all fields with their defaults, times in UTC
with a `Z`, and what a form has no word for under our own name beside its words. Reading it back gives an equal
record, and writing that again gives the same canonical JSON, byte for byte. A document of somebody else may leave
out whatever its form does not require; the defaults stand at the fields (`envelope.py`), and nothing it says is lost.

A key that a form does not know is refused with its path wherever a record has no place for it (the envelope,
lifecycle, relations, audit entries): dropping it would lose it without a word. Payloads and sources keep theirs.
An id must be a UUID, and is never translated: another record may point to it.
"""

from stratagraph.store.model.rfc.appendix import from_appendix, to_appendix
from stratagraph.store.model.rfc.envelope import ExportedRecord
from stratagraph.store.model.rfc.normative import from_normative, to_normative

__all__ = ["ExportedRecord", "from_appendix", "from_normative", "to_appendix", "to_normative"]
