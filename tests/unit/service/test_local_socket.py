"""A command reaches a running service however many others do so at once, and what cannot be sent is said."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from stratagraph.service import local_socket
from stratagraph.service.local_socket import CODES, bind, send
from stratagraph.store.model.errors import InvalidInput

REQUEST: dict[str, Any] = {"query": "{ health { ok } }", "variables": {}, "operationName": None}
ANSWER: dict[str, Any] = {"answer": {"data": None}, "codes": []}


@pytest.fixture
def accepting(tmp_path: Path) -> Iterator[Event]:
    """A service on `tmp_path` with room for one waiting command, which answers each once the event is set."""
    bound, begins, stops = bind(tmp_path), Event(), Event()
    assert bound is not None
    bound.listen(0)
    bound.settimeout(0.1)

    def serve() -> None:
        begins.wait()
        while not stops.is_set():
            try:
                connection, _ = bound.accept()
            except TimeoutError:
                continue
            with connection:
                connection.recv(1 << 16)
                body = json.dumps(ANSWER["answer"])
                connection.sendall(
                    f"HTTP/1.1 200 OK\r\n{CODES}: \r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
                )

    thread = Thread(target=serve)
    thread.start()
    yield begins
    stops.set()
    begins.set()
    thread.join()
    bound.close()


def test_commands_wait_for_a_service_that_is_busy(
    accepting: Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = Event()

    def connects(connection: socket.socket, address: str) -> bool:
        done = connect(connection, address)
        if not done:
            refused.set()
        return done

    connect = local_socket._connects
    monkeypatch.setattr(local_socket, "_connects", connects)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(send, tmp_path, REQUEST, tenant="default") for _ in range(8)]
        assert refused.wait(10)
        accepting.set()
        assert [one.result(30) for one in answers] == [ANSWER] * 8


def test_without_a_service_there_is_no_answer(tmp_path: Path) -> None:
    assert send(tmp_path, REQUEST, tenant="default") is None


def test_variables_that_are_too_deep_or_no_text_are_refused(tmp_path: Path) -> None:
    deep: object = None
    for _ in range(1_000):
        deep = [deep]
    for given in (REQUEST | {"variables": {"x": deep}}, REQUEST | {"query": "\ud800"}):
        with pytest.raises(InvalidInput, match="cannot be sent"):
            send(tmp_path, given, tenant="default")
