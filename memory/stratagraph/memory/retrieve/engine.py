"""Walking the graph with the engine that is best for it, and what happens when that one cannot.

Whoever walks, what is found is read back from Postgres under the caller's trust. A mirror that is behind may have found
what the caller may not see by now; then all of its answer is dropped and the truth is walked instead. To leave out just
that much would not do: what is missing could be counted by the limits that it had used up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

import structlog

from stratagraph.memory.retrieve.planner import EngineName, Planner, Preference, Work
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.mirror.freshness import Freshness, MirrorFreshness
from stratagraph.store.model.errors import MirrorUnavailable, StoreUnavailable
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.past import PastReader
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.neighbourhood import (
    GraphReader,
    Limits,
    Neighbourhood,
    SqlGraphReader,
    hubs_among,
    neighbourhood,
)
from stratagraph.store.traversal.past import PastGraphReader

SEQUENCE_WITHIN_S = 0.2  # a mirror that is asked for by name may take as long to reach a sequence
SEQUENCE_STEP_S = 0.02
PROBES_WAITING = 4  # walks to be repeated in the background; what is more is not repeated
PROBE_WITHIN_S = 2.0
_log = structlog.get_logger(__name__)


class MirrorReader(Protocol):
    """The mirror's engine: a GraphReader for each walk, which checks that the mirror has what the truth says it has."""

    def expecting(self, least: Freshness) -> GraphReader: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """A neighbourhood, the engine that found it, and why it was not the preferred one.

    `lag_seconds` is the age of the oldest change that the mirror lacks, None without a mirror.
    """

    found: Neighbourhood
    engine: EngineName
    fallback: str | None = None
    lag_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedWalk:
    """A walk, and the records and relations of its neighbourhood as the truth has them for the caller."""

    walked: Walked
    records: dict[UUID, MemoryRecord]
    relations: list[Relation]


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk, which either engine can make."""

    caller: Caller
    roots: Sequence[UUID]
    limits: Limits
    scores: Mapping[UUID, float]

    @property
    def work(self) -> Work:
        return Work.of(self.limits)

    @property
    def goes_anywhere(self) -> bool:
        return bool(self.roots) and self.limits.hops > 0

    async def by(self, engine: GraphReader) -> tuple[Neighbourhood, float]:
        """What was found, and the milliseconds that it took."""
        began = time.monotonic()
        found = await neighbourhood(engine, self.caller, self.roots, self.limits, scores=self.scores)
        return found, (time.monotonic() - began) * 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A walk to repeat in `engine` for its time alone; `beside` is who made it and how long that took."""

    engine: EngineName
    walk: Walk
    beside: tuple[EngineName, float]
    fresh: Freshness


