"""The neighbourhood of some records: a breadth-first search, level by level, within budgets.

Both engines share this algorithm. An engine only answers `edges_of`: the heaviest edges of each frontier record. Which
edges are taken, in which order, and which ones a limit excludes is decided here, so that the engines agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.queries import fetch_tuples, sending
from stratagraph.store.traversal.hop_types import HopTypes

FAN_OUT = 100  # edges followed per record and direction
FRONTIER = 500  # records expanded in one statement
WITNESSES = 5  # excluded edges kept per limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The largest numbers of records (roots included), edges and levels (hops) that one search may find."""

    nodes: int
    edges: int
    hops: int


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from the frontier record `near` to `far`, in either direction of the relation, with the acl of `far`.

    `stored` is the rest of the relation, where Postgres found it: its predicate, the instant at which it was created,
    and whether `near` is its source.
    """

    id: UUID
    near: UUID
    far: UUID
    weight: float
    acl: int
    stored: tuple[int, datetime, bool] | None = field(default=None, compare=False)

    def row(self) -> dict[str, Any]:
        """Return the relation that Postgres found by its columns, as `Reader` reads them."""
        assert self.stored is not None
        predicate, created_at, is_outgoing = self.stored
        source, target = (self.near, self.far) if is_outgoing else (self.far, self.near)
        return {
            "id": self.id,
            "source": source,
            "target": target,
            "predicate": predicate,
            "weight": self.weight,
            "created_at": created_at,
        }


class GraphReader(Protocol):
    """An engine that follows relations under a caller's trust."""

    name: str

    async def edges_of(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int, history: bool
    ) -> list[Edge]:
        """Return, per frontier record and direction, the `fan_out` heaviest open edges (then by id).

        Their far ends are visible to the caller, and facts among them hold at `at`. Edges to redacted records come
        after all others, so that they take the place of none. With `history`,
        superseded and retracted records and facts that do not hold are far ends too.
        """
        ...


@dataclass(slots=True)
class Neighbourhood:
    """The result of a search: hops by record, edges by id, redacted records (`leaves`), and what was excluded.

    `reached` names the limits that excluded an edge, and `kept_out` the best edges that each one excluded, at most
    WITNESSES per limit, so that another engine can check whether these edges exist. `hubs` are the records that may
    have more edges than were followed.
    """

    hops: dict[UUID, int]
    edges: dict[UUID, Edge] = field(default_factory=dict)
    leaves: set[UUID] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    kept_out: dict[str, list[Edge]] = field(default_factory=dict)
    hubs: list[UUID] = field(default_factory=list)

    def keep_out(self, edge: Edge, limit: str) -> None:
        """Note that the limit of this name, `nodes` or `edges`, excluded `edge`."""
        self.reached.add(limit)
        witnesses = self.kept_out.setdefault(limit, [])
        if len(witnesses) < WITNESSES:
            witnesses.append(edge)


async def neighbourhood(
    engine: GraphReader,
    caller: Caller,
    roots: Sequence[UUID],
    limits: Limits,
    *,
    scores: Mapping[UUID, float],
    at: datetime,
    history: bool = False,
    hop_types: HopTypes | None = None,
) -> Neighbourhood:
    """Expand `roots` in both directions, taking edges by weight, then by the score of the far record, then by id.

    Only facts that hold at `at` are reached, unless `history` is asked for. With `hop_types`, edges are followed at
    each hop to records of its types only, and never to one that is more than one hop nearer to the roots than `near`:
    with that edge, `near` would be nearer than its type allows. Redacted records are added last, in the
    order in which they were reached, as far as the limits leave room: they never take the place of other records.
    The search ends after the level in which a limit excluded an edge, since every further edge would be excluded too.
    """
    found = Neighbourhood(hops=dict.fromkeys(roots, 0))
    to_leaves: list[tuple[int, Edge]] = []
    frontier = list(dict.fromkeys(roots))
    for hop in range(1, limits.hops + 1):
        if not frontier:
            break
        level = await _level(engine, caller, frontier, at, history)
        found.hubs.extend(_hubs(level))
        if hop_types is not None:
            wanted = await hop_types.among({edge.far for edge in level}, hop)
            level = [edge for edge in level if edge.far in wanted and found.hops.get(edge.far, hop) >= hop - 2]
        level.sort(key=lambda edge: (-edge.weight, -scores.get(edge.far, 0.0), edge.far.int, edge.id.int))
        frontier = []
        for edge in level:
            if edge.id in found.edges:
                continue
            if not _may_expand(caller, edge.acl):
                to_leaves.append((hop, edge))
                continue
            limit = _excluding_limit(limits, found, edge)
            if limit is not None:
                found.keep_out(edge, limit)
                continue
            if edge.far not in found.hops:
                found.hops[edge.far] = hop
                frontier.append(edge.far)
            found.edges[edge.id] = edge
        if found.reached:
            break
    else:
        if frontier and limits.hops:
            found.reached.add("hops")
    for hop, edge in to_leaves:
        _add_leaf(limits, found, hop, edge)
    return found


