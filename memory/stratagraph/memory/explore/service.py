"""The questions as callers ask them. Each answer is confirmed by the truth, and says which engine found it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

from stratagraph.graph_sync.explore import DEADLINE_S, Neo4jExplorer
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.memory.explore.answers import (
    AffectedRecord,
    AnsweredBy,
    Expansion,
    Impact,
    ImpactCount,
    MatchedPlan,
    NeighbourRecord,
    Path,
    Paths,
    Plans,
    Related,
    RelatedEntity,
)
from stratagraph.memory.explore.around import neighbours, sharing
from stratagraph.memory.explore.impact import spread
from stratagraph.memory.explore.paths import Search
from stratagraph.memory.explore.plans import matching
from stratagraph.memory.explore.request import (
    MAX_HOPS,
    MAX_PATHS,
    check_between,
    check_ends,
    check_first,
    check_loaded,
    check_ops,
)
from stratagraph.memory.explore.session import QuerySession
from stratagraph.memory.retrieve.planner import Preference
from stratagraph.store.keys.tenancy import Directory
from stratagraph.store.mirror.freshness import Freshness, MirrorFreshness
from stratagraph.store.model.clock import Clock
from stratagraph.store.model.enums import Access, Sensitivity
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.links import SqlExplorer

AWAY_S = 5.0  # for which a mirror that failed is not asked again
T = TypeVar("T")


class Explore:
    """Answers. One per process; safe to call from many tasks.

    Bounded levels are quicker in SQL on one machine (measured in the project's sync study), so `auto` means SQL;
    `neo4j` takes the load off the truth. `plans_up_to` is the level to which the mirror names steps; `deadline_s` is
    how long all its reads for one question may take together.
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        clock: Clock,
        *,
        mirror: Mirror | None,
        freshness: MirrorFreshness | None,
        plans_up_to: Sensitivity,
        preference: Preference = "auto",
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._mirror = mirror
        self._freshness = freshness
        self._plans_up_to = plans_up_to
        self._preference = preference
        self._deadline_s = deadline_s
        self._away_until = 0.0
        self._why_away = ""

    async def paths(self, trust: Trust, start: UUID, goal: UUID, *, k: int = 3, max_hops: int = 4) -> Paths | None:
        """Up to `k` best paths between two records; None where an end is not in full sight, or does not exist.

        Best is: fewest hops, then the greatest product of weights. Between records that are no part of the current
        truth there is none. Raises InvalidInput for what is out of bounds.
        """
        check_ends(start, goal)
        check_between("k", k, 1, MAX_PATHS)
        check_between("maxHops", max_hops, 1, MAX_HOPS)

        async def question(session: QuerySession, found: AnsweredBy) -> Paths | None:
            ends = await session.in_full([start, goal])
            if len(ends) < 2:
                return None
            search = Search(session, start, goal)
            current = await session.current([start, goal])
            routes = await search.best(k, max_hops) if len(current) == len(ends) else []
            records = await session.shown({id_ for route in routes for id_ in route.ids})
            return Paths(
                paths=tuple(
                    Path(
                        records=tuple(records[id_] for id_ in route.ids),
                        relations=route.relations,
                        weight=route.weight,
                        sentence=route.sentence(records),
                    )
                    for route in routes
                ),
                reached=tuple(sorted(search.reached)),
                hubs=tuple(search.hubs),
                found=found,
            )

        return await self._ask(trust, question)

    async def impact(self, trust: Trust, id_: UUID, *, hops: int = 2, first: int = 25) -> Impact | None:
        """What refers to a record or rests on it; None for a record that is not in full sight, or does not exist."""
        check_between("hops", hops, 1, MAX_HOPS)
        check_first(first)

        async def question(session: QuerySession, found: AnsweredBy) -> Impact | None:
            root = (await session.in_full([id_])).get(id_)
            if root is None:
                return None
            met = await spread(session, id_, hops=hops)
            records = await session.shown({one.id for one in met.affected[:first]})
            return Impact(
                record=root,
                counts=tuple(
                    ImpactCount(hop=hop, type=memory_type, count=count)
                    for (hop, memory_type), count in met.counts.items()
                ),
                total=len(met.affected),
                affected=tuple(
                    AffectedRecord(record=records[one.id], hop=one.hop, strength=one.strength, via=one.via)
                    for one in met.affected[:first]
                ),
                reached=tuple(sorted(met.reached)),
                hubs=tuple(dict.fromkeys(met.hubs)),
                found=found,
            )

        return await self._ask(trust, question)

    async def plans(self, trust: Trust, ops: Sequence[str], *, first: int = 20) -> Plans:
        """Plans with steps of these ops in this order, each reached from the one before, directly or not."""
        check_ops(ops)
        check_first(first)

        async def question(session: QuerySession, found: AnsweredBy) -> Plans:
            matches, cut = await matching(session, ops, first=first + 1)
            return Plans(
                plans=tuple(MatchedPlan(record=match.record, steps=match.steps) for match in matches[:first]),
                has_more=len(matches) > first,
                reached=("plans",) if cut else (),
                found=found,
            )

        return await self._ask(trust, question)

    async def related(self, trust: Trust, id_: UUID, *, first: int = 20) -> Related | None:
        """Entities that share memories with this one, strongest first; None for what is not in full sight."""
        check_first(first)

        async def question(session: QuerySession, found: AnsweredBy) -> Related | None:
            root = (await session.in_full([id_])).get(id_)
            if root is None:
                return None
            met, hubs = await sharing(session, id_)
            records = await session.shown({one.id for one in met[:first]})
            return Related(
                record=root,
                entities=tuple(
                    RelatedEntity(record=records[one.id], shared=one.shared, weight=one.weight, memories=one.memories)
                    for one in met[:first]
                ),
                has_more=len(met) > first,
                reached=("hubs",) if hubs else (),
                hubs=tuple(hubs),
                found=found,
            )

        return await self._ask(trust, question)

    async def expand(
        self, trust: Trust, id_: UUID, *, loaded: Sequence[UUID] = (), first: int = 25
    ) -> Expansion | None:
        """Neighbours that a front end has not loaded yet, best first; None for what is not in full sight."""
        check_loaded(loaded)
        check_first(first)

        async def question(session: QuerySession, found: AnsweredBy) -> Expansion | None:
            root = (await session.in_full([id_])).get(id_)
            if root is None:
                return None
            met = await neighbours(session, id_, loaded, first=first)
            records = await session.shown({one.id for one in met.neighbours})
            return Expansion(
                record=root,
                neighbours=tuple(
                    NeighbourRecord(
                        record=records[one.id], weight=one.weight, degree=one.degree, more=one.more, hub=one.hub
                    )
                    for one in met.neighbours
                ),
                relations=met.relations,
                between=met.between,
                has_more=met.has_more,
                found=found,
            )

        return await self._ask(trust, question)

    async def _ask(self, trust: Trust, question: Callable[[QuerySession, AnsweredBy], Awaitable[T]]) -> T:
        """Ask the preferred engine, and SQL where that cannot answer; all on one snapshot of the truth."""
        trust.require(Access.READ)
        caller = await self._directory.caller(trust)
        now = self._clock.now()
        freshness = await self._freshness.soon(caller.tenant.id) if self._freshness is not None else None
        lag = freshness.seconds if freshness is not None else None
        async with self._database.reading(caller.bounds) as connection:
            reader = Reader(connection, self._directory, caller, now)
            fallback = None
            if self._preference == "neo4j" and self._mirror is not None:
                fallback = self._against(freshness)
                if freshness is not None and fallback is None:
                    engine = Neo4jExplorer(
                        self._mirror, least=freshness, plans_up_to=self._plans_up_to, deadline_s=self._deadline_s
                    )
                    found = AnsweredBy(engine=engine.name, fallback=None, mirror_lag_seconds=lag)
                    try:
                        return await question(QuerySession(engine, caller, reader), found)
                    except MirrorUnavailable as error:  # one that is down must not cost every question its deadline
                        fallback = self._why_away = error.message
                        self._away_until = time.monotonic() + AWAY_S
            sql = SqlExplorer(connection, now)
            found = AnsweredBy(engine=sql.name, fallback=fallback, mirror_lag_seconds=lag)
            return await question(QuerySession(sql, caller, reader), found)

    def _against(self, freshness: Freshness | None) -> str | None:
        """Why the mirror cannot be asked now, if so."""
        if freshness is None:
            return "nothing is known of the mirror yet"
        if not freshness.whole:
            return "the mirror is being filled"
        if time.monotonic() < self._away_until:
            return f"the mirror failed a moment ago: {self._why_away}"
        return None
