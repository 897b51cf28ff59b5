"""Looking things up: one record, pages of records, entities by name, plans as graphs."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.store.audit.events import fetch_audit
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.entities import find_by_names
from stratagraph.store.records.episodes import LISTED_EVENTS, assemble
from stratagraph.store.records.past import Moment, Past, Version
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.writing import handle_key

MAX_PAGE = 100
MAX_RELATIONS = 100  # shown at one record, heaviest first
ALL_EVENTS = 100_000  # of an episode that is asked for by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    """Some records, newest first, and the cursor of the last; `has_next` is exact."""

    records: tuple[MemoryRecord, ...]
    end_cursor: str | None
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Some versions of a record, newest first, and the cursor of the last; `has_next` is exact."""

    versions: tuple[Version, ...]
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
class PlanDrawing:
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

    async def record(self, trust: Trust, id_: UUID, *, as_of: datetime | None = None) -> MemoryRecord | None:
        """The record, an episode with its whole timeline; None for what does not exist for this caller.

        As of a past instant: as it was then, if it is in full sight for the caller both by then's trust and by now's.
        Raises InvalidInput for an instant to come, StoreUnavailable for one that is not settled yet.
        """
        trust.require(Access.READ)
        caller = await self._directory.caller(trust)
        now = self._clock.now()
        if as_of is not None:
            return await self._past_record(caller, Moment(id_, past_instant(as_of, now=now)))
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, now)
            found = (await reader.records([id_])).get(id_)
            if found is None:
                return None
            payloads = await assemble(connection, caller, [found], most=ALL_EVENTS)
        return replace(found, payload=payloads[id_]) if id_ in payloads else found

    async def _past_record(self, caller: Caller, moment: Moment) -> MemoryRecord | None:
        await settle(self._database, moment.at)
        async with self._database.reading(caller.bounds) as connection:
            past = Past(connection, self._directory, caller)
            found = (await past.records([moment])).get(moment)
            if found is None:
                return None
            payloads = await past.assemble([(found, moment.at)], most=ALL_EVENTS)
        return replace(found, payload=payloads[moment]) if moment in payloads else found

    async def history(self, trust: Trust, id_: UUID, *, first: int = 50, after: str | None = None) -> History:
        """A page of the record's versions, newest first, without those that the caller may not see in full.

        None at all for a record that does not exist for this caller. Raises InvalidInput for a bad bound or cursor.
        """
        trust.require(Access.READ)
        _check_first(first)
        before = _decode_version(after) if after is not None else None
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            past = Past(connection, self._directory, caller)
            found = await past.versions(id_, now=self._clock.now(), first=first + 1, before=before)
        shown = tuple(found[:first])
        return History(
            versions=shown,
            end_cursor=_encode_version(shown[-1].number) if shown else None,
            has_next=len(found) > first,
        )

    async def payloads(self, trust: Trust, records: Collection[MemoryRecord]) -> dict[UUID, dict[str, Any]]:
        """Timelines for the thread episodes among `records`, up to LISTED_EVENTS events each."""
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await assemble(connection, caller, records, most=LISTED_EVENTS)

    async def records(
        self,
        trust: Trust,
        *,
        types: Collection[MemoryType] = (),
        scope: str | None = None,
        tag: str | None = None,
        first: int = 50,
        after: str | None = None,
    ) -> RecordPage:
        """A page of what the caller may see at least redacted. Raises InvalidInput for a bad bound or cursor."""
        trust.require(Access.READ)
        _check_first(first)
        before = _decode_cursor(after) if after is not None else None
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            found = await reader.page(types=types, scope=scope, tag=tag, first=first + 1, before=before)
        shown = tuple(found[:first])
        return RecordPage(
            records=shown,
            end_cursor=_encode_cursor(shown[-1].id) if shown else None,
            has_next=len(found) > first,
        )

    async def entities(self, trust: Trust, name: str, *, scope: str | None, first: int) -> list[MemoryRecord]:
        """Entities known by this name or alias, exactly but for case and spaces."""
        trust.require(Access.READ)
        _check_first(first)
        caller = await self._directory.caller(trust if scope is None else trust.narrowed(scopes=[scope]))
        async with self._database.reading(caller.bounds) as connection:
            ids = [id_ for id_, _ in await find_by_names(connection, caller, [name], limit=first)]
            found = await Reader(connection, self._directory, caller, self._clock.now()).records(ids)
        records = [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]
        return [record for record in records if scope is None or record.scope == scope]

    async def plan(self, trust: Trust, id_: str, version: str | None) -> PlanDrawing | None:
        """A plan by its record's id, or by plan_id: the given version, or the newest. None if there is none."""
        trust.require(Access.READ)
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            found: Sequence[MemoryRecord] = await reader.by_handle(
                [handle_key(caller.tenant, MemoryType.PLAN_GRAPH, id_)]
            )
            if not found and _is_uuid(id_):
                found = list((await reader.records([UUID(id_)])).values())
        for record in found:
            payload = record.payload
            if record.type is MemoryType.PLAN_GRAPH and payload is not None and version in (None, payload["version"]):
                return _drawn(record, payload)
        return None

    async def relations(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, list[Relation]]:
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            return await reader.relations_of(ids, limit=MAX_RELATIONS)

    async def past_relations(self, trust: Trust, moments: Collection[Moment]) -> dict[Moment, list[Relation]]:
        """The relations that records had at instants which an answer has been given for."""
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await Past(connection, self._directory, caller).relations_of(moments, limit=MAX_RELATIONS)

    async def past_payloads(
        self, trust: Trust, records: Collection[tuple[MemoryRecord, datetime]]
    ) -> dict[Moment, dict[str, Any]]:
        """Timelines of then for the thread episodes among `records`, up to LISTED_EVENTS events each."""
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            return await Past(connection, self._directory, caller).assemble(records, most=LISTED_EVENTS)

    async def audit(self, trust: Trust, ids: Collection[UUID]) -> dict[UUID, list[AuditEntry]]:
        """The logs of those records that the caller may see in full."""
        caller = await self._directory.caller(trust)
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, self._clock.now())
            whole = [id_ for id_, record in (await reader.records(ids)).items() if not record.redacted]
            return dict(await fetch_audit(connection, caller.tenant, whole))


