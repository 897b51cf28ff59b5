"""The worker that keeps the mirror in step with the truth: follow the feed, apply, check-point, again.

State transfer: the log says which rows changed, the worker reads them as they are now and writes them guarded by
version. A crash at any instant repeats work and loses none; a zombie past its lease does no harm.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import structlog
from neo4j.exceptions import Neo4jError

from stratagraph.graph_sync.mapping import bucket, node, plan, relation
from stratagraph.graph_sync.mirror import Checkpoint, Mirror, MirrorBatch
from stratagraph.store.database import Database
from stratagraph.store.enums import Sensitivity
from stratagraph.store.errors import MirrorUnavailable, StoreUnavailable, StratagraphError
from stratagraph.store.feed import LEASE_S, Feed, Kind, Lease, Logged, Page
from stratagraph.store.mirror_source import MirrorSource
from stratagraph.store.tenancy import Directory

CONSUMER = "neo4j"
CHECKPOINT = "neo4j:0"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncConfig:
    """How the worker runs. Names of records above `names_up_to` stay out of the mirror."""

    names_up_to: Sensitivity = Sensitivity.LOW
    idle_s: float = 0.1  # between looks when nothing is waiting
    back_off_s: float = 5.0  # the longest pause while a database is away


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """What one pass did. `idle` is True when nothing was waiting."""

    applied: int = 0
    parked: int = 0
    rebuilt: bool = False
    idle: bool = True


class SyncWorker:
    """One worker. Any number may run; the lease lets one of them apply."""

    def __init__(self, database: Database, directory: Directory, mirror: Mirror, config: SyncConfig) -> None:
        self._source = MirrorSource(database)
        self._feed = Feed(database, CONSUMER)
        self._directory = directory
        self._mirror = mirror
        self._config = config
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._lease: Lease | None = None
        self._leased_at = 0.0
        self._generation = 0
        self._incarnation = ""

    async def run(self, *, on_pass: Callable[[SyncResult], None] | None = None) -> None:
        """Follow the feed until cancelled. Outages of either database are logged once and waited out."""
        pause, away = 0.0, False
        try:
            while True:
                try:
                    result = await self.run_once()
                    if away:
                        _log.info("mirror is back", uri=self._mirror.uri)
                    away, pause = False, self._config.idle_s if result.idle else 0.0
                    if on_pass is not None:
                        on_pass(result)
                except (MirrorUnavailable, StoreUnavailable, Neo4jError) as error:
                    await self.hand_back()  # whoever goes on looks first at what the mirror holds
                    self._lease = None
                    if not away:
                        reason = error.message if isinstance(error, StratagraphError) else error.code
                        _log.warning("mirror is waiting", reason=reason)
                    away, pause = True, min(self._config.back_off_s, max(0.1, pause * 2))
                except Exception as error:  # whatever it is, it must not take the API down with it
                    await self.hand_back()
                    _log.error("mirror worker failed", error=type(error).__name__, code=getattr(error, "code", None))
                    pause = self._config.back_off_s
                await asyncio.sleep(pause)
        finally:
            await self.hand_back()

    async def run_once(self) -> SyncResult:
        """One pass: take the lease if it is free, then apply everything up to now, page by page.

        Raises MirrorUnavailable or StoreUnavailable, with nothing half done that a later pass would not repeat.
        """
        await self._feed.tick()
        rebuilt = False
        if self._lease is None:
            await self._feed.register()
            self._lease = await self._feed.lease(self._owner)
            self._leased_at = time.monotonic()
            if self._lease is None:
                return SyncResult()
            rebuilt = await self._take_over()
        applied = parked = 0
        while self._lease is not None:
            page = await self._feed.page(self._lease)
            if page is None:
                break
            parked += await self._apply_page(self._lease, page)
            applied += len(page.changes)
            await self._advance(self._lease, page)
        if self._lease is not None:
            await self._retry_parked()
            if time.monotonic() - self._leased_at > LEASE_S / 3:
                await self._keep_lease()
        return SyncResult(applied=applied, parked=parked, rebuilt=rebuilt, idle=not applied and not rebuilt)

    async def _advance(self, lease: Lease, page: Page) -> None:
        self._lease = await self._feed.advance(lease, page)
        self._leased_at = time.monotonic()
        if self._lease is None:
            _log.warning("lease lost", owner=self._owner, epoch=lease.epoch)

    async def _keep_lease(self) -> bool:
        if self._lease is not None and not await self._feed.renew(self._lease):
            self._lease = None
        self._leased_at = time.monotonic()
        return self._lease is not None

    async def hand_back(self) -> None:
        lease, self._lease = self._lease, None
        if lease is None:
            return
        try:
            await asyncio.shield(self._feed.release(lease))
        except StoreUnavailable:
            return  # it runs out by itself

    async def _take_over(self) -> bool:
        """Compare the mirror's checkpoint with ours; where they are not of one history, read everything afresh."""
        assert self._lease is not None
        await self._mirror.prepare()
        self._incarnation = await self._source.incarnation()
        generation = await self._source.active_generation(CONSUMER)
        found = await self._mirror.checkpoint(CHECKPOINT)
        if (
            generation is not None
            and found is not None
            and found.incarnation == self._incarnation
            and found.generation == generation
            and found.tick >= self._lease.tick
            and await self._source.tick_nonce(found.tick) == found.nonce
        ):
            self._generation = generation
            return False
        await self._rebuild()
        return True

    async def _rebuild(self) -> None:
        """Write everything under a new generation in place, then sweep what is left of the old one."""
        started = time.monotonic()
        self._generation = await self._source.begin_generation(
            CONSUMER, self._incarnation, at_least=await self._mirror.newest_generation()
        )
        _log.info("mirror rebuild begins", generation=self._generation)
        await self._mirror.begin_generation(CHECKPOINT, self._generation)
        tick, nonce = await self._source.newest_tick(consumer=CONSUMER)
        count = 0
        for kind in (Kind.RECORD, Kind.RELATION):
            async for changes in self._source.scan(kind):
                await self._apply(changes, None)
                count += len(changes)
                if time.monotonic() - self._leased_at > LEASE_S / 3 and not await self._keep_lease():
                    raise MirrorUnavailable("The lease was lost during a rebuild; its new holder starts again.")
        await self._mirror.sweep(self._generation)
        await self._source.activate_generation(CONSUMER, self._generation)
        await self._mirror.apply(
            MirrorBatch(),
            generation=self._generation,
            checkpoint=self._checkpoint(tick, nonce),
            key=CHECKPOINT,
        )
        assert self._lease is not None
        self._lease = replace(self._lease, tick=tick, win_tick=None, win_seq=0)
        _log.info(
            "mirror rebuild done",
            generation=self._generation,
            rows=count,
            seconds=round(time.monotonic() - started, 1),
        )

    def _checkpoint(self, tick: int, nonce: UUID) -> Checkpoint:
        return Checkpoint(tick=tick, nonce=nonce, incarnation=self._incarnation, generation=self._generation)

    async def _apply_page(self, lease: Lease, page: Page) -> int:
        """Apply a page and return how many of its changes had to be parked."""
        # The checkpoint names a tick only when all of its window is in; until then, the one before holds.
        tick = page.win_tick if page.last else lease.tick
        nonce = page.nonce if page.last else page.earlier_nonce
        return await self._apply(page.changes, self._checkpoint(tick, nonce))

    async def _apply(self, changes: Sequence[Logged], checkpoint: Checkpoint | None) -> int:
        batch = await self._batch(changes)
        try:
            await self._mirror.apply(batch, generation=self._generation, checkpoint=checkpoint, key=CHECKPOINT)
        except Neo4jError:
            return await self._apply_singly(changes, checkpoint)
        return 0

    async def _apply_singly(self, changes: Sequence[Logged], checkpoint: Checkpoint | None) -> int:
        """Something in the page is refused: find it by halves, set it aside, and write the rest."""
        if len(changes) > 1:
            middle = len(changes) // 2
            return await self._apply(changes[:middle], None) + await self._apply(changes[middle:], checkpoint)
        parked = 0
        for change in changes:
            try:
                await self._mirror.apply(
                    await self._batch([change]), generation=self._generation, checkpoint=None, key=CHECKPOINT
                )
            except Neo4jError as error:
                _log.error("change parked", kind=change.kind.name, id=str(change.id), code=error.code)
                await self._source.park(CONSUMER, change, f"{error.code}")
                parked += 1
        if checkpoint is not None:
            await self._mirror.apply(MirrorBatch(), generation=self._generation, checkpoint=checkpoint, key=CHECKPOINT)
        return parked

    async def _retry_parked(self) -> None:
        due = await self._source.due_parked(CONSUMER)
        for change in due:
            try:
                await self._mirror.apply(
                    await self._batch([change]), generation=self._generation, checkpoint=None, key=CHECKPOINT
                )
            except Neo4jError as error:
                await self._source.park(CONSUMER, change, f"{error.code}")
            else:
                await self._source.unpark(CONSUMER, [change])

    async def _batch(self, changes: Sequence[Logged]) -> MirrorBatch:
        """The rows behind the changes as they are now; what is gone becomes a deletion."""
        newest: dict[tuple[int, Kind, object], Logged] = {}
        for change in changes:
            key = (change.tenant, change.kind, change.id)
            if key not in newest or newest[key].version < change.version:
                newest[key] = change
        records = [change for change in newest.values() if change.kind is Kind.RECORD]
        relations = [change for change in newest.values() if change.kind is Kind.RELATION]
        batch = MirrorBatch()
        await self._add_records(batch, records)
        await self._add_relations(batch, relations)
        return batch

    async def _add_records(self, batch: MirrorBatch, changes: Sequence[Logged]) -> None:
        rows = await self._source.nodes(changes)
        found = {(row["tenant"], row["id"]) for row in rows}
        for row in rows:
            batch.nodes.append(node(row, generation=self._generation, names_up_to=self._config.names_up_to))
            steps = plan(row, names_up_to=self._config.names_up_to)
            if steps is not None:
                batch.plans.append(steps)
        batch.dead_nodes = [
            {"ten": change.tenant, "id": str(change.id), "ver": change.version, "bkt": bucket(change.id.int)}
            for change in changes
            if (change.tenant, change.id) not in found
        ]

    async def _add_relations(self, batch: MirrorBatch, changes: Sequence[Logged]) -> None:
        rows = await self._source.relations(changes)
        names = await self._directory.predicate_names({(row["tenant"], row["predicate"]) for row in rows})
        for row in rows:
            predicate = names[row["tenant"], row["predicate"]]
            mapped = relation(row, generation=self._generation)
            groups = batch.relations if row["ended_at"] is None else batch.dead_relations
            groups.setdefault(predicate, []).append(mapped)
