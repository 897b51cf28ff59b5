"""Records that drafts refer to, by id or by the ref they were captured with."""

from __future__ import annotations

from uuid import UUID

from stratagraph.memory.capture.classify import is_outcome
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.requests.warnings import WarningCode
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.predicates import DERIVATIONS, stored_direction
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.records.handles import ReferencedRecord, find_references

_NOT_FOUND = (
    "names no record that this credential may read in full, so nothing is related to it; give the id of a record, or"
    " the ref of an event, a call or a turn that was captured before"
)
_ITSELF = "names this capture itself, so nothing is related to it; leave it out"
_OF_OUTCOME = "is not related to anything, since an outcome makes no record; refer to it in an event of the thread"


async def link_references(writes: WriteSet) -> None:
    """Relate the drafts to the records they refer to, those of the same group included. An unknown ref is ignored.

    Raises InvalidInput where a draft is derived from a more sensitive record or one of another scope.
    """
    local: dict[UUID | str, ReferencedRecord] = {
        draft.handle: ReferencedRecord(draft.id, writes.scopes[draft.scope], draft.sensitivity)
        for draft in writes.drafts
        if draft.handle and draft.type is MemoryType.EPISODIC
    }
    wanted = {reference.target for draft in writes.drafts for reference in draft.references} - local.keys()
    known = local | await find_references(
        writes.connection,
        writes.caller,
        ids=[target for target in wanted if isinstance(target, UUID)],
        refs=[target for target in wanted if isinstance(target, str)],
    )
    for draft in writes.drafts:
        found = []
        for reference in draft.references:
            record = known.get(reference.target)
            if record is None or record.id == draft.id:
                if reference.path:
                    writes.warn(
                        draft,
                        WarningCode.REFERENCE_NOT_FOUND,
                        reference.path,
                        _NOT_FOUND if record is None else _ITSELF,
                    )
                continue
            # The record's id is not stored here: the relation shows it to callers who may see both of its ends.
            found.append({"ref": str(reference.target)})
            if is_outcome(draft):
                if reference.path:
                    writes.warn(draft, WarningCode.VALUE_NOT_USED, reference.path, _OF_OUTCOME)
                continue
            predicate, backwards = stored_direction(reference.predicate)
            source, end = (record.id, draft.id) if backwards else (draft.id, record.id)
            writes.relate(draft, source, end, predicate, reference.weight)
            if backwards and predicate in DERIVATIONS:
                _check_derivation(writes, draft, record)
                writes.source_records.setdefault(draft.position, {})[reference.target] = record.id
        if found:
            writes.interpretations[draft.position]["references"] = found


def _check_derivation(writes: WriteSet, draft: Draft, source: ReferencedRecord) -> None:
    """Refuse a draft that is less sensitive than its source, or in another scope (docs/specification.md, Trust)."""
    if source.sensitivity > draft.sensitivity:
        raise InvalidInput(
            f"sensitivity: the content is derived from record {source.id}, whose sensitivity is"
            f" {source.sensitivity.label}; capture it at {source.sensitivity.label} or above",
            path=[f"#{draft.position}", "sensitivity"],
        )
    if source.scope not in (writes.scopes[draft.scope], writes.scopes[UNSCOPED]):
        raise InvalidInput(
            f"scope: the content is derived from record {source.id} of another scope; sources of different"
            " scopes cannot be combined. Capture it in that record's scope, or leave the reference out.",
            path=[f"#{draft.position}", "scope"],
        )
