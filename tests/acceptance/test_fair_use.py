"""Fair use over HTTP: costs, budgets that processes share, deadlines, and clients that are slow or too many."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fix_memory import until
from fix_service import Client, Service, run_command, running

RECORDS = "{ records(first: 1) { nodes { id } } }"
WIDEST = {"taskDescriptor": "x", "rootLimit": 100, "nodeLimit": 1_000, "edgeLimit": 5_000, "maxHops": 6}
BURST = 1_000
SETTINGS = {"burst": str(BURST), "rate": "0.001", "max_connections_per_address": "12"}
CONNECTIONS = "stratagraph.service.settings:CONNECTION_LIMITS"
FAIR_USE = "stratagraph.service.settings:FAIR_USE"
CONSTANTS = json.dumps(
    {
        CONNECTIONS: {"connections": 12, "header_s": 1.0, "body_s": 1.0, "idle_s": 1.0},
        FAIR_USE: {"deadline_s": 2.0},
    }
)
HEALTH = "{ health { version } a: health { version } b: health { version } }"


async def new_key(service: Service, name: str) -> str:
    status, out, err = await run_command(
        "token", "create", name, "--access", "write", "--scope", "*", "--json", env=service.environment
    )
    assert status == 0, err
    token: str = json.loads(out)["token"]
    return token


@pytest.fixture
def limited(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """A service with small budgets and short timeouts."""
    with running(
        database_url=database_url,
        data_dir=str(tmp_path / "data"),
        constants=CONSTANTS,
        **SETTINGS,
    ) as service:
        yield service


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=30) as client:
        yield client


def client_of(service: Service, http: httpx.AsyncClient) -> Client:
    assert service.url is not None
    return Client(http, service.url)


def code_of(answer: dict[str, Any]) -> str:
    code: str = answer["errors"][0]["extensions"]["code"]
    return code


async def drain(client: Client, token: str) -> float:
    """Ask until the credential is refused; return what was paid."""
    paid = 0.0
    while True:
        answer = await client(HEALTH, token)
        if "errors" in answer:
            assert code_of(answer) == "RATE_LIMITED"
            return paid
        paid += answer["extensions"]["cost"]["requested"]


async def test_processes_share_the_budget_and_a_killed_one_gives_its_lease_back(
    limited: Service, database_url: str, tmp_path: Path, http: httpx.AsyncClient
) -> None:
    token, other = await new_key(limited, "a"), await new_key(limited, "b")
    one = client_of(limited, http)
    first = await one(RECORDS, token)
    cost = first["extensions"]["cost"]
    assert cost["maximum"] == BURST
    assert cost["available"] == pytest.approx(BURST - cost["requested"], abs=1)
    with running(
        database_url=database_url, data_dir=str(tmp_path / "second"), constants=CONSTANTS, **SETTINGS
    ) as second:
        two = client_of(second, http)
        paid: float = cost["requested"]
        limited.kill()

        async def all_is_spent() -> bool:
            """Spend what is left. Without the killed process's lease, that is 50 points less than a full bucket."""
            nonlocal paid
            paid += await drain(two, token)
            return paid > BURST - 45

        await until(all_is_spent)
        assert paid <= BURST + 1
        assert "errors" not in await two(RECORDS, other)  # another credential has a budget of its own
        refused = await http.post(
            f"{two.url}/graphql", json={"query": HEALTH}, headers={"Authorization": f"Bearer {token}"}
        )
        error = refused.json()["errors"][0]["extensions"]
        assert refused.status_code == 429
        assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)
        assert error["retryAfter"] <= int(refused.headers["Retry-After"]) <= error["retryAfter"] + 1
        assert "data" not in refused.json()


