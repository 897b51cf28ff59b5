"""Expand the roots: their neighbourhood, found by the chosen engine, and read back from Postgres for the caller.

A mirror that is behind may find records that the caller may no longer see. Then its whole answer is dropped and SQL
answers instead. Leaving out only the unconfirmed records would not be enough: they have used up limits, so the caller
could infer their number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.engines.mirror import MirrorEngine
from stratagraph.memory.engines.service import AnsweredBy, Engines, MirrorBehind
from stratagraph.store.keys.callers import Caller
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.past import PastReader
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.hop_types import HopTypes, TypesOf, fetch_types
from stratagraph.store.traversal.neighbourhood import (
    GraphReader,
    Limits,
    Neighbourhood,
    SqlGraphReader,
    hubs_among,
    neighbourhood,
)
from stratagraph.store.traversal.past import PastGraphReader


@dataclass(frozen=True, slots=True)
class Walk:
    """The parameters of one expansion of `roots`, the same for either engine.

    `scores` decide which of two records that are reached with equal weight comes first. Facts must hold at `valid_at`,
    or else at the instant `at`, but for the roots among `past`. `hop_types` are the types that may be reached at each
    hop, from the first; any where there are none.
    """

    caller: Caller
    roots: Sequence[UUID]
    limits: Limits
    scores: Mapping[UUID, float]
    at: datetime
    past: frozenset[UUID] = frozenset()
    valid_at: datetime | None = None
    hop_types: Sequence[Collection[MemoryType]] = ()

    @property
    def expands(self) -> bool:
        """Whether any relation is followed."""
        return bool(self.roots) and self.limits.hops > 0

    async def by(self, engine: GraphReader, types_of: TypesOf | None = None) -> Neighbourhood:
        """Return the neighbourhood that `engine` finds, not yet confirmed by Postgres; `hop_types` need `types_of`."""
        hop_types = HopTypes(self.hop_types, types_of) if types_of is not None and any(self.hop_types) else None
        return await neighbourhood(
            engine, self.caller, self.roots, self.limits, scores=self.scores, at=self.at, hop_types=hop_types
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedWalk:
    """A neighbourhood, and its records and relations as Postgres has them for the caller."""

    neighbourhood: Neighbourhood
    answered_by: AnsweredBy
    records: dict[UUID, MemoryRecord]
    relations: list[Relation]


async def confirmed_walk(
    engines: Engines,
    connection: Connection,
    reader: Reader | PastReader,
    walk: Walk,
    *,
    at_least: Sequence[str] = (),
    past: bool = False,
) -> ConfirmedWalk:
    """Expand the roots with the chosen engine, and return what it found as Postgres has it for the caller.

    `at_least` are ids of transactions that the answer must reflect. `past` is whether the walk is as of a past instant;
    the mirror has only the present, so SQL answers then.
    """

    async def types_of(ids: Collection[UUID]) -> dict[UUID, MemoryType]:
        return await fetch_types(connection, walk.caller, ids)

    async def all_types_of(ids: Collection[UUID]) -> dict[UUID, MemoryType]:
        """Return the types of records of the mirror. Raises MirrorBehind where Postgres does not have one of them."""
        found = await types_of(ids)
        if len(found) < len(ids):
            raise MirrorBehind
        return found

    async def in_mirror(mirror: MirrorEngine, freshness: Freshness, by: AnsweredBy) -> ConfirmedWalk:
        async with engines.deadline():
            found = await walk.by(mirror.graph_reader(freshness), all_types_of)
        return await _confirm(connection, reader, walk, found, by)

    async def in_sql(by: AnsweredBy) -> ConfirmedWalk:
        if isinstance(reader, PastReader):
            found = await walk.by(PastGraphReader(connection, walk.valid_at), types_of)
            records, relations = await reader.subgraph(found.hops, found.edges)
        else:
            found = await walk.by(SqlGraphReader(connection=connection, valid_at=walk.valid_at), types_of)
            edges = [edge.row() for edge in found.edges.values()]
            records, relations = await reader.subgraph(found.hops, edges, at=walk.valid_at, past=walk.past)
        return ConfirmedWalk(neighbourhood=found, answered_by=by, records=records, relations=relations)

    return await engines.ask(
        walk.caller,
        in_mirror=in_mirror,
        in_sql=in_sql,
        at_least=at_least,
        past=past,
        expands=walk.expands,
    )


async def _confirm(
    connection: Connection, reader: Reader | PastReader, walk: Walk, found: Neighbourhood, by: AnsweredBy
) -> ConfirmedWalk:
    """Return what the mirror found as Postgres has it, or raise MirrorBehind.

    Postgres must have every record and relation for the caller. Wherever the mirror says that a limit kept something
    out or that a record is a hub, Postgres must have more as well.
    """
    kept_out = [edge for edges in found.kept_out.values() for edge in edges]
    records = await reader.records({*found.hops, *(edge.far for edge in kept_out)}, current=True)
    relations = {one.id: one for one in await reader.relations({*found.edges, *(edge.id for edge in kept_out)})}
    if not (found.hops.keys() <= records.keys() and found.edges.keys() <= relations.keys()):
        raise MirrorBehind
    if any(records[id_].redacted and id_ not in found.leaves for id_ in found.hops):
        raise MirrorBehind
    for witnesses in found.kept_out.values():
        if not any(edge.far in records and edge.id in relations for edge in witnesses):
            raise MirrorBehind
    if found.hubs and not set(found.hubs) <= await hubs_among(
        SqlGraphReader(connection=connection), walk.caller, found.hubs, at=walk.at
    ):
        raise MirrorBehind
    return ConfirmedWalk(
        neighbourhood=found,
        answered_by=by,
        records={id_: records[id_] for id_ in found.hops},
        relations=[relations[id_] for id_ in found.edges],
    )


def connected(
    roots: Sequence[UUID],
    found: Neighbourhood,
    records: Mapping[UUID, MemoryRecord],
    edges: Sequence[Relation],
    *,
    max_hops: int,
) -> tuple[dict[UUID, int], list[Relation]]:
    """Return the hops of the records, and the relations, that are still connected to the roots.

    A record that Postgres did not confirm must not connect others. So this expands the roots again over the relations
    and records that were read back, and never through a redacted one.
    """
    order = {id_: position for position, id_ in enumerate(found.edges)}
    usable = sorted(
        (edge for edge in edges if edge.source in records and edge.target in records), key=lambda edge: order[edge.id]
    )
    around: dict[UUID, list[Relation]] = {}
    for edge in usable:
        around.setdefault(edge.source, []).append(edge)
        around.setdefault(edge.target, []).append(edge)
    hops = {root: 0 for root in roots if root in records}
    frontier = list(hops)
    while frontier:
        reached = []
        for id_ in frontier:
            if records[id_].redacted or hops[id_] == max_hops:
                continue
            for edge in around.get(id_, ()):
                far = edge.target if edge.source == id_ else edge.source
                if far not in hops:
                    hops[far] = hops[id_] + 1
                    reached.append(far)
        frontier = reached
    kept = [
        edge
        for edge in usable
        if edge.source in hops
        and edge.target in hops
        and not (records[edge.source].redacted and records[edge.target].redacted)
    ]
    return hops, kept
