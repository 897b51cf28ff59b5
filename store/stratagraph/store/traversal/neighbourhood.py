"""The neighbourhood of some records: level-by-level breadth-first search within budgets.

One algorithm for both engines. An engine only answers `edges_of`: the heaviest edges at each record of a
frontier. What is taken, in which order, and what the limits cut off is decided here, so that the engines agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.queries import fetch

FAN_OUT = 100  # edges followed per record and direction
FRONTIER = 500  # records expanded in one statement
WITNESSES = 5  # edges kept of those that a limit kept out


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Budgets of one search: records besides nothing else, edges, and levels."""

    nodes: int
    edges: int
    hops: int


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge as an engine found it from `near`, with the acl of `far`."""

    id: UUID
    near: UUID
    far: UUID
    weight: float
    acl: int


class GraphReader(Protocol):
    """An engine that can walk relations under a caller's reach."""

    name: str

    async def edges_of(self, caller: Caller, frontier: Sequence[UUID], *, fan_out: int, history: bool) -> list[Edge]:
        """Of each frontier record and in each direction, the `fan_out` heaviest live edges (then by id) whose far
        end the caller may see at least redacted. With `history`, superseded and retracted ends count too."""
        ...


@dataclass(slots=True)
class Neighbourhood:
    """What was found: hops by record, edges by id, the records that may only be leaves, and what was cut.

    `reached` names the limits that kept something out, `kept_out` the best edges that one did, at most WITNESSES each:
    whoever doubts an engine can see whether there is anything.
    """

    hops: dict[UUID, int]
    edges: dict[UUID, Edge] = field(default_factory=dict)
    leaves: set[UUID] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    kept_out: dict[str, list[Edge]] = field(default_factory=dict)
    hubs: list[UUID] = field(default_factory=list)

    def keep_out(self, edge: Edge, limit: str) -> None:
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
    history: bool = False,
) -> Neighbourhood:
    """Expand `roots` both ways, best first: by edge weight, then by the score of the record reached, then by id.

    Ends after the level in which a budget was used up: what lies beyond would only be looked at to be left out.
    """
    found = Neighbourhood(hops=dict.fromkeys(roots, 0))
    frontier = list(dict.fromkeys(roots))
    for hop in range(1, limits.hops + 1):
        if not frontier:
            break
        level = await _level(engine, caller, frontier, history)
        found.hubs.extend(_hubs(level))
        level.sort(key=lambda edge: (-edge.weight, -scores.get(edge.far, 0.0), edge.far.int, edge.id.int))
        frontier = []
        for edge in level:
            if edge.id in found.edges:
                continue
            limit = _kept_out_by(limits, found, edge)
            if limit is not None:
                found.keep_out(edge, limit)
                continue
            if edge.far not in found.hops:
                found.hops[edge.far] = hop
                if _walkable(caller, edge.acl):
                    frontier.append(edge.far)
                else:
                    found.leaves.add(edge.far)
            found.edges[edge.id] = edge
        if found.reached:
            break
    else:
        if frontier and limits.hops:
            found.reached.add("hops")
    return found


def _kept_out_by(limits: Limits, found: Neighbourhood, edge: Edge) -> str | None:
    if edge.far not in found.hops and len(found.hops) >= limits.nodes:
        return "nodes"
    return "edges" if len(found.edges) >= limits.edges else None


async def _level(engine: GraphReader, caller: Caller, frontier: list[UUID], history: bool) -> list[Edge]:
    edges: list[Edge] = []
    for start in range(0, len(frontier), FRONTIER):
        edges += await engine.edges_of(caller, frontier[start : start + FRONTIER], fan_out=FAN_OUT, history=history)
    return edges


async def hubs_among(engine: GraphReader, caller: Caller, ids: Sequence[UUID]) -> set[UUID]:
    """Those of `ids` that `engine` takes for hubs in the present."""
    return set(_hubs(await _level(engine, caller, list(ids), history=False)))


def _hubs(level: Sequence[Edge]) -> list[UUID]:
    """Records of which at least FAN_OUT edges were seen: there may be more than were followed."""
    seen: dict[UUID, int] = {}
    for edge in level:
        seen[edge.near] = seen.get(edge.near, 0) + 1
    return sorted(near for near, count in seen.items() if count >= FAN_OUT)


def _walkable(caller: Caller, acl: int) -> bool:
    return acl % 8 <= caller.ceiling


class SqlGraphReader:
    """Traversal in Postgres itself: always there, never behind."""

    name = "sql"

    def __init__(self, database: Database | None = None, connection: AsyncConnection | None = None) -> None:
        self._database = database
        self._connection = connection

    async def edges_of(self, caller: Caller, frontier: Sequence[UUID], *, fan_out: int, history: bool) -> list[Edge]:
        if self._connection is not None:
            return await self._edges_of(self._connection, caller, frontier, fan_out, history)
        assert self._database is not None
        async with self._database.reading(caller.bounds) as connection:
            return await self._edges_of(connection, caller, frontier, fan_out, history)

    @staticmethod
    async def _edges_of(
        connection: AsyncConnection, caller: Caller, frontier: Sequence[UUID], fan_out: int, history: bool
    ) -> list[Edge]:
        rows = await fetch(
            connection,
            "edges_of",
            **caller.parameters(),
            frontier=list(frontier),
            fan_out=fan_out,
            history=history,
        )
        return [Edge(row["id"], row["near"], row["far"], row["weight"], row["acl"]) for row in rows]
