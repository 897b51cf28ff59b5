"""Asking the mirror where it is preferred and can answer, and SQL otherwise."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, TypeVar
from uuid import UUID

from stratagraph.memory.engines.mirror import MirrorEngine
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.keys.callers import Caller
from stratagraph.store.mirror.freshness import Freshness, MirrorFreshness
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.traversal.links import TooManyRelations

Preference = Literal["auto", "sql", "neo4j"]
EngineName = Literal["sql", "neo4j"]
DEADLINE_S = 2.0  # seconds for all reads of one question in the mirror
SEQUENCE_WITHIN_S = 0.2  # seconds that a question waits for the mirror to reach the sequence it asks for
SEQUENCE_STEP_S = 0.02  # seconds between two looks
_NO_RECORD, _ANY_TIME = UUID(int=0), datetime(1970, 1, 1, tzinfo=UTC)
_log = get_logger(__name__)
T = TypeVar("T")
REST_S = 5.0  # seconds for which a mirror that failed is not asked


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBy:
    """The engine that answered a question.

    `fallback` is why SQL answered although the mirror is preferred; None if the mirror answered, is not preferred or
    not configured, or if no relation was followed. `mirror_lag_seconds` is at least the age of every change that the
    mirror lacked when it was asked, so an answer of the mirror has all changes that are older; None if there is no
    mirror, or if the age is not known.
    """

    engine: EngineName
    fallback: str | None = None
    mirror_lag_seconds: float | None = None


def choose(
    preference: Preference,
    freshness: Freshness | None,
    *,
    mirrored: bool,
    failure: str | None,
    past: bool = False,
    expands: bool = True,
) -> AnsweredBy:
    """Return the engine to ask first.

    `mirrored` says whether there is a mirror, `failure` why it is not asked at the moment, `past` whether the question
    is about a past instant, and `expands` whether it follows any relation at all.
    """
    lag_seconds = freshness.seconds if freshness is not None and not freshness.refused else None
    fallback = None
    if preference == "neo4j":
        if past:
            fallback = "the mirror shows only the present"
        elif mirrored and expands:
            fallback = _against(freshness, failure)
            if fallback is None:
                return AnsweredBy(engine="neo4j", mirror_lag_seconds=lag_seconds)
    return AnsweredBy(engine="sql", fallback=fallback, mirror_lag_seconds=lag_seconds)


def _against(freshness: Freshness | None, failure: str | None) -> str | None:
    """Return why the mirror must not be asked now, or None if it may be."""
    if freshness is None:
        return "nothing is known of the mirror yet"
    if not freshness.whole:
        return "the mirror is being filled"
    if freshness.refused:
        return "the mirror lacks changes that Neo4j refused"
    if freshness.damaged:
        return "the mirror differs from PostgreSQL and is being repaired"
    if failure is not None:
        return f"the mirror failed a moment ago: {failure}"
    return None


class MirrorBehind(Exception):
    """Postgres does not confirm what the mirror found, so SQL must answer. The mirror is late and has not failed."""


class Engines:
    """The engines of one process: one preference and one breaker for all questions. Safe to call from many tasks.

    While open (`async with`), a mirror that failed is tried again in the background. `deadline_s` is how long the
    mirror may take for one question, in seconds; after that SQL answers.
    """

    def __init__(
        self,
        *,
        mirror: MirrorEngine | None = None,
        feed: Feed | None = None,
        freshness: MirrorFreshness | None = None,
        preference: Preference = "auto",
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self.breaker = Breaker()
        self.deadline_s = deadline_s
        self._mirror = mirror
        self._feed = feed
        self._freshness = freshness
        self._preference = preference
        self._opened = False
        self._trial: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Engines:
        self._opened = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._opened = False
        trial, self._trial = self._trial, None
        if trial is not None:
            trial.cancel()
            with suppress(asyncio.CancelledError):
                await trial

    async def ask(
        self,
        caller: Caller,
        *,
        in_mirror: Callable[[MirrorEngine, Freshness, AnsweredBy], Awaitable[T]],
        in_sql: Callable[[AnsweredBy], Awaitable[T]],
        at_least: Sequence[str] = (),
        past: bool = False,
        expands: bool = True,
    ) -> T:
        """Return the answer of the mirror where it is preferred and can answer, otherwise that of SQL.

        `at_least` are ids of transactions that the answer must reflect. For `past` and `expands` see `choose`.
        `in_mirror` raises MirrorUnavailable where the mirror fails, which opens the breaker, MirrorBehind where
        Postgres does not confirm what it found, and TooManyRelations where the mirror would have to read too much. Each
        answer states the AnsweredBy that it is called with.
        """
        reads_mirror = self._preference == "neo4j" and expands and not past
        freshness = await self._freshness_for(caller, cached=not reads_mirror)
        self._try_again(caller, freshness)
        by = choose(
            self._preference,
            freshness,
            mirrored=self._mirror is not None,
            failure=self.breaker.failure,
            past=past,
            expands=expands,
        )
        if self._mirror is None or freshness is None or by.engine == "sql":
            return await in_sql(by)
        if at_least and not await self._has_reached(at_least):
            fallback = "the mirror has not reached the asked sequence yet"
        else:
            if at_least:  # so that a mirror that is put back to an old copy now is not asked
                freshness = await self._freshness_for(caller, cached=False) or freshness
            try:
                return await in_mirror(self._mirror, freshness, by)
            except TooManyRelations:
                fallback = "a record has more relations than Neo4j reads in bounded time"
            except MirrorBehind:
                fallback = "the mirror is behind"
            except MirrorUnavailable as error:
                self._failed(error.message)
                fallback = error.message
        return await in_sql(replace(by, engine="sql", fallback=fallback))

    @asynccontextmanager
    async def deadline(self) -> AsyncIterator[None]:
        """Raise MirrorUnavailable if the block takes longer than `deadline_s` seconds."""
        try:
            async with asyncio.timeout(self.deadline_s):
                yield
        except TimeoutError:
            raise MirrorUnavailable(
                f"the mirror took longer than {self.deadline_s:g} s, so PostgreSQL was read"
            ) from None

    async def _freshness_for(self, caller: Caller, *, cached: bool) -> Freshness | None:
        if self._mirror is None or self._freshness is None:
            return None
        return await self._freshness.if_available(caller.tenant.id, cached=cached)

    async def _has_reached(self, transactions: Sequence[str]) -> bool:
        if self._feed is None:
            return False
        until = time.monotonic() + SEQUENCE_WITHIN_S
        for transaction in transactions:
            while not await self._feed.seen(transaction):
                if time.monotonic() >= until:
                    return False
                await asyncio.sleep(SEQUENCE_STEP_S)
        return True

    def _failed(self, reason: str) -> None:
        if self.breaker.open(reason, time.monotonic()):
            _log.warning("mirror does not answer", reason=reason)

    def _try_again(self, caller: Caller, freshness: Freshness | None) -> None:
        """Start a trial in the background if one is due, unless one is under way."""
        if self._mirror is None or freshness is None or not freshness.whole or not self._opened:
            return
        under_way = self._trial is not None and not self._trial.done()
        if not under_way and self.breaker.start_trial(time.monotonic()):
            self._trial = asyncio.create_task(self._try(self._mirror, caller, freshness), name="trial of the mirror")

    async def _try(self, mirror: MirrorEngine, caller: Caller, freshness: Freshness) -> None:
        """Read the relations of a record that does not exist, which also compares the mirror's position."""
        try:
            async with self.deadline():
                reader = mirror.graph_reader(freshness)
                await reader.edges_of(caller, [_NO_RECORD], at=_ANY_TIME, fan_out=1, history=False)
        except MirrorUnavailable as error:
            self._failed(error.message)
        else:
            if self.breaker.close():
                _log.info("mirror answers again")


@dataclass(slots=True)
class Breaker:
    """Open after a failure, so that a mirror that is down does not cost every request its deadline.

    Once REST_S has passed, one trial in the background shows whether the mirror answers again; no request waits for it.
    `failure` is the reason of the last failure while the breaker is open, and None while it is closed.
    """

    failure: str | None = None
    trial_due_at: float = 0.0

    def open(self, failure: str, now: float) -> bool:
        """Open for another REST_S seconds; return True if it was closed."""
        was_closed = self.failure is None
        self.failure, self.trial_due_at = failure, now + REST_S
        return was_closed

    def close(self) -> bool:
        """Close; return True if it was open."""
        was_open = self.failure is not None
        self.failure = None
        return was_open

    def start_trial(self, now: float) -> bool:
        """Return True if a trial is due, and put off the next one by REST_S seconds."""
        if self.failure is None or now < self.trial_due_at:
            return False
        self.trial_due_at = now + REST_S
        return True
