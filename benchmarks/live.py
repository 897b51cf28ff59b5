"""Measure subscriptions: the time from a write to its events, and what is missed or doubled through kills.

The first part follows a steady rate of writes with many subscribers, half of them over WebSocket and half over
server-sent events, on plain sockets, so that the client costs little. The second kills the service with SIGKILL and
breaks off subscribers at random moments; each goes on from its last position. It prints one JSON document.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Any
from urllib.request import urlopen

import psutil
import typer
import uvloop

from stratagraph.service.embedded_postgres import EmbeddedPostgres

P95_MS = 200.0
READY_S = 120.0
DRAIN_S = 20.0  # for the last events
WRITERS = 16  # connections
DOCUMENT = "subscription($after: String) { changed(after: $after) { position kind recordId record { name } } }"
CAPTURE = (
    "mutation($i: CaptureMemoryInput!) { captureMemory(input: $i) { __typename"
    " ... on CaptureMemorySuccess { primaryRecord { id } } } }"
)
_NAME = re.compile(rb'"name":"live (\d+)\."')
_EVENT = re.compile(rb'"position":"([^"]+)","kind":"(\w+)","recordId":"([^"]+)"')


def main(
    rate: Annotated[float, typer.Option(help="Writes a second.")] = 200.0,
    subscribers: Annotated[int, typer.Option(help="Subscribers, each of which follows every change.")] = 100,
    seconds: Annotated[float, typer.Option(help="Seconds for which the rate is kept.")] = 20.0,
    reconnects: Annotated[int, typer.Option(help="Times that subscribers are broken off.")] = 1_000,
    kills: Annotated[int, typer.Option(help="Times that the service is killed.")] = 10,
    workers: Annotated[int, typer.Option(help="Worker processes of the service.")] = 2,
) -> None:
    """Print latencies in milliseconds, and what was missed and doubled."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        postgres = stack.enter_context(EmbeddedPostgres(Path(directory) / "postgres").running())
        service = _Service(postgres, Path(directory), workers)
        stack.callback(service.kill)
        service.start()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            steady = runner.run(_measure_latency(service, rate, subscribers, seconds))
            broken = runner.run(_break_off(service, reconnects, kills))
    ok = steady["p95_ms"] <= P95_MS and not any(one[what] for one in (steady, broken) for what in ("missed", "doubled"))
    about = {"cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "workers": workers}
    typer.echo(json.dumps({"machine": about, "steady": steady, "broken": broken, "ok": ok}, indent=2))
    raise typer.Exit(0 if ok else 1)


class _Service:
    """A service on one port and one database, which may be killed and started again."""

    def __init__(self, database_url: str, directory: Path, workers: int) -> None:
        self._postgres = int((directory / "postgres" / "postgres" / "postmaster.pid").read_text().split()[0])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STRATAGRAPH_")}
        settings = {
            "database_url": database_url,
            "data_dir": str(directory / "data"),
            "master_key": base64.b64encode(bytes(32)).decode(),
            "single_user": "on",
            "embedder": "off",
            "port": str(self.port),
            "workers": str(workers),
            "rate": "1000000",
            "burst": "1000000",
            "log_level": "warning",
        }
        self._environment = kept | {f"STRATAGRAPH_{name.upper()}": value for name, value in settings.items()}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [str(Path(sys.executable).parent / "stratagraph"), "serve", "--only", "api"]
        self._process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.DEVNULL, start_new_session=True
        )
        deadline = time.monotonic() + READY_S
        while True:
            with suppress(OSError), urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5):
                return
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError("the service does not start")
            time.sleep(0.1)

    def used(self) -> dict[str, float]:
        """Return the processor seconds used so far by the service, by Postgres, and by this client."""
        assert self._process is not None
        service = psutil.Process(self._process.pid)
        postgres = [psutil.Process(self._postgres), *psutil.Process(self._postgres).children(recursive=True)]
        parts = {
            "service": [service, *service.children(recursive=True)],
            "postgres": postgres,
            "client": [psutil.Process()],
        }
        return {name: sum(_processor_seconds(one) for one in processes) for name, processes in parts.items()}

    def kill(self) -> None:
        """Kill the service with all its processes."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _processor_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


# The protocols, by hand -----------------------------------------------------------------------------------------------


def _post(document: str, variables: dict[str, Any], accept: str) -> bytes:
    body = json.dumps({"query": document, "variables": variables}).encode()
    head = (
        "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: {accept}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _frame(opcode: int, payload: bytes) -> bytes:
    """Return a frame of a client, whose mask is zero."""
    size = len(payload)
    head = bytes([0x80 | opcode, 0x80 | size]) if size < 126 else bytes([0x80 | opcode, 0xFE]) + size.to_bytes(2)
    return head + bytes(4) + payload


_UPGRADE = (
    b"GET /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
)


async def _connected(port: int, *, by_socket: bool, after: str | None) -> tuple[asyncio.StreamReader, Any]:
    """Open a subscription, and return where its events are read."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    if not by_socket:
        writer.write(_post(DOCUMENT, {"after": after}, "text/event-stream"))
        return reader, writer
    writer.write(_UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    subscribe = {"type": "subscribe", "id": "1", "payload": {"query": DOCUMENT, "variables": {"after": after}}}
    for message in ({"type": "connection_init"}, subscribe):
        writer.write(_frame(1, json.dumps(message).encode()))
    return reader, writer


async def _texts(reader: asyncio.StreamReader, writer: Any, *, by_socket: bool) -> Any:
    """Yield what is received, in pieces that end with a whole event; pings of the WebSocket are answered."""
    if not by_socket:
        left = b""
        while piece := await reader.read(1 << 20):
            whole, found, left = (left + piece).rpartition(b"\n\n")
            if found:
                yield whole
        return
    buffer = b""
    while piece := await reader.read(1 << 20):
        buffer += piece
        place, texts = 0, []
        while len(buffer) >= place + 2:
            size, head = buffer[place + 1] & 127, 2
            if size == 126:
                if len(buffer) < place + 4:
                    break
                size, head = int.from_bytes(buffer[place + 2 : place + 4]), 4
            if len(buffer) < place + head + size:
                break
            payload = buffer[place + head : place + head + size]
            if buffer[place] & 15 == 9:
                writer.write(_frame(10, payload))
            else:
                texts.append(payload)
            place += head + size
        buffer = buffer[place:]
        if texts:
            yield b"\n".join(texts)


# The steady part ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Steady:
    sent_at: list[float] = field(default_factory=list)
    answered_at: dict[int, float] = field(default_factory=dict)
    lags: list[float] = field(default_factory=list)  # seconds, from the sending of a write to each of its events
    after_answer: list[float] = field(default_factory=list)
    received: list[Counter[int]] = field(default_factory=list)


async def _measure_latency(service: _Service, rate: float, subscribers: int, seconds: float) -> dict[str, Any]:
    steady = _Steady()
    followers = []
    for number in range(subscribers):
        counts: Counter[int] = Counter()
        steady.received.append(counts)
        followers.append(asyncio.create_task(_listen(service.port, steady, counts, by_socket=number % 2 == 0)))
    await asyncio.sleep(2)  # until all have subscribed
    total, used = int(rate * seconds), service.used()
    began = time.monotonic()
    queue: asyncio.Queue[int] = asyncio.Queue()
    writers = [asyncio.create_task(_write(service.port, steady, queue)) for _ in range(WRITERS)]
    for number in range(total):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        steady.sent_at.append(time.monotonic())
        queue.put_nowait(number)
    await queue.join()
    wrote_s = time.monotonic() - began
    deadline = time.monotonic() + DRAIN_S
    while time.monotonic() < deadline and any(len(counts) < total for counts in steady.received):  # noqa: ASYNC110 - the service says nothing at the end
        await asyncio.sleep(0.05)
    spent = {name: round(seconds - used[name], 1) for name, seconds in service.used().items()}
    for task in (*writers, *followers):
        task.cancel()
    await asyncio.gather(*writers, *followers, return_exceptions=True)
    missed = sum(total - len(counts) for counts in steady.received)
    doubled = sum(times - 1 for counts in steady.received for times in counts.values())
    return {
        "writes": total,
        "writes_per_second": round(total / wrote_s, 1),
        "subscribers": subscribers,
        "events": len(steady.lags),
        **_spread(steady.lags),
        "after_answer": _spread(steady.after_answer),
        "processor_seconds": spent,
        "missed": missed,
        "doubled": doubled,
    }


def _spread(lags: Sequence[float]) -> dict[str, float]:
    cuts = quantiles(lags, n=100) if len(lags) > 1 else [0.0] * 99
    return {f"p{cut}_ms": round(1_000 * cuts[cut - 1], 1) for cut in (50, 95, 99)}


async def _listen(port: int, steady: _Steady, counts: Counter[int], *, by_socket: bool) -> None:
    reader, writer = await _connected(port, by_socket=by_socket, after=None)
    async for text in _texts(reader, writer, by_socket=by_socket):
        now = time.monotonic()
        for found in _NAME.finditer(text):
            number = int(found[1])
            counts[number] += 1
            steady.lags.append(now - steady.sent_at[number])
            steady.after_answer.append(now - steady.answered_at.get(number, now))


async def _write(port: int, steady: _Steady, queue: asyncio.Queue[int]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while True:
        number = await queue.get()
        writer.write(_post(CAPTURE, _capture(f"live {number}."), "application/json"))
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        assert found is not None
        body = await reader.readexactly(int(found[1]))
        assert b"CaptureMemorySuccess" in body, body
        steady.answered_at[number] = time.monotonic()
        queue.task_done()


def _capture(name: str) -> dict[str, Any]:
    content = {"event_kind": "note", "text": name}
    return {"i": {"source": "bench", "sourceKind": "EVENT", "content": content, "summary": name}}


# The broken part ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Follower:
    """A subscriber that keeps its position and what it was told, and nothing else."""

    by_socket: bool
    position: str
    told: list[str] = field(default_factory=list)
    task: asyncio.Task[None] | None = None
    connects: int = 0

    async def follow(self, port: int) -> None:
        """Follow until broken off; connect again at once when the service is down."""
        while True:
            with suppress(OSError, asyncio.IncompleteReadError):
                self.connects += 1
                reader, writer = await _connected(port, by_socket=self.by_socket, after=self.position)
                try:
                    async for text in _texts(reader, writer, by_socket=self.by_socket):
                        for found in _EVENT.finditer(text):
                            self.position = found[1].decode()
                            if found[2] == b"CREATED":
                                self.told.append(found[3].decode())
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.05)


async def _break_off(service: _Service, reconnects: int, kills: int) -> dict[str, Any]:
    rng = random.Random(1)
    position = _asked(service.port, "{ changes { pageInfo { endCursor } } }")["changes"]["pageInfo"]["endCursor"]
    followers = [_Follower(by_socket=number % 2 == 0, position=position) for number in range(20)]
    stopping = asyncio.Event()
    written: list[str] = []
    writing = asyncio.create_task(_keep_writing(service.port, written, stopping))
    for one in followers:
        one.task = asyncio.create_task(one.follow(service.port))
    kill_at = set(rng.sample(range(1, reconnects), kills))
    for number in range(reconnects):
        await asyncio.sleep(rng.random() * 0.04)
        one = rng.choice(followers)
        assert one.task is not None
        one.task.cancel()
        await asyncio.gather(one.task, return_exceptions=True)
        one.task = asyncio.create_task(one.follow(service.port))
        if number in kill_at:
            service.kill()
            await asyncio.to_thread(service.start)
    stopping.set()
    await writing
    expected = _all_created(service.port)
    deadline = time.monotonic() + DRAIN_S
    while time.monotonic() < deadline and any(len(set(one.told)) < len(expected) for one in followers):  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.05)
    for one in followers:
        assert one.task is not None
        one.task.cancel()
        await asyncio.gather(one.task, return_exceptions=True)
    lost = len(set(written) - set(expected))  # acknowledged, and not in the log
    return {
        "reconnects": reconnects,
        "kills": kills,
        "followers": len(followers),
        "connections": sum(one.connects for one in followers),
        "acknowledged": len(written),
        "records": len(expected),
        "missed": lost + sum(len(set(expected) - set(one.told)) for one in followers),
        "doubled": sum(len(one.told) - len(set(one.told)) for one in followers),
        "unexpected": sum(len(set(one.told) - set(expected)) for one in followers),
    }


