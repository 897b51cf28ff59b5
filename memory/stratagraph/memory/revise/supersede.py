"""A record takes another's place; a variant stands beside it. Facts keep their slots' rules while they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.capture import facts as capture_facts
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.capture.writer import new_record, resolve_names
from stratagraph.memory.revise.request import Fork, Supersede
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import ConditionsOverlap, InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.words import record_terms
from stratagraph.store.records.entities import Mention, rename
from stratagraph.store.records.facts import Fact, Slot, disjoint, make_single_valued, slot_key
from stratagraph.store.records.writing import Edit, update_records

FORKED_FROM = "forked_from"
_IN_PLACE = (MemoryType.ENTITY, MemoryType.WORKING)


async def supersede(work: UnitOfWork, request: Supersede) -> UUID:
    """Returns the record that is current afterwards."""
    old = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([old])
    draft = successor(
        old, request.payload, request.evidence, actor=work.caller.trust.actor, rationale=request.rationale, now=work.at
    )
    if old.type in _IN_PLACE:
        return await _amend(work, old, draft, request)
    writes = await work.writes(draft)
    await resolve_names(writes)
    current = await put_in_place(work, writes, draft, [old], expected={old.id: request.expected_version})
    work.causes.add(old.id)
    return current


async def put_in_place(
    work: UnitOfWork,
    writes: WriteSet,
    draft: Draft,
    old: Sequence[MemoryRecord],
    *,
    expected: dict[UUID, int | None],
    keep_disputes: bool = False,
) -> UUID:
    """Write the draft and let it supersede `old`; if the same fact is held already, that one takes their place."""
    same = None
    if draft.type is MemoryType.SEMANTIC:
        slot, facts = await _lock_facts(work, writes, draft, old)
    rows = await work.lock([record.id for record in old])
    for id_, version in expected.items():
        require_version(rows[id_], version)
    require_current(rows)
    if draft.type is MemoryType.SEMANTIC:
        same = await _room(work, draft, slot, facts, leaving={record.id for record in old})
        draft.payload["revision"] = {"supersedes": str(old[0].id)}
    writes.at = work.at
    current = same.id if same is not None else draft.id
    await work.replace([record.id for record in old], RecordState.SUPERSEDED, by=current, keep_disputes=keep_disputes)
    if same is not None:
        await capture_facts.add_evidence(writes, draft, same)
    else:
        writes.records.append((draft, new_record(writes, draft)))
    for record in old:
        writes.relate(draft, current, record.id, "supersedes", 1.0)
    await work.write(writes)
    return current


async def _lock_facts(
    work: UnitOfWork, writes: WriteSet, draft: Draft, old: Sequence[MemoryRecord]
) -> tuple[Slot, list[Fact]]:
    """Lock the slots of all facts concerned; the facts of the new one's slot."""
    tenant = work.caller.tenant
    scopes = await work.directory.scopes(tenant, {record.scope for record in old}, create=False)
    slots = {
        Slot(
            scopes[record.scope],
            int(record.sensitivity),
            slot_key(tenant, record.payload["subject"], record.payload["predicate"]),
        ): str(record.payload["predicate"])
        for record in old
        if record.payload is not None
    }
    held = await capture_facts.lock(writes, also=slots)
    slot = held.slots[draft.position]
    assert draft.fact is not None
    draft.fact = replace(draft.fact, single_valued=held.single_valued[slot])
    work.after(*held.seen)
    return slot, held.facts.get(slot, [])


async def _room(
    work: UnitOfWork, draft: Draft, slot: Slot, facts: Sequence[Fact], *, leaving: set[UUID]
) -> Fact | None:
    """Whether the slot has room once `leaving` are gone: the fact that says the same already, or None.

    Raises ConditionsOverlap where another fact of a single-valued slot holds at the same time.
    """
    assert draft.fact is not None
    staying = [fact for fact in facts if fact.id not in leaving]
    same = next((fact for fact in staying if fact.fact_key == draft.fact.fact), None)
    if same is not None:
        return same
    if not draft.fact.single_valued:
        return None
    for fact in staying:
        if fact.state is RecordState.ACTIVE and not disjoint(fact.validity, draft.payload["validity"]):
            raise ConditionsOverlap(
                f"payload: fact {fact.id} holds at the same time and its predicate has one value; merge the two, or"
                " give conditions or times that exclude each other",
                path=["payload", "validity"],
            )
    return None


async def _amend(work: UnitOfWork, old: MemoryRecord, draft: Draft, request: Supersede) -> UUID:
    """Entities and working records change in place: their history keeps what they were."""
    payload = draft.payload
    if old.type is MemoryType.WORKING and payload["thread_id"] != (old.payload or {}).get("thread_id"):
        raise InvalidInput("payload.thread_id: a working record stays with its thread", path=["payload", "thread_id"])
    if old.type is MemoryType.ENTITY:
        await rename(work.connection, work.caller.tenant, await entity_mention(work, old, payload), old.id)
    rows = await work.lock([old.id], with_derived=False)
    require_version(rows[old.id], request.expected_version)
    require_current(rows)
    await rewrite(work, old.id, payload, draft.name, draft.text, action=AuditAction.REVISE)
    return old.id


