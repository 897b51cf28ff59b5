"""Merging records that state the same into one, with their sources, relations and dependents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.caption import entity_caption, shortened
from stratagraph.memory.capture.naming import resolve_names
from stratagraph.memory.revise.fork import FORKED_FROM
from stratagraph.memory.revise.in_place import entity_mention, rewrite_record
from stratagraph.memory.revise.merged_payloads import merged_entity, merged_payload
from stratagraph.memory.revise.request import Merge
from stratagraph.memory.revise.successor import successor
from stratagraph.memory.revise.supersede import supersede_by_draft
from stratagraph.memory.revise.unit_of_work import UnitOfWork, refuse_episodes, require_current, require_version
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import parse_payload
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.entities import replace_terms
from stratagraph.store.records.inserting import NewRelation
from stratagraph.store.records.relations import OpenRelation, end_relations, open_relations_of


async def merge(work: UnitOfWork, request: Merge) -> UUID:
    """Merge the records, and return the id of the record that stands for all of them.

    Of entities, the most sensitive one absorbs the others; records of another type are superseded by a new record. The
    result has the highest sensitivity of all (docs/specification.md, Trust). The records must be of one type and
    one scope.
    """
    records = await work.targets([request.record_id, *request.others], path=["recordIds"])
    refuse_episodes(records)
    _check_alike(records)
    # The most sensitive record leads, the first of them in the order of the request.
    lead = max(records, key=lambda record: record.sensitivity)
    ordered = [lead, *(record for record in records if record.id != lead.id)]
    expected = {request.record_id: request.expected_version}
    if lead.type is MemoryType.ENTITY:
        current = await _absorb(work, ordered, request, expected)
    else:
        current = await _unite(work, ordered, request, expected)
    merged = [record.id for record in records if record.id != current]
    await _repoint(work, merged, current)
    work.causes |= {*merged, current}
    work.doubtful.add(current)
    return current


def _check_alike(records: Sequence[MemoryRecord]) -> None:
    if len({record.type for record in records}) > 1:
        kinds = ", ".join(sorted({record.type.label for record in records}))
        raise InvalidInput(
            f"recordIds: the records are of different types ({kinds}); give records of one type", path=["recordIds"]
        )
    if records[0].type is MemoryType.WORKING:
        raise InvalidInput("recordIds: working records cannot be merged; supersede one instead", path=["recordIds"])
    if len({record.scope for record in records}) > 1:
        raise InvalidInput(
            "recordIds: the records belong to different scopes; give records of one scope",
            path=["recordIds"],
        )


async def _absorb(
    work: UnitOfWork, records: Sequence[MemoryRecord], request: Merge, expected: Mapping[UUID, int | None]
) -> UUID:
    """Give the first entity the names, identifiers and relations of the others; return its id."""
    survivor = records[0]
    payload = parse_payload(MemoryType.ENTITY, request.payload or merged_entity(records))
    losers = [record.id for record in records[1:]]
    await replace_terms(
        work.connection, work.caller.tenant, await entity_mention(work, survivor, payload), survivor.id, absorbed=losers
    )
    await _lock(work, records, expected)
    name, text = entity_caption(payload)
    await rewrite_record(work, survivor.id, payload, shortened(name), text, action=AuditAction.MERGE)
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


async def _unite(
    work: UnitOfWork, records: Sequence[MemoryRecord], request: Merge, expected: dict[UUID, int | None]
) -> UUID:
    """Write a new record that supersedes all of them and has the sources of all; return its id."""
    lead = records[0]
    payload = request.payload or merged_payload(records)
    carried = [source for record in records for source in (record.provenance or {}).get("sources", ())]
    evidence = [item for record in records for item in (record.payload or {}).get("evidence") or ()]
    if lead.type is MemoryType.SEMANTIC:
        payload = {**payload, "evidence": _distinct([*(payload.get("evidence") or ()), *evidence])}
        if not payload["evidence"]:
            payload["evidence"] = [{"kind": "artifact", "ref": source["ref"]} for source in carried[:1]]
    draft = successor(lead, payload, (), actor=work.caller.trust.actor, rationale=request.rationale, now=work.at)
    draft.inherited_sources = tuple(_distinct(carried))
    writes = await work.writes(draft)
    await resolve_names(writes)
    return await supersede_by_draft(work, writes, draft, records, expected=expected, keep_disputes=True)


def _distinct(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({repr(sorted(item.items(), key=str)): item for item in items}.values())


async def _repoint(work: UnitOfWork, merged: Sequence[UUID], current: UUID) -> None:
    """Replace the relations of the merged records by relations of `current`."""
    absorbed = {*merged, current}
    moved: dict[tuple[UUID, str, UUID], NewRelation] = {}
    ended = []
    for relation in await open_relations_of(work.connection, work.caller.tenant, merged):
        if not _is_moved(relation, merged):
            continue
        ended.append(relation.id)
        source = current if relation.source in absorbed else relation.source
        target = current if relation.target in absorbed else relation.target
        if source != target:  # relations among the merged records end without a replacement
            key = (source, relation.predicate, target)
            moved[key] = NewRelation(source=source, target=target, predicate=relation.predicate, weight=relation.weight)
    work.changes += await end_relations(work.connection, work.caller.tenant, ended, at=work.at)
    await work.relate(list(moved.values()))


def _is_moved(relation: OpenRelation, merged: Sequence[UUID]) -> bool:
    """Return whether a relation is replaced: all but those to a record's predecessors and to a fact's entities.

    A new fact gets its own relations to its entities.
    """
    if relation.predicate in ("supersedes", FORKED_FROM):
        return False
    return not (relation.predicate in ("subject_entity", "object_entity") and relation.source in merged)
