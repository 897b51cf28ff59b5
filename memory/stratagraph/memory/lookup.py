"""Looking things up: one record, pages of records, entities by name, plans as graphs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import networkx as nx

from stratagraph.store.audit import fetch_audit
from stratagraph.store.clock import Clock
from stratagraph.store.database import Database
from stratagraph.store.entities import find_by_names
from stratagraph.store.enums import Access, MemoryType
from stratagraph.store.episodes import LISTED_EVENTS, assemble
from stratagraph.store.errors import InvalidInput
from stratagraph.store.reading import Reader
from stratagraph.store.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.tenancy import Directory
from stratagraph.store.trust import Trust
from stratagraph.store.writing import handle_key

MAX_PAGE = 100
MAX_RELATIONS = 100  # shown at one record, heaviest first
ALL_EVENTS = 100_000  # of an episode that is asked for by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some records, newest first, and the cursor of the last; `has_next` is exact."""

    records: tuple[MemoryRecord, ...]
    end_cursor: str | None
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a plan. `rank` is the length of the longest path that leads to it: its column in a drawing."""

    id: str
    op: str
    params: Any
    guards: Any
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A plan, ready to be drawn: steps in topological order, and the longest chain of them."""

    record: MemoryRecord
    payload: dict[str, Any]
    steps: tuple[Step, ...]
    critical_path: tuple[str, ...]


class Lookup:
    """Reads for one caller at a time; every answer is what the caller's trust shows."""

    def __init__(self, database: Database, directory: Directory, clock: Clock) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock

    async def record(self, trust: Trust, id_: UUID) -> MemoryRecord | None:
        """The record, an episode with its whole timeline; None for what does not exist for this caller."""
        trust.require(Access.READ)
        reach = await self._directory.reach(trust)
        async with self._database.reading(reach.bounds) as connection:
            reader = Reader(connection, self._directory, reach, self._clock.now())
            found = (await reader.records([id_])).get(id_)
            if found is None:
                return None
            payloads = await assemble(connection, reach, [found], most=ALL_EVENTS)
        return replace(found, payload=payloads[id_]) if id_ in payloads else found

    async def payloads(self, trust: Trust, records: Collection[MemoryRecord]) -> dict[UUID, dict[str, Any]]:
        """Timelines for the thread episodes among `records`, up to LISTED_EVENTS events each."""
        reach = await self._directory.reach(trust)
        async with self._database.reading(reach.bounds) as connection:
            return await assemble(connection, reach, records, most=LISTED_EVENTS)

    async def records(
        self,
        trust: Trust,
        *,
        types: Collection[MemoryType] = (),
        scope: str | None = None,
        tag: str | None = None,
        first: int = 50,
        after: str | None = None,
    ) -> Page:
        """A page of what the caller may see at least redacted. Raises InvalidInput for a bad bound or cursor."""
        trust.require(Access.READ)
        if not 1 <= first <= MAX_PAGE:
            raise InvalidInput(f"first: {first} is not between 1 and {MAX_PAGE}", path=["first"])
        before = _decode_cursor(after) if after is not None else None
        reach = await self._directory.reach(trust)
        async with self._database.reading(reach.bounds) as connection:
            reader = Reader(connection, self._directory, reach, self._clock.now())
            found = await reader.page(types=types, scope=scope, tag=tag, first=first + 1, before=before)
        shown = tuple(found[:first])
        return Page(
            records=shown,
            end_cursor=_encode_cursor(shown[-1].id) if shown else None,
            has_next=len(found) > first,
        )

    async def entities(self, trust: Trust, name: str, *, scope: str | None, first: int) -> list[MemoryRecord]:
        """Entities known by this name or alias, exactly but for case and spaces."""
        trust.require(Access.READ)
        if not 1 <= first <= MAX_PAGE:
            raise InvalidInput(f"first: {first} is not between 1 and {MAX_PAGE}", path=["first"])
        reach = await self._directory.reach(trust if scope is None else trust.narrowed(scopes=[scope]))
        async with self._database.reading(reach.bounds) as connection:
            ids = [id_ for id_, _ in await find_by_names(connection, reach, [name], limit=first)]
            found = await Reader(connection, self._directory, reach, self._clock.now()).records(ids)
        records = [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]
        return [record for record in records if scope is None or record.scope == scope]

    async def plan(self, trust: Trust, id_: str, version: str | None) -> Plan | None:
        """A plan by its record's id, or by plan_id: the given version, or the newest. None if there is none."""
        trust.require(Access.READ)
        reach = await self._directory.reach(trust)
        async with self._database.reading(reach.bounds) as connection:
            reader = Reader(connection, self._directory, reach, self._clock.now())
            found: Sequence[MemoryRecord] = await reader.by_handle(
                [handle_key(reach.tenant, MemoryType.PLAN_GRAPH, id_)]
            )
            if not found and _is_uuid(id_):
                found = list((await reader.records([UUID(id_)])).values())
        for record in found:
            payload = record.payload
            if record.type is MemoryType.PLAN_GRAPH and payload is not None and version in (None, payload["version"]):
                return _drawn(record, payload)
        return None

    async def relations(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, list[Relation]]:
        reach = await self._directory.reach(trust)
        async with self._database.reading(reach.bounds) as connection:
            reader = Reader(connection, self._directory, reach, self._clock.now())
            return await reader.relations_of(ids, limit=MAX_RELATIONS)

    async def audit(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, list[AuditEntry]]:
        """The logs of those records that the caller may see in full."""
        reach = await self._directory.reach(trust)
        async with self._database.reading(reach.bounds) as connection:
            reader = Reader(connection, self._directory, reach, self._clock.now())
            whole = [id_ for id_, record in (await reader.records(ids)).items() if not record.redacted]
            return dict(await fetch_audit(connection, reach.tenant, whole))


def _drawn(record: MemoryRecord, payload: dict[str, Any]) -> Plan:
    graph: nx.DiGraph[str] = nx.DiGraph()
    nodes = {node["id"]: node for node in payload["nodes"]}
    graph.add_nodes_from(nodes)
    graph.add_edges_from((edge["from"], edge["to"]) for edge in payload["edges"])
    ranks = {id_: rank for rank, layer in enumerate(nx.topological_generations(graph)) for id_ in layer}
    return Plan(
        record=record,
        payload=payload,
        steps=tuple(
            Step(
                id=id_,
                op=nodes[id_]["op"],
                params=nodes[id_].get("params"),
                guards=nodes[id_].get("guards"),
                rank=ranks[id_],
            )
            for id_ in nx.lexicographical_topological_sort(graph, key=lambda id_: f"{ranks[id_]:09}{id_}")
        ),
        critical_path=tuple(nx.dag_longest_path(graph)),
    )


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _encode_cursor(id_: UUID) -> str:
    return base64.urlsafe_b64encode(id_.bytes).decode().rstrip("=")


def _decode_cursor(cursor: str) -> UUID:
    try:
        return UUID(bytes=base64.urlsafe_b64decode(cursor + "=="))
    except (ValueError, binascii.Error):
        raise InvalidInput(
            f"after: {cursor!r} is no cursor; give `pageInfo.endCursor` of the page before", path=["after"]
        ) from None
