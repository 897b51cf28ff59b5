"""Graph questions as callers ask them. Every answer is confirmed by Postgres and states which engine found it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

from stratagraph.memory.engines.mirror import MirrorEngine
from stratagraph.memory.engines.service import AnsweredBy, Engines
from stratagraph.memory.explore.answers import Expansion, Impact, Paths, Plans, Related
from stratagraph.memory.explore.around import find_neighbours, find_related
from stratagraph.memory.explore.impact import find_impact
from stratagraph.memory.explore.paths import find_paths
from stratagraph.memory.explore.plans import find_plans
from stratagraph.memory.explore.request import (
    MAX_HOPS,
    MAX_PATHS,
    check_ends,
    check_first,
    check_loaded,
    check_ops,
)
from stratagraph.memory.explore.session import QuerySession
from stratagraph.memory.explore.times import NOW, Time, held_session, past_session
from stratagraph.memory.records.cursors import decode_ids
from stratagraph.memory.requests.bounds import check_between
from stratagraph.store.feed.sequence import Sequences
from stratagraph.store.feed.settling import past_instant, settle
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.model.clock import Clock, as_utc
from stratagraph.store.model.enums import Access
from stratagraph.store.model.problems import Problems
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.links import SqlExplorer

T = TypeVar("T")


class Explore:
    """The service that answers graph questions. One per process; safe to call from many tasks.

    Every question needs read access, and raises InvalidInput naming the argument that is out of bounds, Forbidden, or
    StoreUnavailable. A record that the caller may not read in full is answered like one that does not exist.
    `at_least_sequence` is the sequence of a receipt: the answer reflects that write, from SQL if the mirror has not
    reached it within a fraction of a second. `time` is what the answer is as of, and when its facts must have held.
    """

    def __init__(self, database: Database, directory: Directory, clock: Clock, engines: Engines) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._engines = engines
        self._sequences = Sequences()

    async def paths(
        self,
        trust: Trust,
        start: UUID,
        goal: UUID,
        *,
        k: int = 3,
        max_hops: int = 4,
        at_least_sequence: str | None = None,
        time: Time = NOW,
    ) -> Paths | None:
        """Return up to `k` best paths between two records; None if an end does not exist or the caller may not read it.

        Paths with fewer hops are better, of these those with the greater product of weights.
        """
        problems = Problems()
        with problems:
            check_ends(start, goal)
        with problems:
            check_between("k", k, 1, MAX_PATHS)
        with problems:
            check_between("maxHops", max_hops, 1, MAX_HOPS)
        problems.refuse()
        return await self._ask(
            trust, at_least_sequence, time, lambda session: find_paths(session, start, goal, k=k, max_hops=max_hops)
        )

    async def impact(
        self,
        trust: Trust,
        id_: UUID,
        *,
        hops: int = 2,
        first: int = 25,
        at_least_sequence: str | None = None,
        time: Time = NOW,
    ) -> Impact | None:
        """Return the records that refer to a record or rest on it, within `hops`; None if it does not exist.

        All are counted; the answer has at most `first` of them.
        """
        problems = Problems()
        with problems:
            check_between("hops", hops, 1, MAX_HOPS)
        with problems:
            check_first(first)
        problems.refuse()
        return await self._ask(
            trust, at_least_sequence, time, lambda session: find_impact(session, id_, hops=hops, first=first)
        )

    async def plans(
        self,
        trust: Trust,
        ops: Sequence[str],
        *,
        first: int = 20,
        at_least_sequence: str | None = None,
        time: Time = NOW,
    ) -> Plans:
        """Return the newest `first` plans that have a step of each operation in `ops`, in this order.

        Each step must be reachable from the one before, directly or over other steps.
        """
        problems = Problems()
        with problems:
            check_ops(ops)
        with problems:
            check_first(first)
        problems.refuse()
        return await self._ask(trust, at_least_sequence, time, lambda session: find_plans(session, ops, first=first))

    async def related(
        self, trust: Trust, id_: UUID, *, first: int = 20, at_least_sequence: str | None = None, time: Time = NOW
    ) -> Related | None:
        """Return the entities that share memories with a record, heaviest first; None if the record does not exist."""
        check_first(first)
        return await self._ask(trust, at_least_sequence, time, lambda session: find_related(session, id_, first=first))

    async def expand(
        self,
        trust: Trust,
        id_: UUID,
        *,
        loaded: Sequence[UUID] = (),
        first: int = 25,
        after: str | None = None,
        at_least_sequence: str | None = None,
        time: Time = NOW,
    ) -> Expansion | None:
        """Return the best `first` neighbours of a record that are not in `loaded`; None if the record does not exist.

        `loaded` are the ids of the records that the front end shows already. `after` is the cursor of the page before,
        whose neighbours, and those of the pages before it, count as loaded.
        """
        problems = Problems()
        before: list[UUID] = []
        with problems:
            before = decode_ids(after, id_) if after is not None else []
        loaded = list(dict.fromkeys([*loaded, *before]))
        with problems:
            check_loaded(loaded)
        with problems:
            check_first(first)
        problems.refuse()
        return await self._ask(
            trust,
            at_least_sequence,
            time,
            lambda session: find_neighbours(session, id_, loaded, first=first, before=before),
        )

    async def _ask(
        self,
        trust: Trust,
        at_least_sequence: str | None,
        time: Time,
        question: Callable[[QuerySession], Awaitable[T]],
    ) -> T:
        """Answer on one snapshot of Postgres, whichever engines are asked. SQL answers for another time than now."""
        trust.require(Access.READ)
        caller = await self._directory.resolve(trust)
        now = self._clock.now()
        as_of = past_instant(time.as_of, now=now) if time.as_of is not None else None
        valid_at = as_utc(time.valid_at, path=["validAt"]) if time.valid_at is not None else None
        if as_of is not None:
            await settle(self._database, caller.tenant.id, as_of)
        async with self._database.reading(caller.bounds) as connection:
            at_least: tuple[str, ...] = ()
            if at_least_sequence is not None:
                at_least = await self._sequences.parse(
                    connection, caller.tenant, at_least_sequence, path=["atLeastSequence"]
                )
            reader = Reader(connection, self._directory, caller, now)

            async def in_mirror(mirror: MirrorEngine, freshness: Freshness, by: AnsweredBy) -> T:
                engine = mirror.explorer(freshness, deadline_s=self._engines.deadline_s)
                return await question(QuerySession(engine, caller, reader, by))

            async def in_sql(by: AnsweredBy) -> T:
                if as_of is not None:
                    return await question(past_session(reader, by, as_of, valid_at or as_of))
                if valid_at is not None:
                    return await question(held_session(reader, by, valid_at))
                return await question(QuerySession(SqlExplorer(connection), caller, reader, by))

            is_timed = as_of is not None or valid_at is not None
            return await self._engines.ask(caller, in_mirror=in_mirror, in_sql=in_sql, at_least=at_least, past=is_timed)