async def entity_mention(work: UnitOfWork, record: MemoryRecord, payload: dict[str, Any]) -> Mention:
    """All that an entity with this payload is known by."""
    scopes = await work.directory.scopes(work.caller.tenant, {record.scope}, create=False)
    return Mention(
        name=payload["canonical_name"],
        scope=scopes[record.scope],
        sensitivity=int(record.sensitivity),
        identifiers=tuple((entry["namespace"], entry["value"]) for entry in payload.get("identifiers") or ()),
        aliases=tuple(alias["value"] for alias in payload.get("aliases") or ()),
    )


async def rewrite(
    work: UnitOfWork, id_: UUID, payload: dict[str, Any], name: str, text: str, *, action: AuditAction
) -> None:
    """Give a locked record new content."""
    tenant = work.caller.tenant
    edit = Edit(
        id=id_,
        name=name,
        text=text,
        payload=orjson.dumps(payload).decode(),
        terms=record_terms(tenant.index_key, text, name),
    )
    work.changes += await update_records(work.connection, work.directory, tenant, [edit], at=work.at)
    await work.audit([AuditEvent(record=id_, action=action, rationale=work.rationale)])
    work.touched.append(id_)


async def fork(work: UnitOfWork, request: Fork) -> UUID:
    """Returns the variant. Raises ConditionsOverlap unless its conditions exclude those of all that holds."""
    old = (await work.targets([request.record_id], path=["recordId"]))[0]
    refuse_episodes([old])
    if old.type in _IN_PLACE:
        raise InvalidInput(
            f"recordId: {old.type.label} records are not forked; supersede changes them in place", path=["recordId"]
        )
    if not request.conditions:
        raise InvalidInput("conditions: name at least one key under which the variant holds", path=["conditions"])
    payload = _conditioned(old, request)
    draft = successor(
        old, payload, request.evidence, actor=work.caller.trust.actor, rationale=request.rationale, now=work.at
    )
    if old.type is not MemoryType.SEMANTIC and not _excludes(old.type, old.payload or {}, draft.payload):
        raise ConditionsOverlap(
            "conditions: the record can apply together with this variant; a shared key must have other values",
            path=["conditions"],
        )
    writes = await work.writes(draft)
    await resolve_names(writes)
    if old.type is MemoryType.SEMANTIC:
        slot, facts = await _lock_facts(work, writes, draft, [old])
        assert draft.fact is not None
        draft.fact = replace(draft.fact, single_valued=True)
    rows = await work.lock([old.id], with_derived=False)
    require_version(rows[old.id], request.expected_version)
    require_current(rows)
    writes.at = work.at
    if old.type is MemoryType.SEMANTIC:
        same = await _room(work, draft, slot, facts, leaving=set())
        if same is not None:
            raise ConditionsOverlap(f"payload: fact {same.id} says just this already", path=["payload"])
        capture_facts.require_one_value(facts, "payload")
        await make_single_valued(work.connection, work.caller.tenant, slot)
    writes.records.append((draft, new_record(writes, draft)))
    writes.relate(draft, draft.id, old.id, FORKED_FROM, 0.8)
    await work.write(writes)
    work.touched.append(old.id)
    event = AuditEvent(record=old.id, action=AuditAction.FORK, rationale=f"forked as {draft.id}: {work.rationale}")
    await work.audit([event])
    return draft.id


def _conditioned(old: MemoryRecord, request: Fork) -> dict[str, Any]:
    """The payload with the fork's conditions where its type keeps them."""
    payload = dict(request.payload)
    known = old.payload or {}
    match old.type:
        case MemoryType.SEMANTIC:
            validity = dict(payload.get("validity") or {})
            conditions = {**(validity.get("conditions") or {}), **request.conditions}
            timed = {key: validity[key] for key in ("start", "end") if key in validity}
            payload["validity"] = {"mode": "conditional", "conditions": conditions, **timed}
            payload.setdefault("subject", known.get("subject"))
            payload.setdefault("predicate", known.get("predicate"))
            payload["revision_policy"] = "fork"
            if (payload["subject"], payload["predicate"]) != (known.get("subject"), known.get("predicate")):
                raise InvalidInput(
                    "payload: a variant has the subject and predicate of the fact it is a variant of",
                    path=["payload", "subject"],
                )
        case MemoryType.COMPETENCE:
            triggers = payload.get("triggers") or known.get("triggers") or []
            payload["triggers"] = [
                {**trigger, "conditions": {**(trigger.get("conditions") or {}), **request.conditions}}
                for trigger in triggers
            ]
        case _:
            constraints = payload.get("constraints")
            payload["constraints"] = {**(constraints if isinstance(constraints, dict) else {}), **request.conditions}
    return payload


def _excludes(memory_type: MemoryType, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether two skills or plans never apply to the same case."""
    if memory_type is MemoryType.PLAN_GRAPH:
        ours, theirs = old.get("constraints"), new.get("constraints")
        return isinstance(ours, dict) and isinstance(theirs, dict) and _disjoint(ours, theirs)
    return all(
        _disjoint(trigger.get("conditions") or {}, other.get("conditions") or {})
        for trigger in old.get("triggers") or ()
        for other in new.get("triggers") or ()
        if trigger["signal"] == other["signal"]
    )


def _disjoint(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    return disjoint({"conditions": ours}, {"conditions": theirs})