def _check_first(first: int) -> None:
    if not 1 <= first <= MAX_PAGE:
        raise InvalidInput(f"first: {first} is not between 1 and {MAX_PAGE}", path=["first"])


def _drawn(record: MemoryRecord, payload: dict[str, Any]) -> PlanDrawing:
    import networkx as nx  # takes a third of a second, and most processes draw no graph

    graph: nx.DiGraph[str] = nx.DiGraph()
    nodes = {node["id"]: node for node in payload["nodes"]}
    graph.add_nodes_from(nodes)
    graph.add_edges_from((edge["from"], edge["to"]) for edge in payload["edges"])
    ranks = {id_: rank for rank, layer in enumerate(nx.topological_generations(graph)) for id_ in layer}
    return PlanDrawing(
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
    return _encoded(id_.bytes)


def _decode_cursor(cursor: str) -> UUID:
    return UUID(bytes=_decoded(cursor, length=16))


def _encode_version(number: int) -> str:
    return _encoded(number.to_bytes(8))


def _decode_version(cursor: str) -> int:
    return int.from_bytes(_decoded(cursor, length=8), signed=True)


def _encoded(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode().rstrip("=")


def _decoded(cursor: str, *, length: int) -> bytes:
    try:
        key = base64.urlsafe_b64decode(cursor + "==")
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != length:
        raise InvalidInput(
            f"after: {cursor!r} is no cursor; give `pageInfo.endCursor` of the page before", path=["after"]
        )
    return key