async def _keep_writing(port: int, written: list[str], stopping: asyncio.Event) -> None:
    """Write one record after the other; while the service is down, try again."""
    number = 0
    while not stopping.is_set():
        number += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                while not stopping.is_set():
                    number += 1
                    writer.write(_post(CAPTURE, _capture(f"broken {number}."), "application/json"))
                    head = await reader.readuntil(b"\r\n\r\n")
                    found = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                    body = json.loads(await reader.readexactly(int(found[1]) if found is not None else 0))
                    if "errors" not in body:
                        written.append(body["data"]["captureMemory"]["primaryRecord"]["id"])
            finally:
                writer.transport.abort()
        await asyncio.sleep(0.05)


def _all_created(port: int) -> list[str]:
    """Return the ids of all records of this part that queries list."""
    document = (
        "query($after: String) { records(first: 100, after: $after) {"
        " nodes { id name } pageInfo { hasNextPage endCursor } } }"
    )
    found: list[str] = []
    cursor = None
    while True:
        page = _asked(port, document, after=cursor)["records"]
        found += [one["id"] for one in page["nodes"] if one["name"].startswith("broken ")]
        cursor = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"] or not any(one["name"].startswith("broken ") for one in page["nodes"]):
            return found


def _asked(port: int, document: str, **variables: Any) -> Any:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        request = _post(document, variables, "application/json").replace(b"Accept", b"Connection: close\r\nAccept", 1)
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    return json.loads(answer.partition(b"\r\n\r\n")[2])["data"]


if __name__ == "__main__":
    typer.run(main)
