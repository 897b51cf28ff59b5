"""The warnings of a revision: what its caller gave that is not read, or not used. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.requests.contents import EvidenceEntry, ObservationContent
from stratagraph.memory.requests.keys import misspelt_keys
from stratagraph.memory.requests.warnings import RequestWarning, replaced_path
from stratagraph.memory.revise.request import Revise
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import PAYLOADS
from stratagraph.store.model.payloads.base import Part
from stratagraph.store.model.records import MemoryRecord

_FORMS: Mapping[MemoryType, type[Part]] = {**PAYLOADS, MemoryType.SEMANTIC: ObservationContent}


def evidence_warnings(request: Revise) -> list[RequestWarning]:
    """Return the warnings about keys of the evidence. Raises InvalidInput for known ones in another spelling."""
    return misspelt_keys(EvidenceEntry, list(getattr(request, "evidence", ())), path=("evidence",))


def payload_warnings(
    given: Mapping[str, Any] | None, old: MemoryRecord, *, field: str = "payload"
) -> list[RequestWarning]:
    """Return the warnings about keys of the payload that a revision of `old` gives in `field`.

    Keys that the stored payload has in the same places are no mistake of this request. Raises InvalidInput for known
    keys in another spelling, and for a payload that says that it is of another type.
    """
    kind = (given or {}).get("kind")
    if kind not in (None, old.type.label):
        raise InvalidInput(
            f"{field}.kind: the record is of type {old.type.label}, and the payload says that it is {shown(kind)}; give"
            f" a payload of type {old.type.label}, or name another record",
            path=[field, "kind"],
        )
    return misspelt_keys(_FORMS[old.type], given, path=(field,), stored=old.payload)


def about_revision(
    warnings: Iterable[RequestWarning], draft: Draft, known: Iterable[MemoryRecord]
) -> list[RequestWarning]:
    """Return warnings about a draft as warnings about the revision that made it.

    A draft's evidence is that of the payload, and then that which is given beside it. Evidence that one of the `known`
    records has already is sent back with its payload, and is not warned of again.
    """
    evidence = draft.payload.get("evidence") or ()
    stored = [entry for record in known for entry in (record.payload or {}).get("evidence") or ()]
    own = len(evidence) - len(draft.evidence)
    found = []
    for one in warnings:
        match one.path:
            case ("content", "evidence", place, *rest) if int(place) >= own:
                found.append(replaced_path(one, ("evidence", str(int(place) - own), *rest)))
            case ("content", "evidence", place, *_) if evidence[int(place)] in stored:
                continue
            case ("content", *rest):
                found.append(replaced_path(one, ("payload", *rest)))
            case _:
                found.append(one)
    return found
