"""The state of the store as far as the model says what it is, and its differences from the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from model.intervals import Interval
from model.memory import Model
from model.names import fold_identifier, fold_name
from model.records import ENTITY, EVENT, FACT, Item
from model.state import State
from sqlalchemy import text

from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.reading import Reader

_RECORDS = """
SELECT r.id, r.created_at, r.version, r.row_version, r.updated_at,
  lower(r.validity) AS valid_from, upper(r.validity) AS valid_to, s.s, s.t0, s.half_life_s, s.pinned
FROM record r JOIN salience s ON s.tenant = r.tenant AND s.id = r.id WHERE r.tenant = :tenant
"""
_RELATIONS = """
SELECT p.name, e.source, e.target FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate
WHERE e.tenant = :tenant AND e.ended_at IS NULL
  AND p.name IN ('derived_semantic', 'contested_by', 'supersedes', 'subject_entity', 'object_entity')
"""
_AUDIT = """
SELECT a.id, array_agg(a.action ORDER BY a.seq) AS actions, array_agg(a.seq ORDER BY a.seq) AS numbers
FROM audit a WHERE a.tenant = :tenant GROUP BY a.id
"""
_DOUBLES = """
SELECT count(*) FROM (SELECT FROM record WHERE tenant = :tenant AND type = 4 AND state = 1
  GROUP BY scope, sensitivity, fact_key HAVING count(*) > 1) doubled
