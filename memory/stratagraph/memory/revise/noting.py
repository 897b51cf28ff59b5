"""The warnings of a revision: what its caller gave that is not read, or not used. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.noting import masked_secrets
from stratagraph.memory.requests.contents import EvidenceEntry, ObservationContent
from stratagraph.memory.requests.keys import misspelt_keys
from stratagraph.memory.requests.warnings import RequestWarning, WarningCode, replaced_path, warning
from stratagraph.memory.revise.request import Revise
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import PAYLOADS
from stratagraph.store.model.payloads.base import Part
from stratagraph.store.model.records import MemoryRecord

# Fields of a record that callers may take for keys of its payload.
_OF_RECORDS = frozenset({"sensitivity", "scope", "tags", "confidence", "salience", "lifecycle", "provenance"})
_FORMS: Mapping[MemoryType, type[Part]] = {**PAYLOADS, MemoryType.SEMANTIC: ObservationContent}


def evidence_warnings(request: Revise) -> list[RequestWarning]:
    """Return the warnings about keys of the evidence. Raises InvalidInput for known ones in another spelling."""
    return misspelt_keys(EvidenceEntry, list(getattr(request, "evidence", ())), path=("evidence",))


def payload_warnings(
    given: Mapping[str, Any] | None, old: MemoryRecord, *, field: str = "payload"
) -> list[RequestWarning]:
    """Return the warnings about keys of the payload that a revision of `old` gives in `field`.

    Keys that the stored payload has in the same places are no mistake of this request. Raises InvalidInput for known
    keys in another spelling, for a payload that says that it is of another type, and for changes of what is no part of
    a payload, such as the record's sensitivity.
    """
    kind = (given or {}).get("kind")
    if kind not in (None, old.type.label):
        raise InvalidInput(
            f"{field}.kind: the record is of type {old.type.label}, and the payload says that it is {shown(kind)}; give"
            f" a payload of type {old.type.label}, or name another record",
            path=[field, "kind"],
        )
    form = _FORMS[old.type]
    found = misspelt_keys(form, given, path=(field,), stored=old.payload)
    for name in given or ():
        if name not in _OF_RECORDS or name in form.model_fields or name in (old.payload or {}):
            continue
        problem = "is of the record and not of its payload, so that no revision changes it"
        if field == "changes":
            raise InvalidInput(f"{field}.{name}: {problem}; leave it out", path=[field, name])
        found.append(warning(WarningCode.KEY_RESEMBLES_KNOWN, (field, name), f"{problem}; it is kept as a key"))
    return found


def masked_in_revision(draft: Draft, field: str) -> list[RequestWarning]:
    """Return the warnings about secrets in the draft of a revision whose payload was given in `field`."""
    return [replaced_path(one, (field, *one.path[1:])) for one in masked_secrets(draft)]


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
