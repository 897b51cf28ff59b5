"""Values that cost a service far more than their client: each is refused early, or delays no other caller."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from fix_service import Client

RECORDS = "{ records(first: 1) { nodes { id } } }"
RETRIEVE = "query($i: RetrieveGraphInput!) { retrieveGraph(input: $i) { __typename } }"
MERGE = "mutation($i: MergeInput!) { merge(input: $i) { __typename } }"
CAPTURE = "mutation($i: CaptureMemoryInput!) { captureMemory(input: $i) { __typename } }"
ENTITIES = "query($n: String!) { entities(name: $n) { id } }"
MARKS = "a" + "\u0301" * 100_000 + "\u0323" * 100_000
ID = "01a203a7-d309-7546-9f23-96a011759598"


async def post(client: Client, query: str, **variables: Any) -> httpx.Response:
    return await client.http.post(f"{client.url}/graphql", json={"query": query, "variables": variables}, timeout=120)


def turn(text: str) -> dict[str, Any]:
    return {"source": "x", "sourceKind": "AGENT_TURN", "content": {"role": "user", "text": text, "thread_id": "t"}}


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    (MERGE, {"i": {"recordIds": [ID] * 300_000, "rationale": "x"}}, 413, "LIMIT_EXCEEDED"),
    (RETRIEVE, {"i": {"taskDescriptor": "a", "memoryTypes": ["ENTITY"] * 490_000}}, 413, "LIMIT_EXCEEDED"),
    (RETRIEVE, {"i": {"taskDescriptor": "a", "scopes": ["project:a"] * 400_000}}, 413, "LIMIT_EXCEEDED"),
    (RETRIEVE, {"i": {"taskDescriptor": "a", "context": {f"k{n}": [n] * 20 for n in range(20_000)}}}, 413, "LIMIT_E"),
    (ENTITIES, {"n": MARKS}, 200, "INVALID_INPUT"),
    (ENTITIES, {"n": "\ufdfa" * 500_000}, 200, "INVALID_INPUT"),
]


@pytest.mark.parametrize(("query", "variables", "status", "code"), REFUSED, ids=range(len(REFUSED)))
async def test_a_value_that_is_too_large_is_refused_and_its_body_is_paid(
    client: Client, query: str, variables: dict[str, Any], status: int, code: str
) -> None:
    answer = await post(client, query, **variables)
    assert answer.status_code == status
    assert answer.json()["errors"][0]["extensions"]["code"].startswith(code)
    assert len(answer.content) < 2_000


async def test_variables_that_are_not_declared_are_ignored_and_paid(client: Client) -> None:
    answer = (await post(client, RECORDS, **{f"k{n}": n for n in range(100_000)})).json()
    assert "errors" not in answer
    assert answer["extensions"]["cost"]["requested"] > 50


async def test_an_error_quotes_little_of_a_document(client: Client) -> None:
    fields = " ".join(f"taskDescripto{n}: 1" for n in range(600))
    for document in ("{" + "a" * 60_000 + "}", f"{{ retrieveGraph(input: {{{fields}}}) {{ __typename }} }}"):
        answer = await post(client, document)
        assert answer.json()["errors"]
        assert len(answer.content) < 20_000


TEXTS = {"words": "Aa " * 330_000, "dots": "a." * 500_000, "expanding": "\ufdfa" * 300_000, "marks": MARKS}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_others_are_answered_while_a_hostile_text_is_captured(client: Client, text: str) -> None:
    hostile = asyncio.create_task(post(client, CAPTURE, i=turn(text)))
    answered = 0
    while not hostile.done():
        await client.data(RECORDS)
        answered += not hostile.done()
    assert (await hostile).json()["data"]["captureMemory"]["__typename"] == "CaptureMemorySuccess"
    assert answered >= 2


async def raw(client: Client, request: bytes) -> tuple[int, dict[str, str], Any]:
    """Send bytes to the service; return the answer's status, headers and JSON."""
    address = urlsplit(client.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(request)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers["content-length"]))
    finally:
        writer.close()
    return int(head[0].split()[1]), headers, json.loads(body)


BODY = b'{"query": "{ health { ok } }"}'
START = b"POST /graphql HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"Host: localhost\r\nX-Big: " + b"a" * (63 << 10) + b"\r\n", 200),
        (b"Host: localhost\r\nX-Big: " + b"a" * (65 << 10) + b"\r\n", 431),
        (b"Host: localhost\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1_000) for n in range(80)), 431),
        (b"Host: localhost\r\nExpect: 100-continue\r\n", 100),
        (b"Host: localhost\r\nExpect: foo\r\n", 417),
        (b"", 400),
        (b"Host: localhost\r\nX-A: \x00\r\n", 400),
    ],
    ids=["fits", "one too large", "together too large", "continue", "expect", "no host", "NUL"],
)
async def test_headers_that_are_refused_are_answered_in_json_with_an_id(
    client: Client, headers: bytes, status: int
) -> None:
    request = START % len(BODY) + headers + b"\r\n"
    if status == 100:
        address = urlsplit(client.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(request)
        assert (await reader.readline()).split()[1] == b"100"
        writer.close()
        return
    found, answered, answer = await raw(client, request + BODY)
    assert found == status
    assert len(answered["x-request-id"]) == 16
    assert ("errors" in answer) == (status != 200)


async def test_a_client_that_sends_too_much_can_read_why(client: Client) -> None:
    size = 20 << 20
    request = START % size + b"Host: localhost\r\nConnection: close\r\n\r\n" + b"x" * size
    status, answered, answer = await raw(client, request)
    assert status == 413
    assert answered["connection"] == "close"
    assert answer["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"


async def test_attempts_without_a_valid_credential_are_slowed_down_and_valid_ones_are_not(client: Client) -> None:
    tokens = (f"sg_{number:032x}_{'x' * 43}" for number in range(1_000))
    codes: list[str] = []
    while "RATE_LIMITED" not in codes and len(codes) < 400:
        answers = await asyncio.gather(*(client(RECORDS, next(tokens)) for _ in range(20)))
        codes += [answer["errors"][0]["extensions"]["code"] for answer in answers]
    assert set(codes) == {"UNAUTHENTICATED", "RATE_LIMITED"}
    assert codes[0] == "UNAUTHENTICATED"
    assert "errors" not in await client(RECORDS)
