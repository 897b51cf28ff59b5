"""Rebuilds: all rows are written again in place under a new generation, so that readers never see an empty mirror."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

from stratagraph.graph_sync.applying import Applier, ChangeBatch
from stratagraph.graph_sync.batches import Progress
from stratagraph.graph_sync.checkpoints import LEADER_KEY
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.store.feed.changes import ROWS, Kind, LoggedChange
from stratagraph.store.mirror.generations import Generation, Generations
from stratagraph.store.mirror.source import MirrorSource, ScanPosition

PAGE = 2_000  # rows of one transaction at most


class Rebuilder:
    """Writes the rows of generations until they are complete, including those that another worker left unfinished."""

    def __init__(self, source: MirrorSource, generations: Generations, applier: Applier, mirror: Mirror) -> None:
        self._source = source
        self._generations = generations
        self._applier = applier
        self._mirror = mirror

    async def resume(self, generation: Generation, *, on_page: Callable[[int], Awaitable[None]]) -> int:
        """Write the remaining rows of a generation, delete rows of older ones, and mark it complete.

        Returns the number of rows written, those of earlier, interrupted calls included. `on_page` is called after each
        page with the number of rows written so far, and may stop the rebuild by raising.
        Raises MirrorUnavailable or StoreUnavailable; the next call continues after the last page written.
        """
        reached = await self._mirror.progress(generation.number)
        done = reached.done if reached is not None else 0
        async with aclosing(self._pages(generation, reached)) as pages:
            async for kind, batch, position in pages:
                done += len(batch.changes)
                progress = Progress(generation=generation.number, kind=kind, position=position, done=done)
                await self._applier.write(batch, (LEADER_KEY,), progress=progress)
                await self._generations.update_progress(generation.number, done)
                await on_page(done)
        await self._prune(generation)
        await self._generations.complete(generation.number)
        await self._mirror.delete_progress(generation.number)
        return done

    async def _pages(
        self, generation: Generation, reached: Progress | None
    ) -> AsyncGenerator[tuple[Kind, ChangeBatch, ScanPosition | None]]:
        """Yield page after page; each is read while the one before is being written."""
        for kind in ROWS:
            if reached is not None and kind < reached.kind:
                continue
            resumed = reached is not None and kind == reached.kind
            position = reached.position if reached is not None and resumed else None
            if resumed and position is None:
                continue  # the last page of this kind is written
            ahead = asyncio.create_task(self._page(kind, position, generation.tenant))
            try:
                while True:
                    batch, position = await ahead
                    if position is not None:
                        ahead = asyncio.create_task(self._page(kind, position, generation.tenant))
                    yield kind, batch, position
                    if position is None:
                        break
            finally:
                ahead.cancel()

    async def _page(
        self, kind: Kind, after: ScanPosition | None, tenant: int | None
    ) -> tuple[ChangeBatch, ScanPosition | None]:
        rows, end = await self._source.scan(kind, after, tenant=tenant, page=min(PAGE, self._applier.size.now))
        changes = [
            LoggedChange(seq=0, tenant=row["tenant"], kind=kind, id=row["id"], version=row["row_version"], op="U")
            for row in rows
        ]
        return await self._applier.convert(changes, {kind: rows}), end

    async def _prune(self, generation: Generation) -> None:
        if generation.tenant is not None:
            await self._mirror.prune(generation.tenant, generation.number)
            return
        tenant: int | None = -1
        while tenant is not None:
            tenant = await self._mirror.next_tenant(tenant)
            if tenant is not None:
                await self._mirror.prune(tenant, self._applier.numbers.of(tenant))
