"""Limits on client connections: how many there are, and how slowly a client may send and read.

Uvicorn closes idle connections, but waits for headers and bodies as long as the client likes, and for as long as it
takes to send an answer. A few slow clients could so hold every connection and the memory behind it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from stratagraph.graphql.artifacts import PATH as ARTIFACTS
from stratagraph.graphql.error_fields import extensions_of
from stratagraph.graphql.limits.client_networks import client_network
from stratagraph.graphql.web.request_ids import HEADER, new_request_id
from stratagraph.service.processes.board import Member
from stratagraph.service.sockets import BoundedSocket
from stratagraph.store.event_log import get_logger

HEADER_BYTES = 64 << 10  # of the request line and the headers of one request
ARTIFACT_FACTOR = 10  # times the body timeout that an artifact has
WRITE_BYTES = 64 << 10  # that a client must read of an answer within the write timeout, while more of it is waiting
LINGER_S = 0.25  # for which a stopping process still answers requests on its idle connections
REPORT_S = 60.0  # seconds between two log events about refused connections
_TOO_LARGE = (b"431 Request Header Fields Too Large", f"The headers are over {HEADER_BYTES} bytes.")
_NOT_HTTP = (b"400 Bad Request", "The request is not HTTP/1.1; send POST /graphql with a JSON body.")
_log = get_logger(__name__)


class _HeadersRefused(Exception):
    """The headers of a request are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The most connections of one process and of one client address, and the timeouts in seconds.

    The addresses of an IPv6 network of 64 bits count as one.
    """

    connections: int = 1_000
    per_address: int = 250
    header_s: float = 10.0
    body_s: float = 30.0
    idle_s: float = 75.0  # longer than common clients keep an idle connection, or they send into a closing one
    write_s: float = 30.0


class Connection(Protocol):
    """A connection as it is counted."""

    def give_way(self) -> None:
        """Close it at once, and leave."""


class OpenConnections:
    """Counts the open connections of one process, and refuses those beyond the limits.

    At a limit, a new connection takes the place of the oldest that has sent no request yet, if there is one: who only
    opens connections keeps no others out. `member` is given where several processes accept from one socket; each then
    knows the counts of the others. While `is_draining` returns True, a connection is closed after its next answer, so
    that a proxy does not send on it when the process ends.
    """

    def __init__(
        self, limits: ConnectionLimits, member: Member | None = None, is_draining: Callable[[], bool] = lambda: False
    ) -> None:
        self.limits = limits
        self._member = member
        self.is_draining = is_draining
        self._total = 0
        self._by_address: Counter[str] = Counter()
        # Those that have sent no request yet, the oldest first: of all addresses, and of each.
        self._silent: dict[Connection, str] = {}
        self._silent_of: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._reported_at = -REPORT_S

    @property
    def total(self) -> int:
        return self._total

    def admit(self, connection: Connection, address: str, now: float) -> bool:
        """Count a new connection; False if it must be refused. `now` is the event loop's time."""
        at_address = self._by_address[address] >= self.limits.per_address
        if at_address or self._total >= self.limits.connections:
            silent = next(iter(self._silent_of.get(address, ()) if at_address else self._silent), None)
            if now >= self._reported_at + REPORT_S:
                self._reported_at = now
                event = "connections refused" if silent is None else "connections without a request closed for others"
                _log.warning(event, open=self._total)
            if silent is None:
                return False
            silent.give_way()
        self._count(1)
        self._by_address[address] += 1
        self._silent[connection] = address
        self._silent_of[address][connection] = None
        return True

    def heard(self, connection: Connection) -> None:
        """Note that an admitted connection has sent a request."""
        address = self._silent.pop(connection, None)
        if address is not None:
            del self._silent_of[address][connection]
            if not self._silent_of[address]:
                del self._silent_of[address]

    def leave(self, connection: Connection, address: str) -> None:
        """Count an admitted connection as closed."""
        self.heard(connection)
        self._count(-1)
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def others_have_fewer(self) -> bool:
        """Return whether another process that accepts from the same socket has fewer connections."""
        return self._member is not None and self._member.others_have_fewer(self._total)

    def _count(self, more: int) -> None:
        self._total += more
        if self._member is not None:
            self._member.board.count_connections(self._member.index, self._total)


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol for HTTP/1.1 with limits. `open_connections` is set by `bounded_protocol`."""

    open_connections: OpenConnections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._admitted: str | None = None  # the address under which the connection counts
        self._timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._unread = 0
        self._refused_headers: tuple[bytes, str] | None = None  # the status and message of headers that are refused
        self._refused_next: tuple[bytes, str] | None = None  # the same, to be sent after the requests before it
        self._is_ending = False
        self._header_bytes: int | None = 0  # received of the headers; None while no headers are expected
        super().connection_made(cast(asyncio.Transport, ClientTransport(cast(asyncio.Transport, transport))))
        address = client_network(self.client[0]) if self.client else ""
        if not self.open_connections.admit(self, address, self.loop.time()):
            self._refuse(b"503 Service Unavailable", "Too many connections; try again shortly.")
            return
        self._admitted = address
        self._arm(self.open_connections.limits.header_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._write_timer is not None:
            self._write_timer.cancel()
        self._leave()
        super().connection_lost(exc)

    def give_way(self) -> None:
        """Close the connection at once, for another one."""
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        if self._admitted is not None:
            self.open_connections.leave(self, self._admitted)
            self._admitted = None

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._refused_next is not None:
            return
        if self._header_bytes is None and self._timer is None:
            # The first bytes of a further request end the idle time, and its headers must arrive in time too.
            self._header_bytes = 0
            self._arm(self.open_connections.limits.header_s)
        if self._header_bytes is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes is not None and self._header_bytes > HEADER_BYTES:
            self._refuse(*_TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._header_bytes = None
        self._disarm()
        self._refused_headers = self._fault_of_headers()
        if self._refused_headers is not None:
            raise _HeadersRefused  # within the parser, which then calls `send_400_response`
        self.open_connections.heard(self)
        super().on_headers_complete()
        if (self._is_ending or self.open_connections.is_draining()) and self.cycle is not None:
            self.cycle.keep_alive = False
        limits, artifact = self.open_connections.limits, self.scope.get("path") == ARTIFACTS
        self._arm(limits.body_s * (ARTIFACT_FACTOR if artifact else 1))

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to the protocol for WebSocket. It counts as open until that has lost it."""
        self._disarm()
        super().handle_websocket_upgrade()
        socket = self.transport.get_protocol()
        assert isinstance(socket, BoundedSocket)
        socket.when_lost = self._leave

    def _fault_of_headers(self) -> tuple[bytes, str] | None:
        """Return the status and message for headers that must be refused; None if there is nothing wrong with them."""
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEADER_BYTES:
            return _TOO_LARGE
        names = dict(self.headers)
        if names.get(b"expect", b"100-continue").lower() != b"100-continue":
            return b"417 Expectation Failed", "The only expectation that is met is 100-continue."
        if self.parser.get_http_version() == "1.1" and b"host" not in names:
            return b"400 Bad Request", "The request has no Host header; send one."
        return None

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._refused_next is not None and not self._is_answering() and not self.transport.is_closing():
            self._refuse(*self._refused_next)

    def _is_answering(self) -> bool:
        """Whether a request has been received whose answer is not complete."""
        return bool(self.pipeline) or (self.cycle is not None and not self.cycle.response_complete)

    def shutdown(self) -> None:
        """Answer what has arrived, and what arrives within LINGER_S, and close the connection.

        A client with a kept connection cannot know that the process stops: its next request is on its way, and would
        be lost if the connection were closed at once.
        """
        self._is_ending = True
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(LINGER_S, self._end_if_idle)
        else:
            self.cycle.keep_alive = False

    def _end_if_idle(self) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and not self._header_bytes:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._too_slow, seconds)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self, seconds: float) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self.flow.read_paused:  # the service has not asked for more, so the client is not to blame
            self._arm(seconds)
        elif self._header_bytes is not None:
            self._refuse(b"408 Request Timeout", f"The headers did not arrive within {seconds:g} s.")
        else:
            self.transport.abort()

    def _watch_reading(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._write_timer = self.loop.call_later(self.open_connections.limits.write_s, self._check_reading)

    def _check_reading(self) -> None:
        if self.transport.get_write_buffer_size() > self._unread - WRITE_BYTES:
            self.transport.abort()
        else:
            self._watch_reading()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP, or has headers that are refused; no application sees it.

        Complete requests before it are answered first, so that no answer is taken for that of another request.
        """
        refused = self._refused_headers or _NOT_HTTP
        if self._is_answering() and not self.cycle.more_body:
            self._disarm()
            self._refused_next = refused
        else:
            self._refuse(*refused)

    def _refuse(self, status: bytes, message: str) -> None:
        """Answer in the form of a GraphQL error and close the connection."""
        self._disarm()
        code = "INVALID_INPUT" if status.startswith(b"4") else "UNAVAILABLE"
        request_id = new_request_id()
        unknown = dict.fromkeys(("method", "route", "operation", "duration_ms", "cost"))
        _log.info("request", request_id=request_id, status=int(status[:3]), codes=[code], **unknown)
        extensions = extensions_of(code, retryable=code == "UNAVAILABLE")
        body = orjson.dumps({"errors": [{"message": message, "extensions": extensions}]})
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n{HEADER}: {request_id}\r\n"
        self.transport.write(b"HTTP/1.1 %s\r\n%sconnection: close\r\n\r\n%s" % (status, head.encode(), body))
        self.transport.close()


def bounded_protocol(connections: OpenConnections) -> type[BoundedProtocol]:
    """Return the protocol class of one server, which counts its connections in `connections`."""
    members: dict[str, Any] = {"open_connections": connections}
    return type("BoundedProtocol", (BoundedProtocol,), members)


class ClientTransport:
    """A transport that sends a write together with the next one, if that follows in the same step of the event loop.

    Uvicorn writes the head and the body of a response one after the other. Each write would be a system call that wakes
    the client, the first of them for a head without a body.

    Once the connection is closed, writing and reading do nothing, as with asyncio's own transports: uvloop's raise an
    error until the protocol is told.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._held: bytes | bytearray | memoryview | None = None  # the write that waits for the next one

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._transport.is_closing():
            self._held = None
        elif self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            held, self._held = self._held, None
            self._transport.writelines([held, data])

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + len(self._held or b"")

    def pause_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        self._held = None
        self._transport.abort()

    def _flush(self) -> None:
        held, self._held = self._held, None
        if held is not None and not self._transport.is_closing():
            self._transport.write(held)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
