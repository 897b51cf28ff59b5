"""Several records that say the same become one, with all that held them and all that rested on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import entity_caption, shortened
from stratagraph.memory.capture.writer import resolve_names
from stratagraph.memory.revise.request import Merge
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.supersede import FORKED_FROM, entity_mention, put_in_place, rewrite
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import parse_payload
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.entities import rename
from stratagraph.store.records.relations import Linked, end_relations, relations_at
from stratagraph.store.records.writing import NewRelation


async def merge(work: UnitOfWork, request: Merge) -> UUID:
    """Returns the record that speaks for all: the entity that absorbed the others, or a new record.

    Joining levels of sensitivity takes the highest of them (SPEC §3); scopes are never mixed.
    """
    records = await work.targets([request.record_id, *request.others], path=["recordIds"])
    refuse_episodes(records)
    _check_alike(records)
    # The most sensitive leads; among equals, the first named.
    lead = max(records, key=lambda record: record.sensitivity)
    ordered = [lead, *(record for record in records if record.id != lead.id)]
    expected = {request.record_id: request.expected_version}
    if lead.type is MemoryType.ENTITY:
        current = await _absorb(work, ordered, request, expected)
    else:
        current = await _unite(work, ordered, request, expected)
    gone = [record.id for record in records if record.id != current]
    await _repoint(work, gone, current)
    work.causes |= {*gone, current}
    work.doubtful.add(current)
    return current


def _check_alike(records: Sequence[MemoryRecord]) -> None:
    if len({record.type for record in records}) > 1:
        kinds = ", ".join(sorted({record.type.label for record in records}))
        raise InvalidInput(f"recordIds: these are of different types ({kinds})", path=["recordIds"])
    if records[0].type is MemoryType.WORKING:
        raise InvalidInput("recordIds: working records are discarded with their task, not merged", path=["recordIds"])
    if len({record.scope for record in records}) > 1:
        raise InvalidInput("recordIds: these belong to different scopes, which are never mixed", path=["recordIds"])


async def _absorb(
    work: UnitOfWork, records: Sequence[MemoryRecord], request: Merge, expected: Mapping[UUID, int | None]
) -> UUID:
    """One entity takes the names, identifiers and relations of the others."""
    survivor = records[0]
    payload = parse_payload(MemoryType.ENTITY, request.payload or _united_entity(records))
    losers = [record.id for record in records[1:]]
    await rename(
        work.connection, work.caller.tenant, await entity_mention(work, survivor, payload), survivor.id, absorbed=losers
    )
    await _lock(work, records, expected)
    name, text = entity_caption(payload)
    await rewrite(work, survivor.id, payload, shortened(name), text, action=AuditAction.MERGE)
    await work.replace(losers, RecordState.SUPERSEDED, by=survivor.id, keep_disputes=True)
    await work.relate(
        [NewRelation(source=survivor.id, target=id_, predicate="supersedes", weight=1.0) for id_ in losers]
    )
    return survivor.id


async def _lock(work: UnitOfWork, records: Sequence[MemoryRecord], expected: Mapping[UUID, int | None]) -> None:
    rows = await work.lock([record.id for record in records])
    for id_, version in expected.items():
        require_version(rows[id_], version)
    require_current(rows)


def _united_entity(records: Sequence[MemoryRecord]) -> dict[str, Any]:
    """The first one's payload, and with it every other name, type and identifier."""
    payloads = [record.payload or {} for record in records]
    united = dict(payloads[0])
    names = {united["canonical_name"].casefold()}
    aliases = []
    for payload in payloads:
        for alias in [*(payload.get("aliases") or ()), {"value": payload["canonical_name"]}]:
            if alias["value"].casefold() not in names:
                names.add(alias["value"].casefold())
                aliases.append(alias)
    identifiers = {
        (entry["namespace"], entry["value"]): entry
        for payload in payloads
        for entry in payload.get("identifiers") or ()
    }
    types = [
        name for payload in payloads for name in (payload.get("primary_type"), *(payload.get("types") or ())) if name
    ]
    if aliases:
        united["aliases"] = aliases
    if identifiers:
        united["identifiers"] = list(identifiers.values())
    if len(set(types)) > 1:
        united["types"] = list(dict.fromkeys(types))
    return united


