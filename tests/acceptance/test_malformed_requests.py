"""Malformed and hostile requests over HTTP: each is answered by a GraphQL error in JSON that says what to do."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fix_service import Client, Service

OK = {"query": "{ health { ok } }"}
JSON = {"content-type": "application/json"}
CAPTURE = "mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename } }"
RESPONSE = "application/graphql-response+json"
WELL_FORMED = 200  # under application/json, and 400 under the other media type


def sent(**body: Any) -> bytes:
    return json.dumps(body).encode()


# Bodies and headers, the status, and what the message says.
MALFORMED: list[tuple[bytes, dict[str, str], int, str]] = [
    (b"null", JSON, 400, "not null"),
    (b"5", JSON, 400, "not a number"),
    (b'"x"', JSON, 400, "not a string"),
    (b"[]", JSON, 400, "batches"),
    (b"[" + sent(**OK) + b"]", JSON, 400, "batches"),
    (b"", JSON, 400, "not JSON"),
    (b"{", JSON, 400, "not JSON"),
    (b'{"query": "\xff"}', JSON, 400, "not UTF-8"),
    (gzip.compress(sent(**OK)), JSON, 400, "not UTF-8"),
    (gzip.compress(sent(**OK)), JSON | {"content-encoding": "gzip"}, 415, "uncompressed"),
    (sent(**OK).decode().encode("utf-16"), JSON, 400, "not UTF-8"),
    (sent(**OK), {"content-type": "application/json; charset=utf-16"}, 415, "UTF-8"),
    (b"\xef\xbb\xbf" + sent(**OK), JSON, 400, "byte order mark"),
    (b'{"query": "{ health { ok } }", "variables": {"a": ' + b"9" * 10_000 + b"}}", JSON, 400, "digits"),
    (sent(query=CAPTURE, variables={"input": {"source": "a\0"}}), JSON, 400, "variables.input.source"),
    (sent(query="{ health { ok } }", variables={"a": "\ud800"}), JSON, 400, "surrogate"),
    (sent(query='{ entities(name: "\ud800") { id } }'), JSON, 400, "surrogate"),
    (b'{"query": "x", "variables": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", JSON, 413, "nested deeper"),
    (b'{"query": "x", "variables": [' + b"[]," * 1_000_000 + b"1]}", JSON, 413, "JSON values"),
    (b'{"query": "{ a }", "query": "{ health { ok } }"}', JSON, 400, "same key"),
    (sent(**OK), {}, 415, "Content-Type"),
    (sent(**OK), {"content-type": "text/plain"}, 415, "Content-Type"),
    (sent(**OK), {"content-type": "application/jsonp"}, 415, "Content-Type"),
    (b"query=%7Bhealth%7Bok%7D%7D", {"content-type": "application/x-www-form-urlencoded"}, 415, "Content-Type"),
    (sent(), JSON, 400, "`query` is missing"),
    (sent(query=""), JSON, 400, "`query` is missing"),
    (sent(query=5), JSON, 400, "`query` must be a string"),
    (sent(**OK, variables=[]), JSON, 400, "`variables` must be an object"),
    (sent(**OK, variables="{}"), JSON, 400, "`variables` must be an object"),
    (sent(**OK, extensions=1), JSON, 400, "`extensions` must be an object"),
    (sent(**OK, operationName=5), JSON, 400, "`operationName` must be a string"),
    (sent(**OK, operationName="other"), JSON, WELL_FORMED, "correct `operationName`"),
    (
        sent(query="query A { health { ok } } query B { health { ok } }"),
        JSON,
        WELL_FORMED,
        "name one as `operationName`",
    ),
    (sent(query="fragment F on Query { health { ok } }"), JSON, WELL_FORMED, "no operation"),
    (sent(query="query($a: ID!) { record(id: $a) { id } }"), JSON, WELL_FORMED, "to be provided"),
    (
        sent(query="query($a: Int) { records(first: $a) { nodes { id } } }", variables={"a": "x"}),
        JSON,
        WELL_FORMED,
        "Int",
    ),
    (sent(query=CAPTURE, variables={"input": 5}), JSON, WELL_FORMED, "object"),
]


async def test_a_malformed_request_is_answered_with_a_status_and_advice(client: Client) -> None:
    for content, headers, status, message in MALFORMED:
        for accept in ("*/*", RESPONSE):
            response = await client.http.post(
                f"{client.url}/graphql", content=content, headers=headers | {"accept": accept}
            )
            case = (content[:100], response.status_code, response.text[:300])
            assert response.status_code == (400 if (status, accept) == (WELL_FORMED, RESPONSE) else status), case
            assert response.headers["content-type"] == ("application/json" if accept == "*/*" else RESPONSE), case
            answer = response.json()
            assert message in answer["errors"][0]["message"], case
            assert answer["errors"][0]["extensions"]["code"] in ("INVALID_INPUT", "LIMIT_EXCEEDED"), case
            assert "data" not in answer, case


async def test_a_refused_document_has_no_data_and_the_status_of_its_media_type(client: Client) -> None:
    for document in ("{", "{ nothing }", "query($a: Nothing) { health { ok } }", "subscription { a }"):
        for accept, status in ((None, 200), ("application/json", 200), (RESPONSE, 400)):
            headers = {"accept": accept} if accept else {}
            response = await client.http.post(f"{client.url}/graphql", json={"query": document}, headers=headers)
            assert response.status_code == status
            assert response.headers["content-type"] == (accept or "application/json")
            assert "data" not in response.json()
    answered = await client.http.post(f"{client.url}/graphql", json=OK, headers={"accept": f"text/html, {RESPONSE}"})
    assert answered.status_code == 200
    assert answered.headers["content-type"] == RESPONSE
    # A field that fails is part of an answer.
    failed = await client.http.post(f"{client.url}/graphql", json={"query": '{ record(id: "x") { id } }'})
    assert failed.status_code == 200
    assert failed.json()["data"] == {"record": None}


async def test_other_methods_and_paths_are_refused_in_json(client: Client) -> None:
    for method in ("HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
        response = await client.http.request(method, f"{client.url}/graphql")
        assert response.status_code == 405
        assert response.headers["allow"] == "GET, POST"
        if method != "HEAD":
            assert "use GET, POST" in response.json()["errors"][0]["message"]
    for path in ("/nothing", "/graphql%00", "/static/nothing", "/artifacts"):
        response = await client.http.get(f"{client.url}{path}", follow_redirects=False)
        assert response.status_code in (404, 405), path
        assert response.json()["errors"][0]["message"]
    assert response.headers["x-request-id"]


def hostile_documents() -> list[str]:
    doubling = "".join(f" fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(40))
    return [
        "{ ...F0 }" + doubling + " fragment F40 on Query { health { ok } }",
        "{ ...F } fragment F on Query { ...G } fragment G on Query { ...F }",
        "{" + "health { " + "ok " * 1_900 + "} }",
        "{" + ("records { nodes { " + "id " * 85 + "} } ") * 20 + "}",
        "{" + "\n" * 60_000 + " ".join(f"u{n}" for n in range(900)) + "}",
        "{" + " ".join(f"a{n}: __schema {{ types {{ fields {{ name }} }} }}" for n in range(20)) + "}",
        "{ health { ok } } #" + "x" * (1 << 20),
    ]


async def test_hostile_documents_neither_stop_the_service_nor_its_end(service: Service, client: Client) -> None:
    """The first of them would run for days. Another caller is answered all the while, and SIGTERM ends the service."""
    answered = 0

    async def attack() -> None:
        nonlocal answered
        async with httpx.AsyncClient(timeout=60) as http:
            while True:
                for document in hostile_documents():
                    try:
                        response = await http.post(f"{service.url}/graphql", json={"query": document})
                    except httpx.TransportError:  # the service has stopped
                        return
                    assert "errors" in response.json()
                    answered += 1

    attackers = [asyncio.create_task(attack()) for _ in range(3)]
    for _ in range(5):
        assert (await client.data("{ health { ok } }"))["health"]
    started = time.monotonic()
    assert await asyncio.to_thread(service.stop) == 0
    took_s = time.monotonic() - started
    async with asyncio.timeout(30):
        await asyncio.gather(*attackers)
    assert answered >= len(hostile_documents())
    assert took_s < 20  # its grace, which connections that stay busy use up; a frozen process would need a kill


async def test_what_is_not_http_is_refused_in_json(service: Service) -> None:
    assert service.url is not None
    host, port = service.url.removeprefix("http://").split(":")
    for sent_bytes in (b"\x16\x03\x01\x00\xa5\x01\x00\x00", b"null\r\n\r\n", b"POST /graphql HTTP/1.1\r\n: x\r\n\r\n"):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent_bytes)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert json.loads(body)["errors"][0]["extensions"]["code"] == "INVALID_INPUT"
        writer.close()


async def test_a_client_that_leaves_in_the_middle_of_its_body_does_no_harm(client: Client) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"query": "'
        raise ConnectionError

    for method, path in (("POST", "/graphql"), ("PUT", "/artifacts")):
        with pytest.raises(ConnectionError):
            await client.http.request(method, f"{client.url}{path}", content=body(), headers=JSON)
    assert (await client.data("{ health { ok } }"))["health"]
