"""Writing everything afresh, in place, under a new generation: readers see the old or the new, and never nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import structlog

from stratagraph.graph_sync.applying import Applier, ChangeBatch
from stratagraph.graph_sync.history import KEEPER_KEY
from stratagraph.graph_sync.mirror import Mirror, Progress
from stratagraph.store.feed.consumer import Kind, Logged
from stratagraph.store.mirror.generations import Generation, Generations
from stratagraph.store.mirror.source import MirrorSource, Place

PAGE = 2_000  # rows at most; as many as one transaction takes well
_log = structlog.get_logger(__name__)


class Rebuilding:
    """Carries generations to their end, also those that somebody else began and did not finish."""

    def __init__(self, source: MirrorSource, generations: Generations, applier: Applier, mirror: Mirror) -> None:
        self._source = source
        self._generations = generations
        self._applier = applier
        self._mirror = mirror

    async def carry_on(self, generation: Generation, *, on_page: Callable[[int], Awaitable[None]]) -> int:
        """Write what is not written yet, sweep what older generations left, and complete; returns the rows written.

        `on_page` learns of every page how many rows are done, and may stop it all by raising.
        """
        reached = await self._mirror.progress(generation.number)
        done = reached.done if reached is not None else 0
        async with aclosing(self._pages(generation, reached)) as pages:
            async for kind, work, place in pages:
                done += len(work.changes)
                progress = Progress(generation=generation.number, kind=kind, place=place, done=done)
                await self._applier.write(work, (KEEPER_KEY,), progress=progress)
                await self._generations.tell_progress(generation.number, done)
                await on_page(done)
        await self._sweep(generation)
        await self._generations.complete(generation.number)
        await self._mirror.end_progress(generation.number)
        return done

    async def _pages(
        self, generation: Generation, reached: Progress | None
    ) -> AsyncGenerator[tuple[Kind, ChangeBatch, Place | None]]:
        """Page after page, each read while the one before is being written."""
        for kind in Kind:
            if reached is not None and kind < reached.kind:
                continue
            resumed = reached is not None and kind == reached.kind
            place = reached.place if reached is not None and resumed else None
            if resumed and place is None:
                continue  # its last page is written
            ahead = asyncio.create_task(self._page(kind, place, generation.tenant))
            try:
                while True:
                    work, place = await ahead
                    if place is not None:
                        ahead = asyncio.create_task(self._page(kind, place, generation.tenant))
                    yield kind, work, place
                    if place is None:
                        break
            finally:
                ahead.cancel()

    async def _page(self, kind: Kind, after: Place | None, tenant: int | None) -> tuple[ChangeBatch, Place | None]:
        rows, end = await self._source.scan(kind, after, tenant=tenant, page=min(PAGE, self._applier.size.now))
        changes = [
            Logged(seq=0, tenant=row["tenant"], kind=kind, id=row["id"], version=row["row_version"], op="U")
            for row in rows
        ]
        return ChangeBatch(changes=changes, rows={kind: rows}), end

    async def _sweep(self, generation: Generation) -> None:
        if generation.tenant is not None:
            await self._mirror.sweep(generation.tenant, generation.number)
            return
        tenant: int | None = -1
        while tenant is not None:
            tenant = await self._mirror.next_tenant(tenant)
            if tenant is not None:
                await self._mirror.sweep(tenant, self._applier.numbers.of(tenant))