async def _unite(
    work: UnitOfWork, records: Sequence[MemoryRecord], request: Merge, expected: dict[UUID, int | None]
) -> UUID:
    """A new record supersedes them all, held by everything that held any of them."""
    lead = records[0]
    payload = request.payload or _united(records)
    carried = [source for record in records for source in (record.provenance or {}).get("sources", ())]
    evidence = [item for record in records for item in (record.payload or {}).get("evidence") or ()]
    if lead.type is MemoryType.SEMANTIC:
        payload = {**payload, "evidence": _distinct([*(payload.get("evidence") or ()), *evidence])}
        if not payload["evidence"]:
            payload["evidence"] = [{"kind": "artifact", "ref": source["ref"]} for source in carried[:1]]
    draft = successor(lead, payload, (), actor=work.caller.trust.actor, rationale=request.rationale, now=work.at)
    draft.carried = tuple(_distinct(carried))
    writes = await work.writes(draft)
    await resolve_names(writes)
    return await put_in_place(work, writes, draft, records, expected=expected, keep_disputes=True)


def _distinct(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({repr(sorted(item.items(), key=str)): item for item in items}.values())


def _united(records: Sequence[MemoryRecord]) -> dict[str, Any]:
    """The first one's payload, with the statistics of all."""
    united = dict(records[0].payload or {})
    payloads = [record.payload or {} for record in records]
    if records[0].type is MemoryType.COMPETENCE:
        united |= _performance(payloads)
        for field in ("failure_modes", "fallbacks", "required_tools"):
            values = list(dict.fromkeys(value for payload in payloads for value in payload.get(field) or ()))
            if values:
                united[field] = values
    elif records[0].type is MemoryType.PLAN_GRAPH:
        united |= _metrics(payloads)
    return united


def _performance(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    blocks = [payload["performance"] for payload in payloads if payload.get("performance")]
    if not blocks:
        return {}
    succeeded = sum(block.get("success_count") or 0 for block in blocks)
    failed = sum(block.get("failure_count") or 0 for block in blocks)
    weights = [(block.get("success_count") or 0) + (block.get("failure_count") or 0) for block in blocks]
    merged: dict[str, Any] = {"success_count": succeeded, "failure_count": failed}
    if succeeded + failed:
        merged["success_rate"] = succeeded / (succeeded + failed)
    merged |= _latest_and_mean(blocks, weights, mean="avg_latency_ms", latest="last_used_at")
    return {"performance": merged}


def _metrics(payloads: Sequence[dict[str, Any]]) -> dict[str, Any]:
    blocks = [payload["metrics"] for payload in payloads if payload.get("metrics")]
    if not blocks:
        return {}
    weights = [block.get("execution_count") or 0 for block in blocks]
    merged: dict[str, Any] = {"execution_count": sum(weights)}
    merged |= _latest_and_mean(blocks, weights, mean="avg_latency_ms", latest="last_executed_at")
    merged |= _latest_and_mean(blocks, weights, mean="failure_rate", latest="last_executed_at")
    return {"metrics": merged}


def _latest_and_mean(
    blocks: Sequence[dict[str, Any]], weights: Sequence[int], *, mean: str, latest: str
) -> dict[str, Any]:
    """The newest instant, and the mean weighted by how often each was used."""
    merged: dict[str, Any] = {}
    instants = [block[latest] for block in blocks if block.get(latest)]
    if instants:
        merged[latest] = max(instants)
    known = [
        (block[mean], weight) for block, weight in zip(blocks, weights, strict=True) if block.get(mean) is not None
    ]
    total = sum(weight for _, weight in known)
    if total:
        merged[mean] = sum(value * weight for value, weight in known) / total
    elif known:
        merged[mean] = sum(value for value, _ in known) / len(known)
    return merged


async def _repoint(work: UnitOfWork, gone: Sequence[UUID], current: UUID) -> None:
    """Relations of the merged records become relations of the one that speaks for them."""
    absorbed = {*gone, current}
    moved: dict[tuple[UUID, str, UUID], NewRelation] = {}
    ended = []
    for relation in await relations_at(work.connection, work.caller.tenant, gone):
        if not _moves(relation, gone):
            continue
        ended.append(relation.id)
        source = current if relation.source in absorbed else relation.source
        target = current if relation.target in absorbed else relation.target
        if source != target:  # what merged records said of each other is no longer said
            key = (source, relation.predicate, target)
            moved[key] = NewRelation(source=source, target=target, predicate=relation.predicate, weight=relation.weight)
    work.changes += await end_relations(work.connection, work.caller.tenant, ended, at=work.at)
    await work.relate(list(moved.values()))


def _moves(relation: Linked, gone: Sequence[UUID]) -> bool:
    """A record's own past stays with it, and a new fact names its entities itself."""
    if relation.predicate in ("supersedes", FORKED_FROM):
        return False
    return not (relation.predicate in ("subject_entity", "object_entity") and relation.source in gone)
