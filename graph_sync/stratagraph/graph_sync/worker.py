"""The worker that keeps the mirror in step with the truth: follow the feed, apply, check-point, again.

State transfer: the log says which rows changed, the worker reads them as they are now and writes them guarded by
version. A crash at any instant repeats work and loses none; a zombie past its lease does no harm. Workers share the
feed's shards, and one of them keeps the mirror as a whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from neo4j.exceptions import Neo4jError

from stratagraph.graph_sync.applying import Applier, ChangeBatch
from stratagraph.graph_sync.checking import Checker
from stratagraph.graph_sync.history import checkpoint_key, mismatch
from stratagraph.graph_sync.keeping import LOOK_S, Keeper
from stratagraph.graph_sync.mirror import Checkpoint, Mirror
from stratagraph.store.feed.consumer import LEASE_S, Feed, Lease, LogPage
from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.keys.tenancy import Directory
from stratagraph.store.mirror.dead_letters import Parking
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.scrubs import Rounds
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import MirrorUnavailable, StoreUnavailable, StratagraphError
from stratagraph.store.postgres.database import Database

CONSUMER = "neo4j"
WAIT_S = 0.2  # between looks at whether the mirror has been healed
_log = structlog.get_logger(__name__)


def mirror_feed(database: Database) -> Feed:
    """The mirror's way through the log: a cursor per shard, so that as many workers may share it."""
    return Feed(database, CONSUMER, cursors=SHARDS, rereads=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """How the worker runs. Names of records above `names_up_to` stay out of the mirror."""

    names_up_to: Sensitivity = Sensitivity.LOW
    idle_s: float = 0.05  # between looks when nothing is waiting
    look_s: float = LOOK_S  # between the keeper's looks
    back_off_s: float = 5.0  # the longest pause while a database is away


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """What one pass did. `idle` tells that nothing was waiting; not `ready`, that the mirror must be healed first."""

    applied: int = 0
    parked: int = 0
    rebuilt: bool = False
    idle: bool = True
    ready: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A page and the rows behind it."""

    page: LogPage
    work: ChangeBatch


class SyncWorker:
    """One worker. Any number may run: they share the shards."""

    def __init__(self, database: Database, directory: Directory, mirror: Mirror, config: SyncConfig) -> None:
        self._feed = mirror_feed(database)
        self._source = MirrorSource(database, names_up_to=config.names_up_to)
        self._generations = Generations(database, CONSUMER)
        self._parking = Parking(database, CONSUMER)
        self._mirror = mirror
        self._config = config
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._leases: list[Lease] = []
        self._owed: list[Lease] = []  # stepped back from, and not yet handed back
        self._tended_at = -float(LEASE_S)
        self._incarnation = ""
        self._applier = self._new_applier(directory)
        self.checker = Checker(self._source, mirror, self._feed, self._generations, directory)
        self.keeper = Keeper(
            self._source,
            self._generations,
            self._feed,
            self._new_applier(directory),
            self.checker,
            Rounds(database, CONSUMER),
            mirror,
            owner=self._owner,
        )

    def _new_applier(self, directory: Directory) -> Applier:
        return Applier(self._source, self._generations, self._parking, directory, self._mirror)

    async def run(self) -> None:
        """Follow the feed, and keep the mirror if no other worker does, until cancelled. Outages of either database are
        logged once and waited out."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._again_and_again("follow", self._follow_pass, self._step_back))
                group.create_task(self._again_and_again("keep", self._keep_pass, self.keeper.hand_back))
        finally:
            await self.hand_back()

    async def _follow_pass(self) -> float:
        result = await self.follow_once()
        if not result.ready or not self._leases:
            return WAIT_S
        return self._config.idle_s if result.idle else 0.0

    async def _keep_pass(self) -> float:
        await self.keeper.run_once(check=True)
        return self._config.look_s

    async def _again_and_again(
        self, what: str, one_pass: Callable[[], Awaitable[float]], step_back: Callable[[], Awaitable[None]]
    ) -> None:
        pause, away = 0.0, False
        while True:
            try:
                pause = await one_pass()
                if away:
                    _log.info("mirror is back", task=what, uri=self._mirror.uri)
                away = False
            except (MirrorUnavailable, StoreUnavailable, Neo4jError) as error:
                await step_back()  # whoever goes on looks first at what the mirror holds
                if not away:
                    reason = error.message if isinstance(error, StratagraphError) else error.code
                    _log.warning("mirror is waiting", task=what, reason=reason)
                away, pause = True, min(self._config.back_off_s, max(0.1, pause * 2))
            except Exception as error:  # whatever it is, it must not take the API down with it
                await step_back()
                _log.error("mirror worker failed", task=what, error=type(error).__name__, told=str(error)[:200])
                away, pause = True, self._config.back_off_s
            await asyncio.sleep(pause)

    async def run_once(self) -> SyncResult:
        """One pass: keep the mirror if no other worker does, then apply everything up to now, page by page.

        Raises MirrorUnavailable or StoreUnavailable, with nothing half done that a later pass would not repeat.
        """
        kept = await self.keeper.run_once()
        result = await self.follow_once()
        if kept.keeps:
            await self.keeper.tell()
        return SyncResult(
            applied=result.applied,
            parked=result.parked,
            rebuilt=kept.rebuilt,
            idle=result.idle and not kept.rebuilt,
            ready=result.ready,
        )

    async def follow_once(self) -> SyncResult:
        """Apply everything up to now that lies in this worker's shards."""
        await self._feed.tick()
        applied = parked = 0
        while True:
            if (self._overdue or not self._leases) and not await self._tend_leases():
                return SyncResult(applied=applied, parked=parked, ready=False)
            for lease in [*self._leases]:
                done, refused = await self._follow(lease)
                applied, parked = applied + done, parked + refused
            self._join_leases()
            if not self._overdue:
                return SyncResult(applied=applied, parked=parked, idle=not applied)

    @property
    def _overdue(self) -> bool:
        """Whether it is time to tell the others that this worker lives, however much there is to apply."""
        return time.monotonic() - self._tended_at > LEASE_S / 3

    async def _follow(self, lease: Lease) -> tuple[int, int]:
        """Page after page, the next one read while one is written, until there is none or the leases want tending."""
        applied = parked = 0
        ahead = asyncio.create_task(self._read(lease))
        try:
            while not self._overdue and (step := await ahead) is not None:
                ahead = asyncio.create_task(self._read(lease.past(step.page)))
                parked += await self._holding(
                    self._applier.write(step.work, _keys(lease), checkpoint=self._checkpoint(lease, step.page))
                )
                applied += len(step.page.changes)
                advanced = await self._feed.advance(lease, step.page)
                if advanced is None:
                    self._lose(lease)
                    break
                self._leases[self._leases.index(lease)] = advanced
                lease = advanced
        finally:
            ahead.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):  # read for nothing, whatever came of it
                await ahead
        return applied, parked

    async def _holding(self, writing: Coroutine[Any, Any, int]) -> int:
        """Keep the shards for as long as a write takes: another worker would begin the same one, and each would wait
        for the other's locks."""
        task = asyncio.create_task(writing)
        try:
            while not (await asyncio.wait({task}, timeout=LEASE_S / 3))[0]:
                await self._feed.join(self._owner)
                for lease in self._leases:
                    await self._feed.renew(lease)
            return task.result()
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):  # told already, or given up
                await task

    async def _read(self, lease: Lease) -> _Step | None:
        page = await self._feed.page(lease, most=self._applier.size.now)
        return _Step(page=page, work=await self._applier.read(page.changes)) if page is not None else None

    def _checkpoint(self, lease: Lease, page: LogPage) -> Checkpoint:
        """It names a tick only when all of its window is in; until then, the one before holds."""
        tick: int = page.win_tick if page.last else lease.tick
        nonce: UUID = page.nonce if page.last else page.earlier_nonce
        return Checkpoint(tick=tick, nonce=nonce, incarnation=self._incarnation, generation=self._applier.numbers.whole)

    async def _tend_leases(self) -> bool:
        """Keep what is held, give away what is too much, take what is free. False while the mirror must be healed."""
        await self._release_owed()
        fair = await self._feed.join(self._owner)
        self._leases = [kept for lease in self._leases if (kept := await self._feed.renew(lease)) is not None]
        await self._give_away(sum(len(lease.cursors) for lease in self._leases) - fair)
        while (room := fair - sum(len(lease.cursors) for lease in self._leases)) > 0:
            lease = await self._feed.lease(self._owner, most=room)
            if lease is None:
                break
            self._leases.append(lease)  # already: where the mirror does not answer, it is handed back with the others
            if not await self._can_go_on(lease):
                self._leases.remove(lease)
                await self._feed.release(lease)
                return False
        self._tended_at = time.monotonic()
        return True

    async def _give_away(self, surplus: int) -> None:
        while surplus > 0:
            lease = self._leases.pop()
            kept, given = lease.split(max(0, len(lease.cursors) - surplus))
            surplus -= len(given.cursors)
            if kept.cursors:
                self._leases.append(kept)
            await self._feed.release(given)

    async def _can_go_on(self, lease: Lease) -> bool:
        """Whether the mirror can go on from where these cursors stand."""
        await self._applier.look()
        self._mirror.forget_types()
        self._incarnation = await self._generations.incarnation()
        places = dict.fromkeys(lease.cursors, lease.tick)
        found = await self._mirror.checkpoints()
        why = await mismatch(places, found, self._source, self._generations, generation=self._applier.numbers.whole)
        return why is None

    def _join_leases(self) -> None:
        """Cursors that have come to one place go on together."""
        joined: dict[tuple[int, int | None, int], Lease] = {}
        for lease in self._leases:
            joined[lease.place] = joined[lease.place].joined(lease) if lease.place in joined else lease
        self._leases = list(joined.values())

    def _lose(self, lease: Lease) -> None:
        """At least one of the cursors has another owner; the next pass looks which are left."""
        _log.warning("lease lost", owner=self._owner, cursors=lease.cursors)
        self._tended_at = -float(LEASE_S)

    async def _step_back(self) -> None:
        """Hand back the shards, after an error; after an outage of the truth, as soon as it is over."""
        self._owed, self._leases, self._tended_at = [*self._owed, *self._leases], [], -float(LEASE_S)
        with contextlib.suppress(Exception):  # nothing worse comes of it than that the leases run out by themselves
            await asyncio.shield(self._release_owed())

    async def _release_owed(self) -> None:
        for lease in [*self._owed]:
            await self._feed.release(lease)
            self._owed = [one for one in self._owed if one is not lease]

    async def hand_back(self) -> None:
        """Leave: the others take over at once."""
        await self._step_back()
        with contextlib.suppress(StoreUnavailable):
            await asyncio.shield(self._feed.leave(self._owner))
        await self.keeper.hand_back()


def _keys(lease: Lease) -> tuple[str, ...]:
    return tuple(checkpoint_key(cursor) for cursor in lease.cursors)
