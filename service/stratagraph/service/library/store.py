"""The store of one `open`: run by this process, or joined where another process runs it."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

import httpx

from stratagraph.graphql.error_fields import error_fields
from stratagraph.service.data_dir import embedded_data_dir
from stratagraph.service.holder import InUse
from stratagraph.service.local_socket import CODES, NAME, SCHEME, short
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.error_reports import error_report
from stratagraph.store.model.errors import StoreUnavailable, StratagraphError

if TYPE_CHECKING:
    from stratagraph.service.settings import Settings

SETTLE_S = 60.0  # for which a process that holds the directory, and does not answer yet, is waited for
LOOK_S = 0.05  # between two looks at it
GREETING_S = 5.0  # for which a process may take to say that it is there
CONNECTIONS = httpx.Limits(max_connections=256, max_keepalive_connections=32)
_log = get_logger(__name__)


class Store:
    """Answers requests of one caller with full access to `tenant`. Belongs to one event loop.

    `path` is the directory, by default that of the settings. Of the processes that have it open, one holds it: it runs
    the store. The others send it their requests over the directory's socket. When it ends, the next request of any of
    them makes that one hold the directory, or join who does by then. A holder lets a service that asks have the
    directory, and joins it. Nothing is sent twice: a request that the former holder may have executed fails as after a
    lost connection.
    """

    def __init__(self, path: Path | None, *, tenant: str) -> None:
        self._path = path
        self._authorization = f"{SCHEME} {quote(tenant)}"
        self._transport: httpx.AsyncBaseTransport | None = None
        self._settling: asyncio.Task[httpx.AsyncBaseTransport] | None = None
        self._holding: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._release = asyncio.Event()  # of the store that this process holds
        self._former: httpx.AsyncBaseTransport | None = None

    async def __aenter__(self) -> Self:
        """Hold or join the store. Raises Misconfigured or StoreUnavailable saying what to do."""
        try:
            await self._settled()
        except BaseException:
            await self._leave()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave()

    async def answer(self, request: httpx.Request) -> httpx.Response:
        """Send a request to whoever holds the store, and return the response.

        Raises httpx.TransportError where the holder ends during the request, or is not there in time.
        """
        request.headers["authorization"] = self._authorization
        request.headers["accept-encoding"] = "identity"
        patience_s = request.extensions.get("timeout", {}).get("pool")
        while True:
            try:
                async with asyncio.timeout(patience_s):
                    transport = await self._settled()
            except TimeoutError:
                raise httpx.ConnectError("The store is still being opened; try again.", request=request) from None
            except StratagraphError as error:
                content = {"errors": [{"message": error.message, "extensions": error_fields(error)}]}
                return httpx.Response(503, json=content)
            try:
                return await transport.handle_async_request(request)
            except httpx.ConnectError:  # the holder has ended, and has not seen the request
                await self._retire(transport)

    async def _retire(self, transport: httpx.AsyncBaseTransport) -> None:
        """Use the transport for no further request. The next to retire closes it: some may still be answered."""
        if self._transport is transport:
            former, self._former, self._transport = self._former, transport, None
            if former is not None:
                await former.aclose()

    async def _settled(self) -> httpx.AsyncBaseTransport:
        """Return the transport to the store; hold or join it first if neither is so any longer."""
        if self._transport is not None:
            return self._transport
        if self._settling is None or self._settling.done():
            self._settling = asyncio.create_task(self._settle(), name="settle")
            self._settling.add_done_callback(lambda task: task.cancelled() or task.exception())  # may be nobody's
        return await asyncio.shield(self._settling)

    async def _settle(self) -> httpx.AsyncBaseTransport:
        data_dir, settings = self._path, None
        if data_dir is None:
            data_dir = embedded_data_dir()
        ends_at = time.monotonic() + SETTLE_S
        while not self._stop.is_set():
            transport: httpx.AsyncBaseTransport | None = await _joined(data_dir) if data_dir is not None else None
            if transport is None:
                if settings is None:
                    settings = _settings(self._path)
                try:
                    transport = await self._hold(settings)
                except InUse as error:
                    if time.monotonic() > ends_at:
                        raise StoreUnavailable(
                            f"{error.message} It has not answered within {SETTLE_S:g} s; look at that process."
                        ) from None
            else:
                self._transport = transport
            if transport is not None:
                return transport
            await asyncio.sleep(LOOK_S)
        raise StoreUnavailable("The store is closed; open it again.")

    async def _hold(self, settings: Settings) -> httpx.AsyncBaseTransport:
        """Run the store in a task of its own until the stop, or a service asks for it; return the transport to it."""
        from stratagraph.service.library.holding import held

        if self._holding is not None:
            await asyncio.wait({self._holding})  # it may be letting the directory go
        ready: asyncio.Future[httpx.AsyncBaseTransport] = asyncio.get_running_loop().create_future()
        release = self._release = asyncio.Event()

        async def hold() -> None:
            try:
                async with held(settings, hand_over=release.set) as transport:
                    self._transport = transport
                    ready.set_result(transport)
                    await release.wait()
                    self._transport = None  # further requests are for the next holder
            except Exception as error:
                if not ready.done():
                    ready.set_exception(error)
                    return
                # A part of it has failed: the next request opens the store again.
                if not release.is_set():
                    self._transport = None
                _log.error("the store has stopped by itself", **error_report(error))
            finally:
                ready.cancel()  # where it has no result

        self._holding = asyncio.create_task(hold(), name="hold")
        return await ready

    async def _leave(self) -> None:
        """Stop what this process runs, and disconnect."""
        self._stop.set()
        if self._settling is not None and not self._settling.done():
            with suppress(asyncio.CancelledError, Exception):
                await self._settling  # it holds the directory, and is not interrupted: what it starts must be stopped
        self._release.set()
        if self._holding is not None:
            await asyncio.wait({self._holding})
        for transport in (self._former, self._transport):
            if transport is not None:
                await transport.aclose()


def _settings(path: Path | None) -> Settings:
    from stratagraph.service.settings import Settings
    from stratagraph.store.model.errors import Misconfigured

    if path is None:
        return Settings.load()
    settings = Settings.load(data_dir=path)
    if settings.database_url is not None:
        raise Misconfigured(
            "STRATAGRAPH_DATABASE_URL names a database, and open() a directory, which has a database of its own. Unset"
            " the variable, or call open() without a path."
        )
    return settings


class _Joined(httpx.AsyncHTTPTransport):
    """A transport to the process that holds a directory."""

    def __init__(self, data_dir: Path) -> None:
        self._directory = ExitStack()
        super().__init__(uds=f"{self._directory.enter_context(short(data_dir))}/{NAME}", limits=CONNECTIONS)

    async def aclose(self) -> None:
        await super().aclose()
        self._directory.close()


async def _joined(data_dir: Path) -> _Joined | None:
    """Return a transport to the process that holds `data_dir`; None if none answers now.

    Raises StoreUnavailable where it does not speak HTTP.
    """
    if not (data_dir / NAME).exists():
        return None
    transport = _Joined(data_dir)
    timeout = dict.fromkeys(("connect", "read", "write", "pool"), GREETING_S)
    greeting = httpx.Request("GET", "http://localhost/livez", extensions={"timeout": timeout})
    is_ours = False
    try:
        response = await transport.handle_async_request(greeting)
        await response.aread()
        is_ours = CODES in response.headers
        if not is_ours:
            raise _other_version(data_dir)
    except httpx.RemoteProtocolError as error:
        if "disconnected" not in str(error):
            raise _other_version(data_dir) from error
    except httpx.TransportError:
        pass
    finally:
        if not is_ours:
            await transport.aclose()
    return transport if is_ours else None


def _other_version(data_dir: Path) -> StoreUnavailable:
    return StoreUnavailable(f"The process that holds {data_dir} is of another version than this one; restart it.")
