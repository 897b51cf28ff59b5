"""Keeping the mirror: one of its workers looks whether it is still in our history, writes it afresh where it is not,
checks it piece by piece, repairs what differs, tells people how fresh it is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import structlog

from stratagraph.graph_sync.applying import Applier
from stratagraph.graph_sync.checking import Checker, counted
from stratagraph.graph_sync.history import KEEPER_KEY, checkpoint_key, mismatch
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.rebuilding import Rebuilding
from stratagraph.store.feed.consumer import LEASE_S, Feed, Kind
from stratagraph.store.mirror.generations import Generation, Generations
from stratagraph.store.mirror.scrubs import Rounds
from stratagraph.store.mirror.source import FIRST_ID, MirrorSource
from stratagraph.store.model.errors import MirrorUnavailable, StoreUnavailable

LOOK_S = 2.0  # between looks at whether the mirror is in our history
RENEW_S = LEASE_S / 3
CHECK_S = 5.0  # between buckets of the running check
BURY_S = 3_600.0
BURIED = 10_000  # tombstones at once
CAUGHT_UP_S = 10.0  # for which a check waits for the feed, or leaves it to the next round
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperResult:
    """What one pass did. `keeps` is False where another worker keeps this mirror."""

    keeps: bool = False
    rebuilt: bool = False
    retried: int = 0
    repaired: int = 0


class Keeper:
    """One per worker; whoever holds the lease keeps the mirror."""

    def __init__(
        self,
        source: MirrorSource,
        generations: Generations,
        feed: Feed,
        applier: Applier,
        checker: Checker,
        rounds: Rounds,
        mirror: Mirror,
        *,
        owner: str,
    ) -> None:
        self._source = source
        self._generations = generations
        self._feed = feed
        self._applier = applier
        self._checker = checker
        self._rounds = rounds
        self._mirror = mirror
        self._owner = owner
        self._rebuilding = Rebuilding(source, generations, applier, mirror)
        self._kept_at = -LEASE_S * 1.0
        self._next_bury = time.monotonic() + BURY_S
        self._next_check = time.monotonic() + CHECK_S

    async def run_once(
        self, *, check: bool = False, on_page: Callable[[int], Awaitable[None]] | None = None
    ) -> KeeperResult:
        """One pass. With `check`, also the next bucket of the running check, when it is time.

        Raises MirrorUnavailable or StoreUnavailable; the next pass goes on where this one ended.
        """
        if not await self.keep():
            return KeeperResult()
        async with self._keeping():
            await self._heal()
            rebuilt = await self._carry_on(on_page)
            retried = await self._applier.retry((KEEPER_KEY,))
            repaired = await self._check() if check and not rebuilt else 0
            await self._bury()
            await self.tell()
        return KeeperResult(keeps=True, rebuilt=rebuilt, retried=retried, repaired=repaired)

    async def keep(self) -> bool:
        """Take or keep the lease."""
        held = await self._generations.keep(self._owner)
        self._kept_at = time.monotonic()
        return held

    @contextlib.asynccontextmanager
    async def _keeping(self) -> AsyncIterator[None]:
        """Keep the lease for the block, however long one of its steps takes: two keepers would undo each other's."""

        async def again_and_again() -> None:
            while True:
                await asyncio.sleep(RENEW_S)
                with contextlib.suppress(StoreUnavailable):  # the block's own next step tells
                    await self._generations.keep(self._owner)

        task = asyncio.create_task(again_and_again())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def hand_back(self) -> None:
        """Let another worker keep the mirror at once."""
        with contextlib.suppress(StoreUnavailable):  # the lease runs out by itself
            await asyncio.shield(self._generations.stop_keeping(self._owner))

    async def begin(self, tenant: int | None, *, reason: str) -> int:
        """Begin to write everything, or one tenant's, afresh, where the mirror is right meanwhile; its number."""
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
        return [KEEPER_KEY, *(checkpoint_key(cursor) for cursor in range(self._feed.cursors))]

    async def _heal(self) -> None:
        """Where the mirror is not what we have made of it, begin to make it anew."""
        broken = await self._broken()
        if broken is None:
            return
        await self._mirror.prepare()
        number, start = await self._generations.begin(
            "building",
            reason=broken,
            at_least=await self._mirror.newest_generation(),
            total=await self._source.estimate(None),
        )
        assert start is not None
        await self._mirror.begin_generation(self._keys(), number, start)
        await self._applier.look()
        _log.warning("mirror is written afresh", generation=number, reason=broken)

    async def _broken(self) -> str | None:
        """Why the mirror is not one of our history, None if it is."""
        if await self._feed.register():
            return "it is new, or nobody followed the feed for too long"
        await self._applier.look()
        if self._applier.numbers.whole == 0:
            return "it is new"
        places = await self._feed.places()  # before the checkpoints, which are ahead of them
        found = await self._mirror.checkpoints()
        keeper = found.get(KEEPER_KEY)
        if (
            keeper is not None
            and keeper.generation < self._applier.numbers.whole
            and await self._is_half_begun(keeper.generation)
        ):
            return None
        return await mismatch(places, found, self._source, self._generations, generation=self._applier.numbers.whole)

    async def _is_half_begun(self, generation: int) -> bool:
        """The two stores name different generations: one was begun over a mirror that was right, and its beginner died
        between the two. Then the mirror learns of it now."""
        newest = next((one for one in await self._generations.open() if one.tenant is None), None)
        if newest is None or newest.state != "refreshing" or generation >= newest.number:
            return False
        await self._mirror.renew_generation(self._keys(), newest.number, tenant=None)
        return True

    async def _carry_on(self, on_page: Callable[[int], Awaitable[None]] | None) -> bool:
        """Bring everything that was begun to its end."""
        done = False
        for generation in await self._generations.open():
            await self._one(generation, on_page)
            done = True
        return done

    async def _one(self, generation: Generation, on_page: Callable[[int], Awaitable[None]] | None) -> None:
        began = time.monotonic()
        if generation.tenant is not None:
            await self._mirror.renew_generation(self._keys(), generation.number, tenant=generation.tenant)
        await self._applier.look()
        _log.info("mirror rebuild goes on", generation=generation.number, tenant=generation.tenant)

        async def page(done: int) -> None:
            if time.monotonic() - self._kept_at > LEASE_S / 3:
                if not await self.keep():
                    raise MirrorUnavailable("Another worker keeps the mirror now; it goes on with the rebuild.")
                await self.tell()
            if on_page is not None:
                await on_page(done)

        rows = await self._rebuilding.carry_on(generation, on_page=page)
        _log.info(
            "mirror rebuild done",
            generation=generation.number,
            rows=rows,
            seconds=round(time.monotonic() - began, 1),
        )

    async def _check(self) -> int:
        """The next bucket of the round; what differs for good is asked for again. Returns how many rows that were."""
        if time.monotonic() < self._next_check:
            return 0
        self._next_check = time.monotonic() + CHECK_S
        place = await self._rounds.place()
        tenant = place.tenant
        if tenant == 0:
            found = await self._checker.tenants(-1)
            if found is None:
                return 0
            tenant = found
        checked = await self._checker.check(place.kind, tenant, place.id)
        try:
            differences = [] if checked.equal else await self._checker.confirmed([checked.bucket], within_s=CAUGHT_UP_S)
        except TimeoutError:
            return 0  # too much is on its way; the same bucket again next time
        differences += await self._checker.edited(checked.bucket) if checked.equal else []
        if differences:
            _log.error("mirror differs and is repaired", tenant=tenant, drift=counted(differences))
            await self._checker.repair(differences)
        await self._rounds.add(counted(differences))
        await self._move_on(place.kind, tenant, checked.bucket.upto)
        return len(differences)

    async def _move_on(self, kind: Kind, tenant: int, upto: UUID | None) -> None:
        if upto is not None:
            await self._rounds.go(kind, tenant, upto)
        elif kind is Kind.RECORD:
            await self._rounds.go(Kind.RELATION, tenant, FIRST_ID)
        else:
            following = await self._checker.tenants(tenant)
            if following is None:
                await self._rounds.end()
            else:
                await self._rounds.go(Kind.RECORD, following, FIRST_ID)

    async def _bury(self) -> None:
        if time.monotonic() < self._next_bury:
            return
        self._next_bury = time.monotonic() + BURY_S
        await self._mirror.bury(most=BURIED)

    async def tell(self) -> None:
        """Write into the mirror how fresh it is."""
        lag = await self._feed.lag()
        newest = await self._generations.newest()
        if lag is None or newest is None:
            return
        now = datetime.now(UTC)
        in_step = newest["state"] in ("active", "refreshing") and lag.changes == 0
        state = "being filled" if newest["state"] == "building" else "in step" if in_step else "behind"
        await self._mirror.tell(
            k=self._feed.consumer,
            name=f"Mirror: {state}",
            state=state,
            as_of=now if in_step else datetime.fromtimestamp(now.timestamp() - lag.seconds, UTC),
            generation=newest["generation"],
            lag_seconds=round(lag.seconds, 3),
            changes_waiting=lag.changes,
            parked=lag.parked,
            note="Names and structure only; Postgres holds the truth. What is changed here is undone.",
        )
