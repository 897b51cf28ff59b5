"""Maintenance of the mirror by one of its workers, the leader.

The leader compares the mirror's checkpoints with Postgres, rewinds the mirror or begins a rebuild if they disagree,
completes rebuilds, retries dead letters, scrubs the mirror page by page, and publishes how fresh it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from stratagraph.graph_sync.applying import Applier
from stratagraph.graph_sync.checking import Checker
from stratagraph.graph_sync.checkpoints import LEADER_KEY, Mismatch, checkpoint_key, find_mismatch
from stratagraph.graph_sync.differences import Difference, count_by_class, describe_drift
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.rebuilding import Rebuilder
from stratagraph.graph_sync.repairing import Repairer
from stratagraph.store.event_log import get_logger
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.feed.leases import LEASE_S
from stratagraph.store.mirror.generations import Generation, Generations
from stratagraph.store.mirror.scrubs import ScrubPhase, ScrubPosition, Scrubs
from stratagraph.store.mirror.source import MirrorSource
from stratagraph.store.model.errors import MirrorUnavailable, StoreUnavailable

INTERVAL_S = 2.0  # between two passes
RENEW_S = LEASE_S / 3
# Desired time of a round of the scrub, in which everything is compared. What somebody changes behind the scrub's
# position is undone by the end of the next round.
ROUND_S = 300.0
SHARE = 0.2  # of the time that the scrub may take; a round of a mirror too large for this takes longer than ROUND_S
# The share of a round that is LATE_S behind, if it has at most LATE_SHARE_MOST_ROWS rows, nodes and relationships, as
# 10⁵ records have: on a busy machine each page takes several times as long, and an edit must be undone in ten minutes.
LATE_SHARE = 0.5
LATE_S = 15.0
LATE_SHARE_MOST_ROWS = 1_000_000
MIN_SCRUB_S = 0.05  # of one pass, so that a round comes to its end however slow the machine is
TOMBSTONES_S = 3_600.0  # between two deletions of expired tombstones
TOMBSTONE_BATCH = 10_000  # deleted in one transaction
TOMBSTONE_BATCHES = 10  # in one pass, so that its other steps are not kept waiting however many there are
REWOUND_AT_LEAST = 10_000  # changes; a copy that lacks more is rewound only if a rebuild would write more rows
CAUGHT_UP_S = 10.0  # how long a scrub waits for the feed before it leaves a page to the next pass
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceResult:
    """What one pass of maintenance did. `leads` is False, and nothing was done, if another worker is the leader.

    `rebuilt` is True if a rebuild was completed, `rewound` if the mirror was an old copy and the workers now apply the
    changes since; `retried` counts the dead letters written, `repaired` the rows that
    differed and whose repairs were appended to the change log.
    """

    leads: bool = False
    rebuilt: bool = False
    rewound: bool = False
    retried: int = 0
    repaired: int = 0


class Maintenance:
    """Maintains one mirror in passes. Every worker has one; a pass does nothing unless its worker is the leader."""

    def __init__(
        self,
        source: MirrorSource,
        generations: Generations,
        feed: Feed,
        applier: Applier,
        checker: Checker,
        repairer: Repairer,
        scrubs: Scrubs,
        mirror: Mirror,
        *,
        owner: str,
    ) -> None:
        self._source = source
        self._generations = generations
        self._feed = feed
        self._applier = applier
        self._checker = checker
        self._repairer = repairer
        self._scrubs = scrubs
        self._mirror = mirror
        self._owner = owner
        self._rebuilder = Rebuilder(source, generations, applier, mirror)
        self._renewed_at = -LEASE_S * 1.0
        self._next_tombstones = time.monotonic() + TOMBSTONES_S
        self._scrubbed_at = time.monotonic()
        self._next_estimate = -ROUND_S
        self._round_rows = 1.0
        self._due_rows = 0.0  # of the scrub's round; negative after a page that had more

    async def run_once(
        self, *, check: bool = False, on_page: Callable[[int], Awaitable[None]] | None = None
    ) -> MaintenanceResult:
        """Do one pass of maintenance if this worker is or can become the leader.

        A pass completes open rebuilds, however long they take. With `check`, it also scrubs the pages that are due,
        unless something was rebuilt. `on_page` is called after each page of a rebuild with the number of rows written
        so far. Raises MirrorUnavailable or StoreUnavailable; the next pass continues where this one ended.
        """
        if not await self.acquire_lease():
            return MaintenanceResult()
        async with self._renewing_lease():
            rewound = await self._rewind_or_begin_rebuild()
            await self.end_rewind()
            rebuilt = await self._complete_rebuilds(on_page)
            retried = await self._applier.retry_dead_letters((LEADER_KEY,))
            repaired = await self._scrub() if check and not rebuilt else 0
            await self._delete_expired_tombstones()
            await self.publish_status()
            await self._generations.record_maintenance(self._owner)
        return MaintenanceResult(leads=True, rebuilt=rebuilt, rewound=rewound, retried=retried, repaired=repaired)

    async def acquire_lease(self) -> bool:
        """Acquire or extend the leader's lease; return False if another worker is the leader."""
        held = await self._generations.acquire_leadership(self._owner)
        self._renewed_at = time.monotonic()
        return held

    @contextlib.asynccontextmanager
    async def _renewing_lease(self) -> AsyncIterator[None]:
        """Renew the lease during the block, however long a step takes: two leaders would undo each other's work."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(RENEW_S)
                with contextlib.suppress(StoreUnavailable):  # the next step of the block will raise it
                    await self._generations.acquire_leadership(self._owner)

        task = asyncio.create_task(renew())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def release(self) -> None:
        """Release the leader's lease if this worker has it, so that another worker can lead at once.

        If Postgres cannot be reached, the lease expires by itself.
        """
        with contextlib.suppress(StoreUnavailable):  # the lease expires by itself
            await asyncio.shield(self._generations.release_leadership(self._owner))

    async def begin_rebuild(self, tenant: int | None, *, reason: str) -> int:
        """Begin a rebuild of a mirror that agrees with Postgres, of one tenant or, with None, all.

        Returns the number of its generation. The mirror answers during the rebuild. The leader's next pass writes the
        rows.
        """
        number, _ = await self._generations.begin(
            "refreshing",
            reason=reason,
            at_least=await self._mirror.newest_generation(),
            tenant=tenant,
            total=await self._source.estimate(tenant),
        )
        await self._mirror.renew_generation(self._keys(), number, tenant=tenant)
        return number

    def _keys(self) -> list[str]:
        return [LEADER_KEY, *(checkpoint_key(cursor) for cursor in range(self._feed.cursors))]

    async def _rewind_or_begin_rebuild(self) -> bool:
        """Rewind the mirror, or begin to build it anew, if its checkpoints disagree with Postgres.

        Returns whether it was rewound.
        """
        mismatch = await self._find_mismatch()
        if mismatch is None:
            return False
        await self._mirror.prepare()
        if mismatch.rewind_to is not None and await self._rewind(mismatch.rewind_to):
            return True
        number, start = await self._generations.begin(
            "building",
            reason=mismatch.reason,
            at_least=await self._mirror.newest_generation(),
            total=await self._source.estimate(None),
        )
        assert start is not None
        await self._mirror.begin_generation(self._keys(), number, start)
        await self._applier.refresh()
        _log.warning("mirror rebuild started", generation=number, reason=mismatch.reason)
        return False

    async def _rewind(self, to: Mapping[int, int]) -> bool:
        """Move cursors back to what an old copy has, so that the workers apply the changes since; False if they cannot.

        They cannot if the log lacks some of the changes, or if there are more of them than rows. A rebuild that began
        after the copy, or was under way in it, wrote rows that no change names.
        """
        numbers = self._applier.numbers
        if await self._generations.unfinished() or not await self._mirror.is_complete(numbers):
            return False
        most = max(REWOUND_AT_LEAST, await self._source.estimate(None))
        changes = await self._generations.rewind(numbers.whole, to, most=most)
        if changes is None:
            return False
        _log.warning("mirror is an old copy and is rewound", generation=numbers.whole, changes=changes)
        return True

    async def end_rewind(self) -> None:
        """Let a rewound mirror answer again if all changes are applied to it."""
        ended = await self._generations.end_rewind()
        if ended is not None:
            _log.info("rewound mirror is up to date", changes=ended.changes, seconds=round(ended.seconds, 1))

    async def _find_mismatch(self) -> Mismatch | None:
        """Return why the mirror must be rewound or built anew; None if it need not be."""
        if await self._feed.register():
            return Mismatch(reason="the mirror is new, or no worker followed the feed for too long")
        await self._applier.refresh()
        if self._applier.numbers.whole == 0:
            return Mismatch(reason="the mirror is new")
        positions = await self._feed.exact_positions()  # before the checkpoints, which are ahead of them
        mismatch = await find_mismatch(
            positions,
            self._mirror.checkpoints,
            self._source,
            self._generations,
            generation=self._applier.numbers.whole,
        )
        if mismatch is None:
            return None
        leader = (await self._mirror.checkpoints()).get(LEADER_KEY)
        if (
            leader is not None
            and leader.generation < self._applier.numbers.whole
            and await self._finish_beginning(leader.generation)
        ):
            return None
        return mismatch

    async def _finish_beginning(self, generation: int) -> bool:
        """Move the mirror to a refreshing generation that only Postgres knows, and return whether there was one.

        A worker that begins a rebuild writes to Postgres first, and may have died before it wrote to the mirror.
        """
        newest = next((one for one in await self._generations.unfinished() if one.tenant is None), None)
        if newest is None or newest.state != "refreshing" or generation >= newest.number:
            return False
        await self._mirror.renew_generation(self._keys(), newest.number, tenant=None)
        return True

    async def _complete_rebuilds(self, on_page: Callable[[int], Awaitable[None]] | None) -> bool:
        """Complete every generation that has begun; return whether there was one."""
        done = False
        for generation in await self._generations.unfinished():
            await self._complete_rebuild(generation, on_page)
            done = True
        return done

    async def _complete_rebuild(self, generation: Generation, on_page: Callable[[int], Awaitable[None]] | None) -> None:
        began = time.monotonic()
        if generation.tenant is not None:
            await self._mirror.renew_generation(self._keys(), generation.number, tenant=generation.tenant)
        await self._applier.refresh()
        _log.info("completing mirror rebuild", generation=generation.number, tenant=generation.tenant)

        async def page(done: int) -> None:
            if time.monotonic() - self._renewed_at > LEASE_S / 3:
                if not await self.acquire_lease():
                    raise MirrorUnavailable(
                        "Another worker is now the mirror's leader and continues the rebuild; nothing needs to be done."
                    )
                await self.publish_status()
                await self._generations.record_maintenance(self._owner)
            if on_page is not None:
                await on_page(done)

        rows = await self._rebuilder.resume(generation, on_page=page)
        _log.info(
            "mirror rebuild completed",
            generation=generation.number,
            rows=rows,
            seconds=round(time.monotonic() - began, 1),
        )

    async def _scrub(self) -> int:
        """Compare as many pages as are due, repair what differs, and return the number of differences.

        A round is paced to take ROUND_S, whatever the size of the mirror, but no more than SHARE of the time is spent
        on it, or LATE_SHARE; then it takes longer.
        """
        now = time.monotonic()
        since, self._scrubbed_at = now - self._scrubbed_at, now
        rows_per_s = await self._rows_per_s()
        is_late = self._due_rows > LATE_S * rows_per_s and self._round_rows <= LATE_SHARE_MOST_ROWS
        self._due_rows = min(self._due_rows + since * rows_per_s, self._round_rows)
        ends_at = now + max(since * (LATE_SHARE if is_late else SHARE), MIN_SCRUB_S)
        found = 0
        while self._due_rows > 0 and time.monotonic() < ends_at:
            rows, differences = await self._scrub_page()
            self._due_rows -= max(1, rows)
            found += differences
            if rows == 0 and differences == 0:
                break
        return found

    async def _rows_per_s(self) -> float:
        """Return how many rows, nodes and relationships must be compared per second to complete a round in ROUND_S."""
        now = time.monotonic()
        if now >= self._next_estimate:
            self._next_estimate = now + ROUND_S / 10
            self._round_rows = max(1.0, await self._checker.estimate(None))
        return self._round_rows / ROUND_S if ROUND_S else self._round_rows

    async def _scrub_page(self) -> tuple[int, int]:
        """Compare the next page; return the number of its rows and of the differences repaired.

        A page that differs while too many changes are unapplied is left to the next pass.
        """
        position = await self._scrubs.position()
        if position.phase is ScrubPhase.SCHEMA:
            await self._scrubs.begin()
            differences: Sequence[Difference] = await self._checker.schema()
            rows, after, phase = 0, None, ScrubPhase.NODES
        else:
            page = await self._checker.page(position.phase, position.after)
            try:
                differences = await self._checker.confirm(page.differences, within_s=CAUGHT_UP_S)
            except TimeoutError:
                return 0, 0
            rows, after, phase = page.rows, page.end, position.phase
            if after is None:
                phase = ScrubPhase((position.phase + 1) % len(ScrubPhase))
        if differences:
            _log.error("mirror differs and is repaired", drift=count_by_class(differences))
            await self._scrubs.note_damage(len(differences))
            await self._repairer.repair(differences)
            await self._scrubs.note_repairs()
        await self._scrubs.add_drift(count_by_class(differences))
        if phase is ScrubPhase.SCHEMA:
            await self._scrubs.finish(rows=rows)
        else:
            await self._scrubs.advance(ScrubPosition(phase=phase, after=after), rows=rows)
        return max(rows, 1), len(differences)

    async def _delete_expired_tombstones(self) -> None:
        """Delete expired tombstones once they are due; where there are very many, the next passes continue."""
        if time.monotonic() < self._next_tombstones:
            return
        for _ in range(TOMBSTONE_BATCHES):
            if await self._mirror.delete_expired_tombstones(limit=TOMBSTONE_BATCH) < TOMBSTONE_BATCH:
                self._next_tombstones = time.monotonic() + TOMBSTONES_S
                return

    async def publish_status(self) -> None:
        """Write a node into the mirror that shows people in Neo4j Browser how far it is behind Postgres.

        Writes nothing if the mirror has no cursors or no generation yet.
        """
        lag = await self._feed.lag()
        newest = await self._generations.newest()
        if lag is None or newest is None:
            return
        scrub = await self._scrubs.report()
        now = datetime.now(UTC)
        in_step = newest["state"] in ("active", "refreshing") and lag.changes == 0
        state = "being filled" if newest["state"] == "building" else "in step" if in_step else "behind"
        if state != "being filled" and await self._scrubs.is_damaged():
            state = "being repaired"
        await self._mirror.publish_status(
            k=self._feed.consumer,
            name=f"Mirror: {state}",
            state=state,
            as_of=now if in_step else datetime.fromtimestamp(now.timestamp() - lag.seconds, UTC),
            generation=newest["generation"],
            lag_seconds=round(lag.seconds, 3),
            changes_waiting=lag.changes,
            dead_letters=lag.dead_letters,
            compared_at=scrub.last_checked_at if scrub is not None else None,
            compared_in_seconds=round(scrub.took_s, 1) if scrub is not None and scrub.took_s is not None else None,
            compared_rows=scrub.last_rows if scrub is not None else None,
            found=describe_drift(scrub.last_drift) if scrub is not None and scrub.last_drift is not None else None,
            found_since=describe_drift(scrub.drift) if scrub is not None and scrub.drift else None,
            note="Names and structure only; Postgres holds the truth. Changes made here are undone. If checked_at is"
            " more than a minute ago, no worker maintains the mirror, and the state is that of then.",
        )