class Engines:
    """SQL is always there. The mirror is asked where it pays or where it is preferred, and never waited for longer than
    the planner's patience; whatever it does, SQL answers then.

    While open (`async with`), some walks are repeated by the other engine in the background, so that the planner knows
    both, and whether a mirror that failed is back; nobody waits for them and nothing of them is shown.
    """

    def __init__(
        self,
        *,
        mirror: MirrorReader | None,
        feed: Feed | None,
        freshness: MirrorFreshness | None = None,
        database: Database | None = None,
        preference: Preference = "auto",
    ) -> None:
        self.planner = Planner(preference)
        self._mirror = mirror
        self._feed = feed
        self._freshness = freshness
        self._database = database
        self._probes: asyncio.Queue[Probe] = asyncio.Queue(PROBES_WAITING)
        self._prober: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Engines:
        if self._mirror is not None and self._database is not None:
            self._prober = asyncio.create_task(self._probe_all(self._mirror, self._database), name="engine probes")
        return self

    async def __aexit__(self, *_: object) -> None:
        prober, self._prober = self._prober, None
        if prober is not None:
            prober.cancel()
            with suppress(asyncio.CancelledError):
                await prober

    async def find(
        self,
        connection: Connection,
        reader: Reader | PastReader,
        walk: Walk,
        *,
        at_least: str | None = None,
        at: datetime | None = None,
    ) -> ConfirmedWalk:
        """Walk, and read back what was found. `at_least` is a transaction id that the answer must reflect, `at` a past
        instant to walk at, of which the mirror knows nothing."""
        walked = await self.walk(connection, walk, at_least=at_least, at=at)
        if walked.engine == "neo4j":
            found = await _confirmed(connection, reader, walk, walked)
            if found is not None:
                return found
            again, _ = await walk.by(SqlGraphReader(connection=connection))
            walked = replace(walked, found=again, engine="sql", fallback="the mirror is behind")
        records = await reader.records(walked.found.hops, current=True)
        return ConfirmedWalk(walked=walked, records=records, relations=await reader.relations(walked.found.edges))

    async def walk(
        self, connection: Connection, walk: Walk, *, at_least: str | None = None, at: datetime | None = None
    ) -> Walked:
        """Only walk: what the mirror finds is not checked, and must not be shown."""
        fresh = await self._fresh(walk.caller)
        lag_seconds = fresh.seconds if fresh is not None else None
        if at is not None:
            past = PastGraphReader(connection, at)
            found, _ = await walk.by(past)
            fallback = "the mirror shows only the present" if self.planner.preference == "neo4j" else None
            return Walked(found=found, engine="sql", fallback=fallback, lag_seconds=lag_seconds)
        fallback = None
        if self._mirror is not None and walk.goes_anywhere:
            mirrored, fallback = await self._in_mirror(self._mirror, walk, fresh, at_least)
            if mirrored is not None:
                return Walked(found=mirrored, engine="neo4j", lag_seconds=lag_seconds)
        found, took_ms = await walk.by(SqlGraphReader(connection=connection))
        if walk.goes_anywhere:
            self._account("sql", walk, took_ms, fresh)
        return Walked(found=found, engine="sql", fallback=fallback, lag_seconds=lag_seconds)

    async def _in_mirror(
        self, mirror: MirrorReader, walk: Walk, fresh: Freshness | None, at_least: str | None
    ) -> tuple[Neighbourhood | None, str | None]:
        """What the mirror found, or None and why it was not asked or did not answer."""
        plan = self.planner.plan(walk.work, fresh, time.monotonic())
        if plan.engine == "sql" or fresh is None:
            return None, plan.fallback
        if at_least is not None and not await self._has_reached(at_least):
            return None, "the mirror has not reached the asked sequence yet"
        try:
            async with asyncio.timeout(plan.within_s):
                found, took_ms = await walk.by(mirror.expecting(fresh))
        except MirrorUnavailable as error:
            self._failed(error.message)
            return None, error.message
        except TimeoutError:
            self.planner.observe("neo4j", walk.work, plan.within_s * 1_000, time.monotonic())
            return None, self._too_slow(plan.within_s)
        self._account("neo4j", walk, took_ms, fresh)
        return found, None

    async def _fresh(self, caller: Caller) -> Freshness | None:
        if self._mirror is None or self._freshness is None:
            return None
        return await self._freshness.soon(caller.tenant.id)

    async def _has_reached(self, token: str) -> bool:
        if self._feed is None:
            return False
        patience_s = SEQUENCE_WITHIN_S if self.planner.preference == "neo4j" else 0.0  # `auto` asks who is quicker
        until = time.monotonic() + patience_s
        while not await self._feed.seen(token):
            if time.monotonic() >= until:
                return False
            await asyncio.sleep(SEQUENCE_STEP_S)
        return True

    def _failed(self, reason: str) -> None:
        if self.planner.breaker.fail(reason, time.monotonic()):
            _log.warning("mirror does not answer", reason=reason)

    def _too_slow(self, within_s: float) -> str:
        """A busy machine is no outage, but who is slow is left alone all the same."""
        reason = f"the mirror took longer than {within_s:.2g} s"
        if self.planner.breaker.fail(reason, time.monotonic()):
            _log.info("mirror is too slow", within_s=round(within_s, 3))
        return reason

    def _account(self, engine: EngineName, walk: Walk, took_ms: float, fresh: Freshness | None) -> None:
        """Learn from a walk that was asked for, and have it repeated by the other engine if it is time to."""
        now = time.monotonic()
        self.planner.observe(engine, walk.work, took_ms, now)
        if self._prober is None or self._probes.full():
            return
        other = self.planner.probe(walk.work, engine, fresh, now)
        if other is not None and fresh is not None:
            self._probes.put_nowait(Probe(engine=other, walk=walk, beside=(engine, took_ms), fresh=fresh))

    async def _probe_all(self, mirror: MirrorReader, database: Database) -> None:
        """One probe at a time, until cancelled. Whatever happens to one, the next is made."""
        while True:
            probe = await self._probes.get()
            try:
                async with asyncio.timeout(PROBE_WITHIN_S):
                    took_ms = await self._probe(probe, mirror, database)
            except MirrorUnavailable as error:
                self._failed(error.message)
            except TimeoutError:
                if probe.engine == "neo4j":
                    self._too_slow(PROBE_WITHIN_S)
            except StoreUnavailable:
                continue  # whoever asks for something will say so
            except Exception as error:  # nobody asked for it, so nobody may be hurt by it
                _log.error("engine probe failed", engine=probe.engine, error=type(error).__name__)
            else:
                if probe.engine == "neo4j" and self.planner.breaker.answered():
                    _log.info("mirror answers again")  # and takes longer than usual, if it has just been started
                    continue
                now = time.monotonic()
                self.planner.compare(probe.engine, probe.walk.work, took_ms, beside=probe.beside, now=now)

    async def _probe(self, probe: Probe, mirror: MirrorReader, database: Database) -> float:
        if probe.engine == "neo4j":
            engine = mirror.expecting(probe.fresh)
            if not self.planner.knows("neo4j", probe.walk.work):
                await probe.walk.by(engine)  # the first of its kind: Neo4j compiles the statement, once
            return (await probe.walk.by(engine))[1]
        async with database.reading(probe.walk.caller.bounds) as connection:
            return (await probe.walk.by(SqlGraphReader(connection=connection)))[1]


async def _confirmed(
    connection: Connection, reader: Reader | PastReader, walk: Walk, walked: Walked
) -> ConfirmedWalk | None:
    """What the mirror found, if the truth bears it out: every record and relation, and that there is more wherever it
    says that a limit kept something out or that a record is a hub."""
    found = walked.found
    kept_out = [edge for edges in found.kept_out.values() for edge in edges]
    records = await reader.records({*found.hops, *(edge.far for edge in kept_out)}, current=True)
    relations = {one.id: one for one in await reader.relations({*found.edges, *(edge.id for edge in kept_out)})}
    if not (found.hops.keys() <= records.keys() and found.edges.keys() <= relations.keys()):
        return None
    if any(records[id_].redacted and id_ not in found.leaves for id_ in found.hops):
        return None
    for witnesses in found.kept_out.values():
        if not any(edge.far in records and edge.id in relations for edge in witnesses):
            return None
    if found.hubs and not set(found.hubs) <= await hubs_among(
        SqlGraphReader(connection=connection), walk.caller, found.hubs
    ):
        return None
    return ConfirmedWalk(
        walked=walked,
        records={id_: records[id_] for id_ in found.hops},
        relations=[relations[id_] for id_ in found.edges],
    )
