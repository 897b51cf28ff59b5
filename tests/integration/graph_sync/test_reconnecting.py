"""The mirror is found behind a name that comes to mean another address.

The name server is replaced at `socket.getaddrinfo`, which the driver calls for each new connection; two relays on two
addresses of the loopback network stand for the old and the new place of the server.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from fix_memory import Memory
from fix_mirror import MirroredMemory
from fix_neo4j import BoltProxy

from stratagraph.graph_sync import mirror as mirror_module
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.store.model.errors import MirrorUnavailable

pytestmark = pytest.mark.neo4j

NAME = "mirror.example"


@dataclass
class NameServer:
    """Answers for NAME with `address`, or with `error` if it is set."""

    address: str
    error: int | None = None
    asked: int = 0
    resolve: Any = field(default=socket.getaddrinfo)

    def getaddrinfo(self, host: Any, *arguments: Any, **options: Any) -> Any:
        if host != NAME:
            return self.resolve(host, *arguments, **options)
        self.asked += 1
        if self.error is not None:
            raise socket.gaierror(self.error, "the name server failed")
        return self.resolve(self.address, *arguments, **options)


@dataclass
class Moving:
    """A mirror behind NAME, with a relay at the old address and one at the new."""

    mirrored: MirroredMemory
    old: BoltProxy
    new: BoltProxy
    names: NameServer


@pytest.fixture
async def moving(memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Moving]:
    monkeypatch.setattr(mirror_module, "CONNECTION_LIFETIME_S", 0.05)
    names = NameServer("127.0.0.1")
    monkeypatch.setattr(socket, "getaddrinfo", names.getaddrinfo)
    async with (
        BoltProxy(clean_neo4j) as old,
        BoltProxy(clean_neo4j, host="127.0.0.2", port=old.port) as new,
        Mirror(f"bolt://{NAME}:{old.port}", user=None, password=None, database="neo4j") as mirror,
    ):
        mirrored = MirroredMemory(memory, mirror)
        await memory.turn("before the move")
        await mirrored.sync()
        assert old.connections > 0
        assert new.connections == 0
        yield Moving(mirrored, old, new, names)
        await mirrored.worker.release()


async def test_a_name_that_means_another_address_is_followed_while_the_old_one_still_answers(moving: Moving) -> None:
    moving.names.address = "127.0.0.2"
    before = moving.old.connections
    await moving.mirrored.memory.turn("after the move")
    await moving.mirrored.sync()
    assert moving.new.connections > 0
    assert moving.old.connections == before
    assert await moving.mirrored.mirror_is_equal()


async def test_a_name_that_means_another_address_is_followed_after_the_old_one_went_away(moving: Moving) -> None:
    await moving.old.shut()
    await moving.mirrored.memory.turn("after the move")
    with pytest.raises(MirrorUnavailable):
        await moving.mirrored.start_afresh()
    moving.names.address = "127.0.0.2"
    await moving.mirrored.start_afresh()
    assert moving.new.connections > 0
    assert await moving.mirrored.mirror_is_equal()


@pytest.mark.parametrize("error", [socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_NONAME])
async def test_a_name_server_that_fails_counts_as_an_outage(moving: Moving, error: int) -> None:
    moving.names.error = error
    await moving.old.shut()
    with pytest.raises(MirrorUnavailable, match="cannot be reached"):
        await moving.mirrored.mirror.ping()
