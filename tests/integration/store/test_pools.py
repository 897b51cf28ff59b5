"""The use of the connection pools: connections in use, and tasks that wait for one."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress

from fix_memory import Memory, until

from stratagraph.store.postgres.database import SPARE_CONNECTIONS, Database
from stratagraph.store.postgres.pools import PoolUsage

SIZE = 1 + SPARE_CONNECTIONS


async def test_a_pool_reports_connections_in_use_and_tasks_that_wait(memory: Memory, database_url: str) -> None:
    bounds = (await memory.directory.resolve(memory.trust)).bounds
    async with Database(database_url, pool_size=1) as database:

        def callers() -> PoolUsage:
            return next(pool for pool in database.pools() if pool.name == "callers")

        def usage(*, in_use: int, waiting: int) -> PoolUsage:
            return PoolUsage(name="callers", size=SIZE, in_use=in_use, waiting=waiting)

        async def read() -> None:
            async with database.reading(bounds):
                pass

        assert callers() == usage(in_use=0, waiting=0)
        async with AsyncExitStack() as held:
            for _ in range(SIZE):
                await held.enter_async_context(database.reading(bounds))
            waiting = [asyncio.create_task(read()) for _ in range(2)]

            async def both_wait() -> bool:
                return callers() == usage(in_use=SIZE, waiting=2)

            await until(both_wait)
            waiting[0].cancel()
            with suppress(asyncio.CancelledError):
                await waiting[0]
            assert callers() == usage(in_use=SIZE, waiting=1)
        await waiting[1]
        assert callers() == usage(in_use=0, waiting=0)