def _add_leaf(limits: Limits, found: Neighbourhood, hop: int, edge: Edge) -> None:
    """Add an edge to a redacted record, or note the limit that excludes it."""
    limit = _excluding_limit(limits, found, edge)
    if limit is not None:
        found.keep_out(edge, limit)
        return
    found.hops.setdefault(edge.far, hop)
    found.leaves.add(edge.far)
    found.edges[edge.id] = edge


def _excluding_limit(limits: Limits, found: Neighbourhood, edge: Edge) -> str | None:
    if edge.far not in found.hops and len(found.hops) >= limits.nodes:
        return "nodes"
    return "edges" if len(found.edges) >= limits.edges else None


async def _level(engine: GraphReader, caller: Caller, frontier: list[UUID], at: datetime, history: bool) -> list[Edge]:
    edges: list[Edge] = []
    for start in range(0, len(frontier), FRONTIER):
        part = frontier[start : start + FRONTIER]
        edges += await engine.edges_of(caller, part, at=at, fan_out=FAN_OUT, history=history)
    return edges


async def hubs_among(engine: GraphReader, caller: Caller, ids: Sequence[UUID], *, at: datetime) -> set[UUID]:
    """Return the ids among `ids` that are hubs at `at`, by the edges that `engine` returns: FAN_OUT or more."""
    return set(_hubs(await _level(engine, caller, list(ids), at, history=False)))


def _hubs(level: Sequence[Edge]) -> list[UUID]:
    """Return the records with at least FAN_OUT edges in the level, which may have more than were followed."""
    seen: dict[UUID, int] = {}
    for edge in level:
        seen[edge.near] = seen.get(edge.near, 0) + 1
    return sorted(near for near, count in seen.items() if count >= FAN_OUT)


def _may_expand(caller: Caller, acl: int) -> bool:
    return acl % 8 <= caller.ceiling


class SqlGraphReader:
    """The engine in Postgres, which is always available and always current.

    With `valid_at`, facts that the caller may read in full must hold then, and only redacted ones at the instant asked.
    """

    name = "sql"

    def __init__(
        self,
        database: Database | None = None,
        connection: AsyncConnection | None = None,
        valid_at: datetime | None = None,
    ) -> None:
        self._database = database
        self._connection = connection
        self._valid_at = valid_at

    async def edges_of(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int, history: bool
    ) -> list[Edge]:
        if self._connection is not None:
            return await self._edges_of(self._connection, caller, frontier, at, fan_out, history)
        assert self._database is not None
        async with self._database.reading(caller.bounds) as connection:
            return await self._edges_of(connection, caller, frontier, at, fan_out, history)

    async def _edges_of(
        self,
        connection: AsyncConnection,
        caller: Caller,
        frontier: Sequence[UUID],
        at: datetime,
        fan_out: int,
        history: bool,
    ) -> list[Edge]:
        parameters = {"frontier": list(frontier), "fan_out": fan_out, "history": history}
        parameters |= {"at": self._valid_at or at, "now": at}
        statement = sending("edges_of", {**caller.parameters(), **parameters})
        rows = await fetch_tuples(connection, statement)
        return [
            Edge(id_, near, far, weight, acl, (predicate, created_at, is_outgoing))
            for near, id_, far, weight, acl, predicate, created_at, is_outgoing in rows
        ]
