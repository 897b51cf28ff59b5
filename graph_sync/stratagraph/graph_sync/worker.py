"""The worker that keeps the mirror in step with Postgres: it follows the feed, applies changes, and moves checkpoints.

The log names the rows that changed; the worker reads them as they are now and writes them guarded by their version. A
crash at any instant repeats work and loses none, and a worker whose lease has expired does no harm. Workers share the
shards of the feed, and one of them, the leader, maintains the mirror as a whole (`maintenance`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from neo4j.exceptions import Neo4jError

from stratagraph.graph_sync.applying import Applier, ChangeBatch
from stratagraph.graph_sync.batches import Checkpoint
from stratagraph.graph_sync.checking import Checker
from stratagraph.graph_sync.checkpoints import checkpoint_key, find_mismatch
from stratagraph.graph_sync.comparison import Comparison
from stratagraph.graph_sync.maintenance import INTERVAL_S, Maintenance
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.repairing import Repairer
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.feed.leases import LEASE_S, Lease, LogPage
from stratagraph.store.feed.snapshots import SHARDS
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.dead_letters import DeadLetters
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.scrubs import Scrubs
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import MirrorUnavailable, StoreUnavailable, StratagraphError
from stratagraph.store.model.ids import new_owner
from stratagraph.store.postgres.database import Database

CONSUMER = "neo4j"
CHUNK = 20_000  # changes read at once: each reading sorts all that is left of a window, which is long after an outage
FIRST_PAGE = 1_000  # changes in the first page of a pass; each that follows may be twice as long
WAIT_S = 0.2  # pause while no cursor is free, or until the leader has begun a rebuild or a rewind
_log = get_logger(__name__)


def mirror_feed(database: Database) -> Feed:
    """Return the mirror's feed, with one cursor per shard, so that as many workers can share it."""
    return Feed(database, CONSUMER, cursors=SHARDS, rereads=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """How the worker runs. Names of records above `names_up_to` are not mirrored."""

    names_up_to: Sensitivity = Sensitivity.LOW
    idle_s: float = 0.05  # pause after a pass that found nothing to apply
    maintenance_s: float = INTERVAL_S  # pause between two passes of maintenance
    back_off_s: float = 5.0  # longest pause while a database is unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """What one pass of a worker did.

    `applied` counts the changes read and written, `dead_letters` those among them that Neo4j refused. `rewound` is True
    if the mirror was an old copy, to which the changes since are applied. `idle` is True if no change was waiting.
    `ready` is False if the mirror must be rebuilt or rewound before changes can be applied.
    """

    applied: int = 0
    dead_letters: int = 0
    rebuilt: bool = False
    rewound: bool = False
    idle: bool = True
    ready: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A page of the log and the rows of its changes."""

    page: LogPage
    batch: ChangeBatch


class SyncWorker:
    """A worker that applies the feed to the mirror. Any number may run, in any processes; they share the shards."""

    def __init__(self, database: Database, directory: Directory, mirror: Mirror, config: SyncConfig) -> None:
        self._feed = mirror_feed(database)
        self._source = MirrorSource(database, names_up_to=config.names_up_to)
        self._generations = Generations(database, CONSUMER)
        self._dead_letters = DeadLetters(database, CONSUMER)
        self._mirror = mirror
        self._config = config
        self._owner = new_owner()
        self._leases: list[Lease] = []
        self._unreleased: list[Lease] = []  # given up, but not released yet
        self._tended_at = -float(LEASE_S)
        self._recorded_at = -float(LEASE_S)
        self._incarnation = ""
        self._unread: tuple[Lease, LogPage] | None = None  # the rest of a chunk, and the lease at its position
        self._applier = self._new_applier(directory)
        comparison = Comparison(self._source, mirror, self._generations, directory)
        self.checker = Checker(self._source, mirror, self._feed, self._generations, comparison)
        self.repairer = Repairer(self._source, mirror, self._generations, comparison)
        self.maintenance = Maintenance(
            self._source,
            self._generations,
            self._feed,
            self._new_applier(directory),
            self.checker,
            self.repairer,
            Scrubs(database, CONSUMER),
            mirror,
            owner=self._owner,
        )

    def _new_applier(self, directory: Directory) -> Applier:
        return Applier(self._source, self._generations, self._dead_letters, directory, self._mirror)

    async def run(self) -> None:
        """Follow the feed, and maintain the mirror if no other worker does, until cancelled.

        A local Neo4j that has not been started yet is waited for. During an outage of either database the worker logs
        one warning and retries until it is over.
        """
        await self._mirror.found()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._repeat("follow", self._follow_pass, self._give_up_leases))
                group.create_task(self._repeat("maintain", self._maintenance_pass, self.maintenance.release))
        finally:
            await self.release()

    async def _follow_pass(self) -> float:
        result = await self.follow_once()
        if not result.ready or not self._leases:
            return WAIT_S
        return self._config.idle_s if result.idle else 0.0

    async def _maintenance_pass(self) -> float:
        await self.maintenance.run_once(check=True)
        return self._config.maintenance_s

    async def _repeat(
        self, task: str, one_pass: Callable[[], Awaitable[float]], step_back: Callable[[], Awaitable[None]]
    ) -> None:
        """Run passes for ever, with the pause that each returns; back off while a database is unavailable."""
        pause, away = 0.0, False
        while True:
            try:
                pause = await one_pass()
                if away:
                    _log.info("mirror worker continues", task=task, uri=self._mirror.uri)
                away = False
            except (MirrorUnavailable, StoreUnavailable, Neo4jError) as error:
                await step_back()  # so that the next holder compares the mirror's checkpoints first
                if not away:
                    reason = error.message if isinstance(error, StratagraphError) else error.code
                    _log.warning("mirror worker waits", task=task, reason=reason)
                away, pause = True, min(self._config.back_off_s, max(0.1, pause * 2))
            except Exception as error:  # any error: it must not stop the API that runs in the same process
                await step_back()
                _log.error("mirror worker failed", task=task, **error_report(error))
                away, pause = True, self._config.back_off_s
            await asyncio.sleep(pause)

    async def run_once(self) -> SyncResult:
        """Do one pass of maintenance unless another worker is the leader, then one pass over the feed (`follow_once`).

        Raises MirrorUnavailable or StoreUnavailable; a later pass repeats whatever was left half done.
        """
        maintained = await self.maintenance.run_once()
        result = await self.follow_once()
        if maintained.leads:
            await self.maintenance.end_rewind()
            await self.maintenance.publish_status()
        return SyncResult(
            applied=result.applied,
            dead_letters=result.dead_letters,
            rebuilt=maintained.rebuilt,
            rewound=maintained.rewound,
            idle=result.idle and not maintained.rebuilt,
            ready=result.ready,
        )

    async def follow_once(self) -> SyncResult:
        """Apply every change committed before the call that is in this worker's shards.

        Returns with `ready` False, before all are applied, if the mirror must be rebuilt first. Raises
        MirrorUnavailable or StoreUnavailable.
        """
        await self._feed.take_snapshot()
        applied = dead_letters = 0
        while True:
            if (self._overdue or not self._leases) and not await self._tend_leases():
                await self._record_follow()  # it waits for the leader, which is no failure
                return SyncResult(applied=applied, dead_letters=dead_letters, ready=False)
            for lease in [*self._leases]:
                done, refused = await self._follow(lease)
                applied, dead_letters = applied + done, dead_letters + refused
            self._join_leases()
            await self._record_follow()
            if not self._overdue:
                return SyncResult(applied=applied, dead_letters=dead_letters, idle=not applied)

    async def _record_follow(self) -> None:
        """Store in Postgres, now and then, that a pass was completed, so that health knows how old that is."""
        if time.monotonic() - self._recorded_at > LEASE_S / 3:
            await self._feed.record_follow(self._owner)
            self._recorded_at = time.monotonic()

    @property
    def _overdue(self) -> bool:
        """Whether the heartbeat and the leases must be renewed, however many changes are waiting."""
        return time.monotonic() - self._tended_at > LEASE_S / 3

    async def _follow(self, lease: Lease) -> tuple[int, int]:
        """Apply page after page until none is left or the leases must be renewed.

        While one page is written, the next is read, and the cursors are moved past the one before: a crash repeats
        at most two pages. Returns the numbers of changes applied and refused.
        """
        applied = dead_letters = 0
        most = FIRST_PAGE  # so that Neo4j is not left without work while a long first page is read
        ahead = asyncio.create_task(self._read(lease, most))
        advancing: asyncio.Task[bool] | None = None
        try:
            while not self._overdue and (step := await ahead) is not None:
                after, most = lease.after(step.page), most * 2
                ahead = asyncio.create_task(self._read(after, most))
                dead_letters += await self._renewing_leases(
                    self._applier.write(step.batch, _keys(lease), checkpoint=self._checkpoint(lease, step.page))
                )
                applied += len(step.page.changes)
                if advancing is not None and not await advancing:
                    break
                advancing = asyncio.create_task(self._advance(lease, step.page))
                lease = after
        finally:
            ahead.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):  # the page read ahead is not needed
                await ahead
            if advancing is not None:
                await advancing
        return applied, dead_letters

    async def _advance(self, lease: Lease, page: LogPage) -> bool:
        """Move the cursors past a page that has been written; return False if another worker has taken one over."""
        advanced = await self._feed.advance(lease, page)
        if advanced is None:
            self._lose(lease)
            return False
        self._leases[self._leases.index(lease)] = advanced
        return True

    async def _renewing_leases(self, writing: Coroutine[Any, Any, int]) -> int:
        """Renew the leases for as long as a write takes.

        Otherwise another worker would begin the same write, and each would wait for the other's locks.
        """
        task = asyncio.create_task(writing)
        try:
            while not (await asyncio.wait({task}, timeout=LEASE_S / 3))[0]:
                await self._feed.join(self._owner)
                for lease in self._leases:
                    await self._feed.renew(lease)
            return task.result()
        finally:
            task.cancel()
            with contextlib.suppress(
                asyncio.CancelledError, Exception
            ):  # its error was raised above, or it was given up
                await task

    async def _read(self, lease: Lease, most: int) -> _Step | None:
        page = await self._next_page(lease, most)
        return _Step(page=page, batch=await self._applier.read(page.changes)) if page is not None else None

    async def _next_page(self, lease: Lease, most: int) -> LogPage | None:
        """Return the next page, of at most `most` changes: the first ones, with FIRST_PAGE, are read by themselves."""
        if self._unread is not None and self._unread[0] == lease:
            chunk: LogPage | None = self._unread[1]
        else:
            chunk = await self._feed.page(lease, limit=CHUNK if most > FIRST_PAGE else FIRST_PAGE)
        if chunk is None:
            return None
        page, rest = chunk.split(min(most, self._applier.size.now))
        self._unread = (lease.after(page), rest) if rest is not None else None
        return page

    def _checkpoint(self, lease: Lease, page: LogPage) -> Checkpoint:
        """Return the checkpoint after a page: until the window is complete, that of the earlier snapshot."""
        snapshot: int = page.window_snapshot if page.last else lease.snapshot
        nonce: UUID = page.nonce if page.last else page.earlier_nonce
        return Checkpoint(
            snapshot=snapshot,
            nonce=nonce,
            incarnation=self._incarnation,
            generation=self._applier.numbers.whole,
            seq=0 if page.last else page.changes[-1].seq,
            follows=(lease.snapshot, lease.window_seq),
        )

    async def _tend_leases(self) -> bool:
        """Renew the leases, release cursors beyond the fair share, and lease idle ones up to it.

        Returns False if the mirror must be rebuilt first.
        """
        await self._release_given_up()
        fair = await self._feed.join(self._owner)
        self._leases = [kept for lease in self._leases if (kept := await self._feed.renew(lease)) is not None]
        await self._release_surplus(sum(len(lease.cursors) for lease in self._leases) - fair)
        while (room := fair - sum(len(lease.cursors) for lease in self._leases)) > 0:
            lease = await self._feed.lease(self._owner, limit=room)
            if lease is None:
                break
            self._leases.append(lease)  # at once, so that it is released with the others if the mirror does not answer
            if not await self._can_continue(lease):
                self._leases.remove(lease)
                await self._feed.release(lease)
                return False
        self._tended_at = time.monotonic()
        return True

    async def _release_surplus(self, surplus: int) -> None:
        while surplus > 0:
            lease = self._leases.pop()
            kept, given = lease.split(max(0, len(lease.cursors) - surplus))
            surplus -= len(given.cursors)
            if kept.cursors:
                self._leases.append(kept)
            await self._feed.release(given)

    async def _can_continue(self, lease: Lease) -> bool:
        """Return whether the mirror can continue from the position of these cursors."""
        await self._applier.refresh()
        self._mirror.forget_types()
        self._unread = None  # the log may be another one, if Postgres was restored
        self._incarnation = await self._generations.incarnation()
        positions = dict.fromkeys(lease.cursors, (lease.snapshot, lease.window_seq))
        mismatch = await find_mismatch(
            positions,
            self._mirror.checkpoints,
            self._source,
            self._generations,
            generation=self._applier.numbers.whole,
        )
        return mismatch is None

    def _join_leases(self) -> None:
        """Join the leases that have come to the same position."""
        joined: dict[tuple[int, int | None, int], Lease] = {}
        for lease in self._leases:
            position = lease.position
            joined[position] = joined[position].joined(lease) if position in joined else lease
        self._leases = list(joined.values())

    def _lose(self, lease: Lease) -> None:
        """Note that another worker has taken over at least one cursor; the next pass finds out which are left."""
        _log.warning("cursors taken over by another mirror worker", owner=self._owner, cursors=lease.cursors)
        self._tended_at = -float(LEASE_S)

    async def _give_up_leases(self) -> None:
        """Release all leases after an error; during an outage of Postgres, as soon as it is over."""
        self._unreleased, self._leases = [*self._unreleased, *self._leases], []
        self._tended_at = -float(LEASE_S)
        with contextlib.suppress(Exception):  # a lease that cannot be released expires by itself
            await asyncio.shield(self._release_given_up())

    async def _release_given_up(self) -> None:
        for lease in [*self._unreleased]:
            await self._feed.release(lease)
            self._unreleased = [one for one in self._unreleased if one is not lease]

    async def release(self) -> None:
        """Release all leases and sign off as a worker, so that the other workers take over at once.

        Errors are ignored: what cannot be released expires by itself.
        """
        await self._give_up_leases()
        with contextlib.suppress(StoreUnavailable):
            await asyncio.shield(self._feed.leave(self._owner))
        await self.maintenance.release()


def _keys(lease: Lease) -> tuple[str, ...]:
    return tuple(checkpoint_key(cursor) for cursor in lease.cursors)
