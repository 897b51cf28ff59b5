"""What a model found in texts, added to the interpretation of their records: names, times and labels.

What a capture was given, or found by itself, stays as it is; a model only adds to it. See docs/learning.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.capture.draft import Draft, Named
from stratagraph.memory.capture.found_names import SearchedText
from stratagraph.memory.capture.interpret import MAX_LABELS
from stratagraph.memory.capture.naming import resolve_names
from stratagraph.memory.capture.new_records import insert_write_set, stored_times, time_to_store
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.teaching import finish_names
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.learning.extraction.answers import Read
from stratagraph.memory.learning.learner import Learner
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.secrets.masking import holds_mask, masked_text
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState, SourceKind
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.locking import lock_records

MAX_NAMES = 12  # that a model adds to one record
MAX_TIMES = 12
WEIGHT = 0.5  # of the relation to an entity that a model finds in a text
CONFIDENCE = 0.5  # of an entity that is made for such a name


async def annotate(learner: Learner, read: Read, ids: Collection[UUID], *, model: str) -> list[UUID]:
    """Add to the records `ids` what was read in them; return those that it changed.

    Names are resolved as those that a capture lists: to the entity that they mean, or to a new one, unless they are
    only parts of longer names. Raises StaleRead if a record was changed since it was read.
    """
    said = [id_ for id_ in sorted(ids) if id_ in read.names or id_ in read.times or id_ in read.labels]
    records = await learner.records(said)
    present = [one for id_ in said if (one := records.get(id_)) is not None and one.state is RecordState.ACTIVE]
    if not present:
        return []
    drafts = [_draft(learner, position, record, read) for position, record in enumerate(present)]
    tenant = learner.caller.tenant
    scopes = await learner.directory.scopes(tenant, {UNSCOPED, learner.scope}, create=True)
    names = await resolve_names(learner.connection, tenant, drafts, scopes)
    writes = WriteSet(
        learner.connection,
        learner.directory,
        learner.caller,
        drafts,
        scopes,
        learner.clock.now(),
        author=learner.caller.trust.actor,
    )
    names.apply(writes)
    locked = await lock_records(learner.connection, tenant, [record.id for record in present])
    if any(record.id not in locked or locked[record.id].updated_at != record.updated_at for record in present):
        raise StaleRead
    writes.at = max([writes.at, *(row.updated_at + RESOLUTION for row in locked.values())])
    await insert_write_set(writes)
    await finish_names(writes)
    edits = [
        edit
        for draft, record in zip(drafts, present, strict=True)
        if (edit := _edit(learner.caller, record, _surfaces(writes, draft), read, model)) is not None
    ]
    writes.changes += await update_records(learner.connection, learner.directory, tenant, edits, at=writes.at)
    events = [
        AuditEvent(record=edit.id, action=AuditAction.REVISE, rationale=f"interpreted by {model}") for edit in edits
    ]
    await write_audit(learner.connection, tenant, events, actor=learner.caller.trust.actor, at=writes.at)
    learner.changes += writes.changes
    return [edit.id for edit in edits]


def _draft(learner: Learner, position: int, record: MemoryRecord, read: Read) -> Draft:
    """Return a record as a draft that names what was read in it. It is not written again itself."""
    text = record.text or ""
    listed = (record.interpretation or {}).get("mentions") or ()
    linked = {normalised_name(one["surface"]) for one in listed}
    found = {normalised_name(name): name for name in read.names.get(record.id, ()) if not holds_mask(name)}
    searched = SearchedText(text)
    everything = [*(one["surface"] for one in listed), *found.values()]
    wanted = [
        name
        for folded, name in found.items()
        if folded not in linked and not searched.has_only_within(name, everything)
    ]
    return Draft(
        request=CaptureRequest(source=learner.caller.trust.actor, source_kind=SourceKind.EVENT, content={}),
        position=position,
        type=MemoryType.EPISODIC,
        payload={},
        occurred_at=record.occurred_at,
        id=record.id,
        text=text,
        handle=str(record.id),  # by which the entities that are made name their source
        scope=record.scope,
        sensitivity=record.sensitivity,
        confidence=CONFIDENCE,
        named=[
            Named(name=name, predicate="mentions_entity", weight=WEIGHT) for name in wanted[: _room(listed, MAX_NAMES)]
        ],
    )


def _room(known: Sequence[Mapping[str, Any]], most: int) -> int:
    """Return how many entries a model may add, of which another part of a long text may have added some."""
    return max(most - sum("by" in one for one in known), 0)


def _surfaces(writes: WriteSet, draft: Draft) -> list[dict[str, Any]]:
    """Return the names of a draft, with what became of each, as an interpretation has them."""
    surfaces: list[dict[str, Any]] = writes.interpretations[draft.position]["mentions"]
    return [{**one, "by": writes.author} for one in surfaces]


def _edit(
    caller: Caller, record: MemoryRecord, surfaces: Sequence[Mapping[str, Any]], read: Read, model: str
) -> Edit | None:
    """Return the edit that adds what was read to the interpretation of a record; None if it adds nothing."""
    author, key = caller.trust.actor, caller.tenant.index_key
    before: dict[str, Any] = record.interpretation or {}
    own = list(before.get("topical_labels") or ())
    labels = [
        label
        for label in read.labels.get(record.id, ())
        if label not in {one.casefold() for one in own} and not masked_text(label, key)[1]
    ][: max(MAX_LABELS - len(own), 0)]
    known = {(one["words"], one["start"]) for one in before.get("named_times") or ()}
    times = [
        {**stored, "by": author}
        for one in read.times.get(record.id, ())[: _room(before.get("named_times") or (), MAX_TIMES)]
        if ((stored := time_to_store(one))["words"], stored["start"]) not in known
    ]
    if not (surfaces or labels or times):
        return None
    after = {**before, "model": model, "mentions": [*(before.get("mentions") or ()), *surfaces]}
    if labels:
        after |= {"topical_labels": [*own, *labels], "model_labels": [*(before.get("model_labels") or ()), *labels]}
    if times:
        after["named_times"] = [*(before.get("named_times") or ()), *times]
    named: tuple[Interval, ...] | None = stored_times(after) if times else None
    return Edit(id=record.id, interpretation=orjson.dumps(after).decode(), named_times=named, is_revision=False)
