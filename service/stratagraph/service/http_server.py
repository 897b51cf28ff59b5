"""The HTTP server of one process: Uvicorn's, on a socket that several processes may share.

Uvicorn accepts as many connections at once as are waiting, so that of two processes on one socket the one that wakes
first would take them all. Here a process accepts one at a time, and lets a process with fewer connections go first.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from stratagraph.service.connections import OpenConnections, bounded_protocol
from stratagraph.service.listening import BACKLOG
from stratagraph.service.sockets import MESSAGE_BYTES, BoundedSocket
from stratagraph.store.event_log import get_logger

GRACE_S = 20  # requests under way may take this long to finish after a stop is asked for
DATE_S = 1.0  # how often the Date header is renewed
TURN_S = 0.005  # for which a process with more connections leaves a new one to the others
EXHAUSTED_S = 1.0  # pause after a connection could not be accepted, as when file descriptors have run out
_log = get_logger(__name__)


async def serve_http(
    application: ASGIApp,
    listener: socket.socket,
    connections: OpenConnections,
    stop: asyncio.Event,
    on_started: Callable[[], None],
) -> None:
    """Answer requests until `stop` is set, and then finish those under way.

    `on_started` is called once connections are accepted. A server that ends by itself sets
    `stop`, so that it takes the service with it.
    """
    config = uvicorn.Config(
        application,
        http=bounded_protocol(connections),
        ws=BoundedSocket,
        ws_max_size=MESSAGE_BYTES,
        ws_per_message_deflate=False,  # messages are small, and each connection would hold a window
        timeout_keep_alive=math.ceil(connections.limits.idle_s),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
        lifespan="off",
    )
    try:
        await _Server(config, listener, connections, stop, on_started).serve(sockets=[])
    finally:
        stop.set()


class _Server(uvicorn.Server):
    """Uvicorn without its own signal handlers and sockets: the process has one place where it is told to stop."""

    def __init__(
        self,
        config: uvicorn.Config,
        listener: socket.socket,
        connections: OpenConnections,
        stop: asyncio.Event,
        on_started: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._listener = listener
        self._connections = connections
        self._stop = stop
        self._on_started = on_started
        self._accepting: asyncio.Task[None] | None = None
        self._connecting: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listener.setblocking(False)
        self._listener.listen(BACKLOG)
        self._accepting = asyncio.create_task(self._accept_all(), name="accept")
        self._accepting.add_done_callback(self._accepting_ended)
        self._on_started()

    async def main_loop(self) -> None:
        """Wait until the stop, instead of looking ten times a second."""
        while not self._stop.is_set():
            await self.on_tick(0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DATE_S):
                    await self._stop.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait({self._accepting})
        if self._connecting is not None:
            await asyncio.wait({self._connecting})
        # A connection that waits would be reset when the last process closes the socket: its requests are answered.
        while (accepted := self._accept_waiting()) is not None:
            await self._connect(accepted)
        self._listener.close()
        await super().shutdown(sockets)

    async def _accept_all(self) -> None:
        while True:
            await self._until_one_waits()
            if self._connections.others_have_fewer():
                await asyncio.sleep(TURN_S)
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                continue  # another process was first, or the client has gone
            except OSError as error:
                _log.error("connection not accepted", error=type(error).__name__, errno=error.errno)
                await asyncio.sleep(EXHAUSTED_S)
                continue
            # At a stop, a connection that is half made would be closed with the request that it has sent.
            self._connecting = asyncio.create_task(self._connect(accepted), name="connect")
            await asyncio.shield(self._connecting)

    def _accept_waiting(self) -> socket.socket | None:
        """Accept the next connection that waits; None if there is none."""
        while True:
            try:
                return self._listener.accept()[0]
            except ConnectionAbortedError:
                continue  # the client has gone
            except OSError:
                return None

    def _accepting_ended(self, task: asyncio.Task[None]) -> None:
        """End the process, so that another takes its place, if it accepts no connections any longer."""
        if not task.cancelled():
            _log.error("no connections are accepted any longer", error=type(task.exception()).__name__)
            self._stop.set()

    async def _until_one_waits(self) -> None:
        loop, waits = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._listener, waits.set)
        try:
            await waits.wait()
        finally:
            loop.remove_reader(self._listener)

    async def _connect(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, accepted)
        except OSError:  # the client has gone
            accepted.close()

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made
