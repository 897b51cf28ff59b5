"""The listening socket, and the bounds on open connections."""

from __future__ import annotations

import asyncio
import re
import socket
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from stratagraph.graphql.limits.client_networks import client_network
from stratagraph.service.connections import ConnectionLimits, OpenConnections
from stratagraph.service.listening import listen

ROOT = Path(__file__).resolve().parents[3]
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


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), max_size=60))
def test_admitted_connections_never_exceed_the_bounds_and_none_is_refused_below_them(
    steps: list[tuple[bool, str]],
) -> None:
    bounded = OpenConnections(ConnectionLimits(connections=5, per_address=3))
    held = Counter[str]()
    for opens, address in steps:
        if opens:
            admitted = bounded.admit(address, 0.0)
            assert admitted == (held.total() < 5 and held[address] < 3)
            held[address] += admitted
        elif held[address]:
            bounded.leave(address)
            held[address] -= 1
        assert bounded.total == held.total()


def test_an_ipv6_network_counts_as_one_client() -> None:
    assert (
        client_network("2001:db8:1:2::3") == client_network("2001:db8:1:2:ffff::1") != client_network("2001:db8:1:3::3")
    )
    assert client_network("::ffff:192.0.2.7") == client_network("192.0.2.7") != client_network("192.0.2.8")
    assert client_network("") == ""
