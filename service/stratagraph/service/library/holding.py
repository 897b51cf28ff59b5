"""Run the store of a data directory in this process, and let other processes of this machine join it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from stratagraph.graphql.schema import build_schema
from stratagraph.service.embedded_postgres import EmbeddedPostgres
from stratagraph.service.forks import not_for_forks
from stratagraph.service.holder import hold, publish_address
from stratagraph.service.in_process import InProcess
from stratagraph.service.local_application import local_application
from stratagraph.service.local_socket import bind
from stratagraph.service.runtime import open_runtime
from stratagraph.service.serving import prepare, serve_local, start_background
from stratagraph.service.settings import PARTS, Settings
from stratagraph.service.telemetry import open_telemetry


@asynccontextmanager
async def held(settings: Settings, *, hand_over: Callable[[], None]) -> AsyncIterator[InProcess]:
    """Hold the data directory for the block, run what a service runs, and yield a transport to its application.

    The embedded Postgres ends with the block, and with this process however that ends. `hand_over` is called when a
    service asks for the directory. With a database of the settings there is nothing to hold or to join. Raises InUse
    where another process holds the directory, and what `open_runtime` raises.
    """
    async with AsyncExitStack() as stack:
        listener, started = None, None
        if settings.database_url is None:
            directory = stack.enter_context(hold(settings.data_dir, waits=False))
            publish_address(directory.address_file, None, hands_over=True)
            postgres = EmbeddedPostgres(settings.data_dir)
            started = stack.enter_context(postgres.stopping_with_this_process(holding=[directory.lock]))
            listener = bind(settings.data_dir)
            if listener is not None:
                stack.callback(listener.close)
                stack.enter_context(not_for_forks(address=listener.getsockname()))
        stop = asyncio.Event()
        runtime = await stack.enter_async_context(open_runtime(settings, is_stopping=stop.is_set))
        if started is not None:
            started()
        telemetry = await stack.enter_async_context(open_telemetry(runtime))
        if runtime.embedder is not None:
            await prepare(runtime.embedder)
        application = local_application(
            runtime, schema=build_schema(), telemetry=telemetry, stopping=stop, hand_over=hand_over
        )
        async with asyncio.TaskGroup() as group:
            tasks = start_background(group, runtime, PARTS)
            if listener is not None:
                group.create_task(serve_local(application, listener, stop), name="local")
            transport = InProcess(application)
            try:
                yield transport
            finally:
                stop.set()
                for task in tasks:
                    task.cancel()
                await transport.aclose()
