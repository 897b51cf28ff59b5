"""What `stratagraph.open` returns: a context manager, asynchronous and not, whose value is a client of the store."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType

from stratagraph.graphql.error_fields import error_fields
from stratagraph.service.library.portal import Portal
from stratagraph.service.library.store import Store
from stratagraph.service.library.transports import AsyncPortalTransport, PortalTransport
from stratagraph.store.model.errors import StratagraphError
from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.errors import error_of

URL = "http://localhost"  # of requests that reach no network


class Opening:
    """Opens a store for one block, `async with` or `with`; see `stratagraph.open`."""

    def __init__(self, path: Path | str | None, *, tenant: str, source: str, timeout_s: float) -> None:
        self._path = Path(path).expanduser().absolute() if path is not None else None
        self._tenant = tenant
        self._source = source
        self._timeout_s = timeout_s
        self._portal: Portal | None = None
        self._async_memory: AsyncMemory | None = None
        self._memory: Memory | None = None

    async def __aenter__(self) -> AsyncMemory:
        portal = self._start()
        try:
            opened = asyncio.wrap_future(portal.opened)
            opened.add_done_callback(lambda one: one.cancelled() or one.exception())  # nobody's after a cancellation
            await asyncio.shield(opened)
        except BaseException as error:
            portal.close()
            await _closed(portal)
            if isinstance(error, StratagraphError):
                raise error_of(error_fields(error), error.message) from error
            raise
        self._async_memory = AsyncMemory(
            URL, source=self._source, timeout_s=self._timeout_s, transport=AsyncPortalTransport(portal)
        )
        return await self._async_memory.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._portal is not None
        assert self._async_memory is not None
        try:
            await self._async_memory.__aexit__(kind, error, trace)
        finally:
            if self._portal.is_of_this_process:
                self._portal.close()
                await _closed(self._portal)

    def __enter__(self) -> Memory:
        portal = self._start()
        try:
            portal.opened.result()
        except BaseException as error:
            portal.close()
            portal.join()
            if isinstance(error, StratagraphError):
                raise error_of(error_fields(error), error.message) from error
            raise
        self._memory = Memory(URL, source=self._source, timeout_s=self._timeout_s, transport=PortalTransport(portal))
        return self._memory.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._portal is not None
        assert self._memory is not None
        try:
            self._memory.__exit__(kind, error, trace)
        finally:
            if self._portal.is_of_this_process:
                self._portal.close()
                self._portal.join()

    def _start(self) -> Portal:
        if self._portal is not None:
            raise RuntimeError("What stratagraph.open() returned is for one block; call it again for another.")
        self._portal = Portal(Store(self._path, tenant=self._tenant))
        self._portal.start()
        return self._portal


async def _closed(portal: Portal) -> None:
    """Wait until all has ended that the portal runs, also where the task is cancelled meanwhile."""
    ended: Future[None] = portal.closed
    is_cancelled = False
    while not ended.done():
        try:
            await asyncio.shield(asyncio.wrap_future(ended))
        except asyncio.CancelledError:
            is_cancelled = True
    portal.join()
    if is_cancelled:
        raise asyncio.CancelledError