async def test_twenty_aliases_are_refused_before_they_read_anything(limited: Service, http: httpx.AsyncClient) -> None:
    token = await new_key(limited, "a")
    client = client_of(limited, http)
    aliases = " ".join(f"a{number}: retrieveGraph(input: $input) {{ __typename }}" for number in range(20))
    document = f"query($input: RetrieveGraphInput!) {{ {aliases} }}"
    refused = await client(document, token, input=WIDEST)
    assert (code_of(refused), refused.get("data")) == ("LIMIT_EXCEEDED", None)
    paid = await client("{ health { version } }", token)
    assert paid["extensions"]["cost"]["available"] > BURST - 20  # nothing was taken
    small = await client(document, token, input={"taskDescriptor": "x", "rootLimit": 1, "nodeLimit": 1, "edgeLimit": 0})
    assert small["extensions"]["cost"]["requested"] > 20 * 20


async def test_a_long_episode_costs_what_was_read_of_it(limited: Service, http: httpx.AsyncClient) -> None:
    token = await new_key(limited, "a")
    client = client_of(limited, http)
    capture = """mutation($content: JSON!) {
      captureMemory(input: {source: "a", sourceKind: EPISODE, content: $content}) {
        ... on MemoryError { message } ... on CaptureMemorySuccess { primaryRecord { id } } } }"""
    events = [{"t": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z", "event_kind": "note", "ref": ""} for n in range(400)]
    stored = await client.data(capture, token, content={"timeline": events})
    record = "query($id: ID!) { record(id: $id) { payload } }"
    left = []
    for _ in range(2):
        answer = await client(record, token, id=stored["captureMemory"]["primaryRecord"]["id"])
        assert len(answer["data"]["record"]["payload"]["timeline"]) == len(events)
        left.append(answer["extensions"]["cost"])
    assert left[0]["available"] - left[1]["available"] == pytest.approx(left[1]["requested"] + 0.03 * 200, abs=0.5)


async def test_an_operation_ends_at_its_deadline_and_its_statements_with_it(
    limited: Service, database_url: str, http: httpx.AsyncClient
) -> None:
    token = await new_key(limited, "a")
    client = client_of(limited, http)
    await client.data(RECORDS, token)
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%record%'"
    with psycopg.connect(database_url) as lock, psycopg.connect(database_url, autocommit=True) as watch:
        lock.execute("LOCK TABLE record IN ACCESS EXCLUSIVE MODE")
        asked = asyncio.create_task(
            http.post(f"{client.url}/graphql", json={"query": RECORDS}, headers={"Authorization": f"Bearer {token}"})
        )

        async def statements_wait() -> bool:
            return bool(watch.execute(waiting).fetchall())

        await until(statements_wait)
        response = await asked
        assert response.status_code == 503
        error = response.json()["errors"][0]["extensions"]
        assert (error["code"], error["retryable"]) == ("DEADLINE_EXCEEDED", True)

        async def statements_ended() -> bool:
            return not watch.execute(waiting).fetchall()

        await until(statements_ended)  # although the lock is still held
        lock.rollback()
    await client.data(RECORDS, token)


async def test_a_query_ends_with_its_statements_when_its_client_hangs_up_and_a_mutation_is_completed(
    service: Service, client: Client, database_url: str
) -> None:
    capture = """mutation { captureMemory(input: {source: "a", sourceKind: AGENT_TURN,
        content: {role: "user", text: "kept"}}) { __typename } }"""
    with psycopg.connect(database_url) as lock, psycopg.connect(database_url, autocommit=True) as watch:
        lock.execute("LOCK TABLE record IN ACCESS EXCLUSIVE MODE")

        async def waiting(count: int) -> bool:
            row = watch.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
                " AND query ~ '^(WITH walked AS|WITH part_0 AS .INSERT INTO )'"  # of the two operations; jobs wait too
            ).fetchone()
            return row == (count,)

        for document in (RECORDS, capture):
            asked = asyncio.create_task(client(document))
            await until(lambda: waiting(1))
            asked.cancel()
            await asyncio.wait([asked])
            if document == RECORDS:
                await until(lambda: waiting(0))  # although the lock is still held
        lock.rollback()

    async def gone_and_kept() -> bool:
        metrics = (await client.http.get(f"{client.url}/metrics")).text
        found = (await client.data(RECORDS))["records"]["nodes"]
        return 'stratagraph_errors_total{code="CLIENT_GONE"} 1.0' in metrics and len(found) == 1

    await until(gone_and_kept)


async def raw(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = url.removeprefix("http://").split(":")
    return await asyncio.open_connection(host, int(port))


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    """Return what is received until the server closes the connection."""
    with suppress(ConnectionResetError):
        return await reader.read()
    return b""


async def test_slow_clients_are_cut_off_and_do_not_keep_others_out(limited: Service, http: httpx.AsyncClient) -> None:
    assert limited.url is not None
    token = await new_key(limited, "slow")
    post = "POST /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    get = "GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    slow = {
        "": " 408 ",
        post: " 408 ",
        f"{get}\r\nGET /he": " 200 ",  # and nothing for the second request
        f"{get}x: {'y' * 70_000}": " 431 ",
        f"{post}authorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{": "",
    }
    sent = 2 * list(slow)
    connections = [await raw(limited.url) for _ in sent]
    for (_, writer), text in zip(connections, sent, strict=True):
        writer.write(text.encode())
    async with asyncio.timeout(20):
        received = await asyncio.gather(*(answer_of(reader) for reader, _ in connections))
    for text, answer in zip(sent, received, strict=True):
        assert slow[text] in answer.decode()
    for _, writer in connections:
        writer.close()
    held = [await raw(limited.url) for _ in range(11)]  # all of them have left
    assert (await http.get(f"{limited.url}/livez")).status_code == 200
    for _, writer in held:
        writer.close()


async def test_connections_beyond_the_bound_are_refused_with_an_answer(
    limited: Service, http: httpx.AsyncClient
) -> None:
    assert limited.url is not None
    held = [await raw(limited.url) for _ in range(12)]
    for reader, writer in held:  # so that all of them are known to be open
        writer.write(b"GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in await reader.readline()
    reader, writer = await raw(limited.url)
    answer = await answer_of(reader)
    assert b" 503 " in answer
    assert b"UNAVAILABLE" in answer
    for _, one in (*held, (reader, writer)):
        one.close()


async def test_connections_without_a_request_keep_no_others_out(limited: Service, http: httpx.AsyncClient) -> None:
    assert limited.url is not None
    url = f"{limited.url}/livez"
    assert (await http.get(url)).status_code == 200  # on a connection that is kept, and stays
    silent = [await raw(limited.url) for _ in range(40)]
    for _, writer in silent[::2]:
        writer.write(b"GET /livez HTTP/1.1\r\n")  # and never the rest
    async with httpx.AsyncClient(timeout=30) as other:
        assert (await other.get(url)).status_code == 200
    assert (await http.get(url)).status_code == 200
    async with asyncio.timeout(20):
        assert set(await asyncio.gather(*(answer_of(reader) for reader, _ in silent[:20]))) == {b""}
    for _, writer in silent:
        writer.close()


async def test_a_flood_of_requests_is_slowed_down_before_its_credential_is_checked(
    database_url: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        service = stack.enter_context(
            running(
                database_url=database_url,
                data_dir=str(tmp_path / "data"),
                rate="0.001",  # which allows fewer requests than the least, set here
                burst="100",
                constants=json.dumps({FAIR_USE: {"requests": {"per_second": 0.01, "burst": 5}}}),
            )
        )
        async with httpx.AsyncClient(timeout=30) as http:
            client = client_of(service, http)
            answers = [await client(RECORDS, "sg_" + "0" * 32 + "_AAAA") for _ in range(6)]
            assert [code_of(answer) for answer in answers] == ["UNAUTHENTICATED"] * 5 + ["RATE_LIMITED"]
            token = await new_key(service, "a")
            assert "errors" not in await client(RECORDS, token)
