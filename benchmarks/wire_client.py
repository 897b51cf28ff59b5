"""An HTTP client that costs little, in a process of its own: kept connections, requests prepared beforehand.

It speaks HTTP/1.1 on plain sockets, from one thread. A response is accepted if its body begins as the caller expects,
so nothing is decoded; what that costs is measured with the rest, by an empty GraphQL request.
"""

from __future__ import annotations

import selectors
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter, process_time
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

TIMEOUT_S = 300.0  # for which a response is awaited
EMPTY = "{ __typename }"
EMPTY_ANSWER = b'{"data":{"__typename":"Query"}'
_CHUNK = 1 << 18  # bytes received at once


class UnexpectedAnswer(Exception):
    """A response is not what the series of requests expects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Requests to send on `connections` connections, each of which sends the next one once it has its answer."""

    requests: Sequence[bytes]
    connections: int
    expected: bytes  # beginning of the body of each response
    keep: int = 0  # bodies of the last responses to return


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a series took: milliseconds of each request, seconds in all, processor seconds of the client."""

    took_ms: list[float]
    wall_s: float
    client_s: float
    received: int  # bytes
    bodies: list[bytes]


def request(document: str, variables: dict[str, Any] | None = None) -> bytes:
    """Return the bytes of a GraphQL request."""
    body = orjson.dumps({"query": document, "variables": variables or {}})
    head = (
        "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class WireClient:
    """The client's process. Use it with `with`."""

    def __init__(self, url: str) -> None:
        context = get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_work, args=(url, there), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()

    def run(self, series: Series) -> Answered:
        """Send a series on new connections. Raises UnexpectedAnswer."""
        self._here.send(series)
        answered = self._here.recv()
        if isinstance(answered, Answered):
            return answered
        raise UnexpectedAnswer(str(answered))


def _work(url: str, orders: Connection) -> None:
    while True:
        series = orders.recv()
        try:
            orders.send(_run(url, series))
        except (OSError, UnexpectedAnswer) as error:
            orders.send(f"{type(error).__name__}: {error}")


def _run(url: str, series: Series) -> Answered:
    lines = [_Line(url) for _ in range(series.connections)]
    try:
        for line in lines:  # the first request of a connection is not timed
            line.send(request(EMPTY))
            line.await_answer(EMPTY_ANSWER)
        return _converse(lines, series)
    finally:
        for line in lines:
            line.close()


def _converse(lines: Sequence[_Line], series: Series) -> Answered:
    upcoming: Iterator[bytes] = iter(series.requests)
    took_ms: list[float] = []
    received = 0
    bodies: deque[bytes] = deque(maxlen=series.keep)
    with selectors.DefaultSelector() as ready:
        began, own = perf_counter(), process_time()
        for line in lines:
            following = next(upcoming, None)
            if following is not None:
                ready.register(line.socket, selectors.EVENT_READ, line)
                line.send(following)
        while ready.get_map():
            events = ready.select(TIMEOUT_S)
            if not events:
                raise UnexpectedAnswer(f"no response within {TIMEOUT_S:.0f} s")
            for key, _ in events:
                line = key.data
                if not line.receive(series.expected):
                    continue
                took_ms.append((perf_counter() - line.sent_at) * 1_000)
                received += len(line.body)
                bodies.append(line.body)
                following = next(upcoming, None)
                if following is None:
                    ready.unregister(line.socket)
                else:
                    line.send(following)
        wall_s, client_s = perf_counter() - began, process_time() - own
    return Answered(took_ms=took_ms, wall_s=wall_s, client_s=client_s, received=received, bodies=list(bodies))


@dataclass
class _Line:
    """One kept connection."""

    url: str
    sent_at: float = 0.0
    body: bytes = b""
    _buffer: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        where = urlsplit(self.url)
        self.socket = socket.create_connection((where.hostname, where.port), timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data: bytes) -> None:
        self._buffer.clear()
        self.sent_at = perf_counter()
        self.socket.sendall(data)

    def receive(self, expected: bytes) -> bool:
        """Read what has arrived; return whether the response is complete. Raises UnexpectedAnswer."""
        more = self.socket.recv(_CHUNK)
        if not more:
            raise UnexpectedAnswer("the service closed the connection")
        self._buffer += more
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        at = head.find(b"content-length:")
        if at < 0:
            raise UnexpectedAnswer("a response has no Content-Length")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        if len(self._buffer) < end + 4 + length:
            return False
        self.body = bytes(self._buffer[end + 4 :])
        if not self.body.startswith(expected):
            raise UnexpectedAnswer(f"{head[:40].decode()} {self.body[:400].decode(errors='replace')}")
        return True

    def await_answer(self, expected: bytes) -> None:
        while not self.receive(expected):
            pass

    def close(self) -> None:
        self.socket.close()
