"""The listening socket, and the bounds on open connections."""

from __future__ import annotations

import asyncio
import re
import socket

from checkout import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.graphql.limits.client_networks import client_network
from stratagraph.service.connections import ConnectionLimits, OpenConnections
from stratagraph.service.listening import listen

CLIENTS_KEEP_S = 60.0  # the most for which common clients and proxies keep an idle connection by default


def test_the_service_keeps_idle_connections_longer_than_clients_and_the_proxy_do() -> None:
    """Otherwise a request is sent into a connection that is just being closed, and is lost."""
    idle_s = ConnectionLimits().idle_s
    upstream = re.search(r"upstream .*?keepalive_timeout (\d+)s;", (ROOT / "deploy/nginx.conf").read_text(), re.DOTALL)
    assert upstream is not None
    assert idle_s > max(float(upstream[1]), CLIENTS_KEEP_S)


async def test_accepted_connections_do_not_delay_small_segments() -> None:
    """Otherwise each request but the first of a kept connection takes 40 ms longer (Nagle's algorithm)."""
    delays: asyncio.Queue[int] = asyncio.Queue()

    async def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        await delays.put(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listen("127.0.0.1", 0, "PORT") as listener:
        port = listener.getsockname()[1]
        async with await asyncio.start_server(accepted, sock=listener):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await delays.get() == 1
            writer.close()
            await writer.wait_closed()


class Opened:
    """A connection of the model, which leaves when it gives way."""

    def __init__(self, bounded: OpenConnections, held: list[Opened], address: str) -> None:
        self.bounded, self.held, self.address, self.is_silent = bounded, held, address, True

    def give_way(self) -> None:
        assert self.is_silent
        self.held.remove(self)
        self.bounded.leave(self, self.address)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["open", "open", "ask", "close"]), st.sampled_from("abc")), max_size=60))
def test_connections_keep_to_the_bounds_and_those_without_a_request_give_way(steps: list[tuple[str, str]]) -> None:
    bounded = OpenConnections(ConnectionLimits(connections=5, per_address=3))
    held: list[Opened] = []
    for step, address in steps:
        own = [one for one in held if one.address == address]
        if step == "open":
            new = Opened(bounded, held, address)
            in_the_way = own if len(own) == 3 else held if len(held) == 5 else None
            goes = next((one for one in in_the_way or () if one.is_silent), None)
            admitted = bounded.admit(new, address, 0.0)
            assert admitted == (in_the_way is None or goes is not None)
            assert goes not in held
            held += [new] if admitted else []
        elif step == "ask" and own:
            own[-1].is_silent = False
            bounded.heard(own[-1])
        elif step == "close" and own:
            held.remove(own[0])
            bounded.leave(own[0], address)
        assert bounded.total == len(held)
        assert len(held) <= 5
        assert all(sum(one.address == name for one in held) <= 3 for name in "abc")


def test_an_ipv6_network_counts_as_one_client() -> None:
    assert (
        client_network("2001:db8:1:2::3") == client_network("2001:db8:1:2:ffff::1") != client_network("2001:db8:1:3::3")
    )
    assert client_network("::ffff:192.0.2.7") == client_network("192.0.2.7") != client_network("192.0.2.8")
    assert client_network("") == ""
