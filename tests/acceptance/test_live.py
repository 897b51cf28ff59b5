"""Changes as they come, over WebSocket and server-sent events, from a real service."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from fix_live import (
    CHANGED,
    PAGE,
    PROTOCOL,
    Stream,
    note,
    peers,
    position_of,
    socket,
    stream,
)
from fix_memory import until
from fix_service import Client, Service, run_command, running
from websockets.exceptions import InvalidStatus

__all__ = ["peers"]  # a fixture

LIVE = "stratagraph.graphql.live"
QUICK = json.dumps(
    {
        f"{LIVE}.event_stream:HEARTBEAT_S": 0.2,
        f"{LIVE}.socket:HEARTBEAT_S": 0.2,
        f"{LIVE}.socket:INIT_S": 5.0,
        f"{LIVE}.sessions:RECHECK_S": 0.3,
        f"{LIVE}.socket:MAX_OPERATIONS": 3,
    }
)


@pytest.fixture
def quick(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """A single-user service whose heartbeats and checks are quick."""
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    with running(constants=QUICK, **given) as started:
        yield started


async def key_of(service: Service, name: str, *more: str) -> tuple[str, str]:
    """Make an API key; return its id and its token."""
    made, out, err = await run_command(
        *("token", "create", name, "--tenant", "acme", "--scope", "*", "--json", *more), env=service.environment
    )
    assert made == 0, err
    found = json.loads(out)
    return found["id"], found["token"]


async def test_both_transports_send_what_is_written_and_go_on_from_any_position(client: Client) -> None:
    begin = await position_of(client)
    ids = [await note(client, f"note {number}") for number in range(5)]
    async with socket(client.url) as ws, stream(client.url, after=begin) as sse:
        await ws.begin()
        await ws.subscribe(after=begin)
        over_ws = [await ws.change() for _ in ids]
        over_sse = [await sse.change() for _ in ids]
        assert [change["recordId"] for change in over_ws] == [change["recordId"] for change in over_sse] == ids
        assert {change["kind"] for change in over_ws} == {"CREATED"}
        ids.append(await note(client, "while they listen"))
        assert (await ws.change())["recordId"] == (await sse.change())["recordId"] == ids[-1]
    for number, change in enumerate(over_ws):
        async with stream(client.url, last=change["position"], after=begin) as again:  # the header counts
            assert (await again.change())["recordId"] == ids[number + 1]
        page = (await client.data(PAGE, after=over_sse[number]["position"], first=500))["changes"]
        assert [one["recordId"] for one in page["nodes"]] == ids[number + 1 :]
        assert not page["pageInfo"]["hasNextPage"]


async def test_a_stream_without_a_position_begins_now(client: Client) -> None:
    await note(client, "before")
    async with socket(client.url) as ws:
        await ws.begin()
        await ws.subscribe()
        first = await _next_of(client, ws)
        assert first["record"]["name"].startswith("after")


async def _next_of(client: Client, ws: Any) -> Any:
    """Write until the subscription, which begins at some time, sends a change."""
    receiving = asyncio.ensure_future(ws.change())
    number = 0
    while not receiving.done():
        await note(client, f"after {number}")
        number += 1
    return receiving.result()


async def test_a_get_serves_a_browsers_event_source(client: Client) -> None:
    begin = await position_of(client)
    id_ = await note(client, "for a page")
    parameters = {"query": CHANGED, "variables": json.dumps({"after": begin})}
    headers = {"Accept": "text/event-stream"}
    async with client.http.stream("GET", f"{client.url}/graphql", params=parameters, headers=headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                assert json.loads(line.removeprefix("data: "))["data"]["changed"]["recordId"] == id_
                break
    write = {"query": f'mutation {{ deleteRecord(input: {{recordId: "{id_}", rationale: "x"}}) {{ __typename }} }}'}
    refused = await client.http.get(f"{client.url}/graphql", params=write, headers=headers)
    assert "send a mutation by POST" in refused.text
    assert "__typename" not in refused.text
    foreign = await client.http.get(
        f"{client.url}/graphql", params=parameters, headers=headers | {"Origin": "http://evil.example"}
    )
    assert (foreign.status_code, foreign.json()["errors"][0]["extensions"]["code"]) == (403, "FORBIDDEN")
    plain = await client.http.get(f"{client.url}/graphql", params=parameters, headers={"Accept": "application/json"})
    assert "data" not in plain.json()
    assert "text/event-stream" in plain.json()["errors"][0]["message"]


async def test_wrong_requests_are_answered_with_what_to_do(client: Client) -> None:
    answer = await client("subscription { changed { kind } }")
    assert "text/event-stream" in answer["errors"][0]["message"]
    assert answer["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
    for variables, path in (
        ({"after": "x"}, ["after"]),
        ({"filter": {"ids": ["x"]}}, ["filter", "ids"]),
        ({"filter": {"tags": ["t"] * 2 + [str(number) for number in range(101)]}}, ["filter", "tags"]),
    ):
        async with stream(client.url, **variables) as sse:
            event = await sse.event()
            assert event is not None
            assert event.data is not None
            extensions = event.data["errors"][0]["extensions"]
            assert (extensions["code"], extensions["retryable"], extensions["path"]) == ("INVALID_INPUT", False, path)
            last = await sse.event()
            assert last is not None
            assert last.name == "complete"
            assert await sse.event() is None
    async with socket(client.url) as ws:
        await ws.begin()
        for number, document in enumerate(("subscription { nope }", "{ nope }", "subscription {", "mutation M { x }")):
            await ws.subscribe(str(number), document)
            message = await ws.receive()
            assert (message["type"], message["id"]) == ("error", str(number))
            assert message["payload"][0]["extensions"]["code"] == "INVALID_INPUT"
        await ws.subscribe("q", "{ health { ok } }")
        assert (await ws.receive())["payload"]["data"] == {"health": {"ok": True}}
        assert await ws.receive() == {"type": "complete", "id": "q"}


async def test_a_filter_leaves_out_and_adds_nothing(client: Client) -> None:
    begin = await position_of(client)
    turn = {"source": "test", "sourceKind": "AGENT_TURN", "content": {"role": "user", "text": "hi", "thread_id": "t"}}
    await client.data(
        "mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename } }", input=turn
    )
    tagged = await note(client, "tagged", tags=["red", "big"])
    other = await note(client, "other", tags=["red"])
    every = (await client.data(PAGE, after=begin, first=500))["changes"]["nodes"]
    for wanted, expected in (
        ({"tags": ["red", "big"]}, {tagged}),
        ({"tags": ["red"]}, {tagged, other}),
        ({"ids": [other]}, {other}),
        ({"kinds": ["GONE"]}, set()),
        ({"types": ["SEMANTIC"]}, set()),
        ({"scopes": ["project:x"]}, set()),
    ):
        found = (await client.data(PAGE, after=begin, first=500, filter=wanted))["changes"]["nodes"]
        assert {one["recordId"] for one in found} == expected, wanted
    of_thread = (await client.data(PAGE, after=begin, first=500, filter={"threadId": "t"}))["changes"]["nodes"]
    rest = {one["recordId"] for one in every} - {tagged, other}
    assert {one["recordId"] for one in of_thread} == rest
    assert rest


async def test_connections_that_break_the_protocol_are_closed(quick: Service) -> None:
    assert quick.url is not None
    async with socket(quick.url) as silent:
        await check_closings(quick.url)
        assert (await silent.closed())[0] == 4408  # no connection_init in time


async def check_closings(url: str) -> None:
    """Break the protocol in all other ways."""
    wrong: list[tuple[list[dict[str, Any]], int]] = [
        ([{"type": "subscribe", "id": "1", "payload": {"query": "{ health { ok } }"}}], 4401),
        ([{"type": "connection_init"}, {"type": "connection_init"}], 4429),
        ([{"type": "connection_init"}, {"type": "nope"}], 4400),
        ([{"type": "connection_init"}, {"type": "subscribe", "id": "", "payload": {"query": "{x}"}}], 4400),
        ([{"type": "connection_init"}, {"type": "subscribe", "id": "1", "payload": {"query": 1}}], 4400),
        ([{"type": "connection_init", "payload": {"Authorization": "Bearer nonsense"}}], 4401),
        (2 * [{"type": "subscribe", "id": "1", "payload": {"query": CHANGED}}], 4409),
    ]
    for messages, code in wrong:
        async with socket(url) as ws:
            if code == 4409:
                await ws.begin()
            for message in messages:
                await ws.send(**message)
            assert (await ws.closed())[0] == code, messages
    async with socket(url) as ws:
        await ws.connection.send(b'{"type":"connection_init"}')
        assert (await ws.closed())[0] == 4400
    async with socket(url, subprotocols=["graphql-ws"]) as ws:
        assert (await ws.closed())[0] == 4406
    refused_options: list[dict[str, Any]] = [
        {"origin": "http://evil.example"},
        {"additional_headers": {"Host": "evil.example"}},
    ]
    for options in refused_options:
        with pytest.raises(InvalidStatus) as refused:
            async with socket(url, **options):
                pass
        assert refused.value.response.status_code == 403
    async with socket(url, origin=url, subprotocols=[PROTOCOL]) as ws:
        await ws.begin()
        for number in range(4):
            await ws.subscribe(str(number))
        message = await ws.receive()
        assert (message["type"], message["id"]) == ("error", "3")
        assert message["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
        await ws.send(type="complete", id="0")
        await ws.subscribe("4", "{ health { ok } }")
        assert (await ws.receive())["type"] == "next"


async def test_silence_has_heartbeats_with_the_position(quick: Service) -> None:
    assert quick.url is not None
    async with stream(quick.url) as sse, socket(quick.url) as ws:
        await ws.begin()
        await ws.subscribe("one")
        for _ in range(4):
            event = await sse.event()
            assert event is not None
            assert (event.name, event.data) == ("", None)
        assert event is not None
        silent = event.id
        while True:
            ping = json.loads(await ws.connection.recv())
            assert ping["type"] == "ping"
            if "one" in ping["payload"]["positions"]:
                break
    async with httpx.AsyncClient() as http:
        client = Client(http, quick.url)
        id_ = await note(client, "after the ping")
        for position in (ping["payload"]["positions"]["one"], silent):
            page = (await client.data(PAGE, after=position, first=5))["changes"]["nodes"]
            assert [one["recordId"] for one in page] == [id_]


async def test_what_a_client_must_take_before_it_is_freed_has_a_bound(database_url: str, tmp_path: Path) -> None:
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    bounds = {f"{LIVE}.delivery:MAX_EVENT_BYTES": 4_000, "stratagraph.graphql.app:MAX_ANSWER_BYTES": 4_000}
    large = "subscription($after: String) { changed(after: $after) { position record { payload } } }"
    with running(constants=json.dumps(bounds), **given) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=30) as http, socket(service.url) as ws:
            client = Client(http, service.url)
            begin = await position_of(client)
            await ws.begin()
            await ws.subscribe("small", after=begin)
            await ws.subscribe("large", large, after=begin)
            id_ = await note(client, "large", content={"event_kind": "note", "text": "word " * 1_000})
            told = {message["id"]: message["payload"] for message in (await ws.receive(), await ws.receive())}
            assert told["small"]["data"]["changed"]["recordId"] == id_
            assert told["large"]["data"] is None
            assert told["large"]["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
            refused = await http.post(f"{service.url}/graphql", json={"query": "{ records { nodes { payload } } }"})
            assert refused.status_code == 413
            assert refused.json()["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
            await client.data("{ records { nodes { id } } }")


async def test_a_revoked_key_ends_its_streams_and_others_go_on(database_url: str, tmp_path: Path) -> None:
    given = {"database_url": database_url, "data_dir": str(tmp_path / "data")}
    with running(constants=QUICK, **given) as service:
        assert service.url is not None
        (id_, token), (_, other) = [await key_of(service, name, "--access", "write") for name in ("one", "two")]
        async with (
            httpx.AsyncClient(timeout=30) as http,
            socket(service.url, token) as by_header,
            socket(service.url) as by_init,
            stream(service.url, token) as sse,
            socket(service.url, other) as stays,
        ):
            await by_header.begin()
            await by_init.begin(Authorization=f"Bearer {token}")
            await stays.begin()
            for ws in (by_header, by_init, stays):
                await ws.subscribe()
            revoked = await run_command("token", "revoke", id_, env=service.environment)
            assert revoked[0] == 0, revoked
            for ws in (by_header, by_init):
                assert (await ws.closed())[0] == 4401
            events = []
            while (event := await sse.event()) is not None:
                events.append(event)
            assert [event.name for event in events[-2:]] == ["next", "complete"]
            assert events[-2].data is not None
            assert events[-2].data["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
            client = Client(http, service.url)
            id_ = await note(client, "for the other", other)
            assert (await stays.change())["recordId"] == id_
            refused = await http.post(
                f"{service.url}/graphql",
                json={"query": CHANGED},
                headers={"Accept": "text/event-stream", "Authorization": f"Bearer {token}"},
            )
            assert refused.status_code == 401


async def test_a_connection_is_refused_an_operation_of_a_revoked_key_and_closed_without_any(
    database_url: str, tmp_path: Path
) -> None:
    given = {"database_url": database_url, "data_dir": str(tmp_path / "data")}
    constants = json.dumps({f"{LIVE}.socket:HEARTBEAT_S": 0.2, f"{LIVE}.socket:IDLE_S": 1.0})
    with running(constants=constants, **given) as service:
        assert service.url is not None
        id_, token = await key_of(service, "one", "--access", "write")
        async with socket(service.url, token) as busy, socket(service.url, token) as idle:
            await busy.begin()
            await busy.subscribe()
            await idle.begin()
            assert (await idle.closed())[0] == 1000
            revoked = await run_command("token", "revoke", id_, env=service.environment)
            assert revoked[0] == 0, revoked
            await busy.subscribe("2", "{ metrics { total } }")  # long before the credential of the stream is checked
            refused = await busy.receive()
            assert (refused["type"], refused["id"]) == ("error", "2")
            assert refused["payload"][0]["extensions"]["code"] == "UNAUTHENTICATED"


async def test_no_stream_keeps_the_service_from_stopping(database_url: str, tmp_path: Path) -> None:
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    with running(**given, workers="2") as service:
        assert service.url is not None
        async with socket(service.url) as ws, stream(service.url) as sse, socket(service.url) as idle:
            await ws.begin()
            await ws.subscribe()
            async with asyncio.timeout(10):
                stopping = asyncio.create_task(asyncio.to_thread(service.stop))
                assert (await ws.closed())[0] in (1001, 1012)
                assert (await idle.closed())[0] in (1001, 1012)
                events = []
                while (event := await sse.event()) is not None:
                    events.append(event.name)
                assert set(events) <= {""}  # no `complete`: the client is to come back
                assert await stopping == 0


async def all_have(received: dict[str, list[str]], number: int) -> bool:
    return all(len(one) >= number for one in received.values())


async def test_every_process_sends_what_another_one_wrote_and_kills_lose_nothing(
    database_url: str, tmp_path: Path
) -> None:
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    received: dict[str, list[str]] = {}
    written: list[str] = []
    position: str | None = None

    async def follow(url: str, name: str, by: Any) -> None:
        """Follow until the service is killed, from the last position."""
        mine = received.setdefault(name, [])
        try:
            if by is socket:
                async with socket(url) as ws:
                    await ws.begin()
                    await ws.subscribe(after=positions[name])
                    while True:
                        change = await ws.change()
                        mine.append(change["recordId"])
                        positions[name] = change["position"]
            async with stream(url, after=positions[name]) as sse:
                while True:
                    change = await sse.change()
                    mine.append(change["recordId"])
                    positions[name] = change["position"]
        except Exception:
            return  # killed

    positions: dict[str, str] = {}
    for lifetime in range(3):
        with running(**given, workers="2") as service:
            assert service.url is not None
            async with httpx.AsyncClient(timeout=30) as http:
                client = Client(http, service.url)
                if position is None:
                    position = await position_of(client)
                    positions = dict.fromkeys(("a", "b", "c", "d"), position)
                followers = [
                    asyncio.create_task(follow(service.url, name, socket if name < "c" else stream))
                    for name in positions
                ]
                written += [await note(client, f"{lifetime}.{number}") for number in range(20)]
                if lifetime == 2:
                    await until(partial(all_have, received, len(written)))
                service.kill()
                await asyncio.gather(*followers)
    assert set(received) == set(positions)
    for mine in received.values():
        assert mine == written


@pytest.mark.parametrize("kind", ["ws", "sse"])
async def test_clients_of_npm_follow_changes(quick: Service, peers: Path, kind: str) -> None:
    assert quick.url is not None
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, quick.url)
        begin = await position_of(client)
        async with stream(quick.url, after=begin) as beating:
            await check_peer(client, peers, kind, begin, beating)


async def check_peer(client: Client, peers: Path, kind: str, begin: str, beating: Stream) -> None:
    """Have a client follow what was written, heartbeats, and what is written then."""
    ids = [await note(client, f"note {number}") for number in range(3)]
    process = await asyncio.create_subprocess_exec(
        *("node", "follow.mjs", kind, f"{client.url}/graphql", "", begin, "4"),
        cwd=peers,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    async with asyncio.timeout(60):
        lines = [await process.stdout.readline() for _ in ids]
        while (await beating.change())["recordId"] != ids[-1]:
            pass
        for _ in range(3):
            await beating.event()
        ids.append(await note(client, "while it listens"))
        out, err = await process.communicate()
    results = [json.loads(line) for line in [*lines, *out.splitlines()]]
    assert process.returncode == 0, err
    assert [result["data"]["changed"]["recordId"] for result in results] == ids


@pytest.mark.soak
async def test_nothing_is_missed_or_doubled_through_a_thousand_reconnects_and_kills() -> None:
    """Latencies are for a quiet machine and not compared here."""
    script = Path(__file__).parents[2] / "benchmarks" / "live.py"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), "--rate", "50", "--reconnects", "1000", "--kills", "20"),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    measured = json.loads(out)
    for part in ("steady", "broken"):
        assert (measured[part]["missed"], measured[part]["doubled"]) == (0, 0), measured
    assert measured["broken"]["records"] > 0