"""


@dataclass(slots=True)
class Found:
    """What the store has: columns, contents, relations and audits."""

    rows: dict[UUID, dict[str, Any]]
    records: dict[UUID, MemoryRecord]
    relations: dict[str, set[tuple[UUID, UUID]]]
    audits: dict[UUID, list[str]]
    problems: list[str]


async def observe_store(database: Database, directory: Directory, root: Caller, now: datetime) -> Found:
    """Read the records of a tenant, whatever their state, their relations and their audits."""
    tenant = {"tenant": root.tenant.id}
    async with database.engine.begin() as connection:
        rows = {row["id"]: dict(row) for row in (await connection.execute(text(_RECORDS), tenant)).mappings()}
        edges = list(await connection.execute(text(_RELATIONS), tenant))
        audits = list(await connection.execute(text(_AUDIT), tenant))
        doubles = (await connection.execute(text(_DOUBLES), tenant)).scalar_one()
    async with database.reading(root.bounds) as session:
        records = await Reader(session, directory, root, now).records(list(rows))
    relations: dict[str, set[tuple[UUID, UUID]]] = {}
    for edge in edges:
        relations.setdefault(edge.name, set()).add((edge.source, edge.target))
    problems = ["two active facts have the same content"] if doubles else []
    problems += ["audit: numbers are missing" for row in audits if row.numbers != list(range(1, len(row.numbers) + 1))]
    return Found(rows, records, relations, {row.id: list(row.actions) for row in audits}, problems)


def adopt_times(state: State, found: Found) -> None:
    """Take over from the store when each record was created."""
    for item in state.items.values():
        if item.id in found.rows:
            item.created_at = found.rows[item.id]["created_at"]


def adopt_versions(state: State, found: Found) -> None:
    """Take over from the store what counts its revisions: versions and audits."""
    for item in state.items.values():
        item.version = found.rows[item.id]["version"]
        item.audit = list(found.audits[item.id])


def difference(model: Model, found: Found) -> str | None:
    """Return the differences between the store and the model, or None."""
    state = model.state
    if found.rows.keys() != state.items.keys():
        only = [f"{found.records[id_].type.label} {id_}" for id_ in found.rows.keys() - state.items.keys()]
        only += [f"{state.items[id_].type} {id_} (of the model)" for id_ in state.items.keys() - found.rows.keys()]
        return f"records: {only}"
    return "; ".join(_differences(state, found)) or None


def _differences(state: State, found: Found) -> list[str]:
    differences = [one for item in state.items.values() for one in _of_record(state, item, found)]
    differences += [
        f"{id_}: audit of the removed record is {found.audits.get(id_)}, expected {gone.audit}"
        for id_, gone in state.gone.items()
        if gone.cause == "deleted" and found.audits.get(id_) != gone.audit
    ]
    current = {item.id for item in state.current(FACT)}
    for name, edges in (
        ("derived_semantic", state.derived),
        ("contested_by", state.disputes),
        ("supersedes", state.replaced),
    ):
        there = found.relations.get(name, set())
        differences += [f"{name}: {_short(there - edges)} too many, {_short(edges - there)} missing"] * (there != edges)
    for name, wanted in _entity_relations(state, current).items():
        there = {edge for edge in found.relations.get(name, set()) if edge[0] in current}
        differences += [f"{name}: {_short(there - wanted)} too many, {_short(wanted - there)} missing"] * (
            there != wanted
        )
    return [*differences, *found.problems]


def _entity_relations(state: State, current: set[UUID]) -> dict[str, set[tuple[UUID, UUID]]]:
    wanted: dict[str, set[tuple[UUID, UUID]]] = {"subject_entity": set(), "object_entity": set()}
    for id_ in current:
        fact = state.items[id_].fact
        assert fact is not None
        for name, (kind, value) in (("subject_entity", fact.subject), ("object_entity", fact.object)):
            if kind == "entity":
                wanted[name].add((id_, value))
    return wanted


def _short(edges: set[tuple[UUID, UUID]]) -> list[str]:
    return [f"{source}->{target}" for source, target in sorted(edges)]


def _of_record(state: State, item: Item, found: Found) -> list[str]:
    row, record, actions = found.rows[item.id], found.records[item.id], found.audits.get(item.id)
    expected: dict[str, Any] = {
        "type": item.type,
        "scope": item.scope,
        "sensitivity": item.sensitivity,
        "state": item.state,
        "version": item.version,
        "pinned": item.pinned,
    }
    actual: dict[str, Any] = {
        "type": record.type.label,
        "scope": record.scope,
        "sensitivity": int(record.sensitivity),
        "state": record.state.label,
        "version": row["version"],
        "pinned": row["pinned"],
    }
    payload = record.payload or {}
    if item.type != EVENT:
        expected["audit"], actual["audit"] = item.audit, actions
    if item.type == ENTITY:
        expected |= _entity(item.content)
        actual |= _entity(payload)
    elif item.type != EVENT:
        expected |= item.content
        actual |= {key: payload.get(key) for key in item.content}
    if item.type == FACT:
        by = (payload.get("revision") or {}).get("superseded_by")
        expected |= {
            "superseded_by": None if item.superseded_by is None else str(item.superseded_by),
            "sources": set(item.sources),
            "effective": item.effective,
        }
        actual |= {
            "superseded_by": by,
            "sources": {source["ref"] for source in (record.provenance or {})["sources"]},
            "effective": Interval(row["valid_from"], row["valid_to"]),
        }
    wrong = [
        f"{item.id}: {key} is {actual[key]!r}, expected {expected[key]!r}"
        for key in expected
        if actual[key] != expected[key]
    ]
    elapsed = 0.0 if row["pinned"] else max(0.0, (state.now - row["t0"]).total_seconds())
    value = row["s"] * 2.0 ** (-elapsed / row["half_life_s"])
    if abs(value - item.salience(state.now)) > 1e-9:
        wrong.append(f"{item.id}: salience is {value}, expected {item.salience(state.now)}")
    return wrong


def _entity(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what counts of an entity's payload: names and identifiers in any order and spelling."""
    return {
        "canonical_name": content["canonical_name"],
        "primary_type": content.get("primary_type") or "Other",
        "types": sorted(content.get("types") or ()),
        "aliases": sorted({fold_name(alias["value"]) for alias in content.get("aliases") or ()}),
        "identifiers": sorted(
            {fold_identifier(entry["namespace"], entry["value"]) for entry in content.get("identifiers") or ()}
        ),
        "summary": content.get("summary"),
    }


def described(state: State) -> str:
    """Return one line for each record of the model, for the report of a difference."""
    lines = []
    for item in state.items.values():
        line = f"  {item.id} {item.type} {item.state} v{item.version} {item.where}"
        if item.fact is not None:
            ends = "".join(f" {name} {at:%Y-%m-%d}" for name, at in _ends(item.effective))
            said = (item.fact.subject[1], item.fact.predicate, item.fact.object[1], item.fact.conditions)
            line += f" {said}{ends} from {sorted(item.sources)}, latest {item.latest_evidence:%Y-%m-%d %H:%M:%S}"
        elif item.type == ENTITY:
            line += f" {item.content} {state.lessons.get(item.id)}"
        lines.append(line)
    trims = [f"  {one.fact} {one.end}s {one.at:%Y-%m-%d} by {one.by}" for one in state.trims]
    return "\n".join([f"at {state.now}, single-valued: {state.single}", *lines, *trims])


def _ends(interval: Interval) -> list[tuple[str, datetime]]:
    return [(name, at) for name, at in (("from", interval.start), ("until", interval.end)) if at is not None]
