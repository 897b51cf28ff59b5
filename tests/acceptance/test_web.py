"""The API over the web, on real servers: GET, entity tags, persisted documents, origins, compression, ranges, ids."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fix_embedder import embedding_server
from fix_memory import until
from fix_service import Client, Service, run_command, running

ORIGIN = "https://app.example.org"
JSON = {"accept": "application/json"}
NAMES = "query Names { records(first: 50) { nodes { name } } }"
REMEMBER = """mutation Remember($input: CaptureMemoryInput!) {
  captureMemory(input: $input) { __typename ... on MemoryError { message } } }"""
EVENT: dict[str, Any] = {
    "source": "test",
    "sourceKind": "EVENT",
    "content": {"event_kind": "build", "ref": "ci#1", "summary": "the build is green"},
}
PLAIN = {"accept-encoding": "identity"}


def id_of(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    directory = tmp_path / "documents"
    directory.mkdir()
    for name, text in (("names", NAMES), ("remember", REMEMBER)):
        (directory / f"{name}.graphql").write_text(text)
    return directory


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def web(database_url: str, tmp_path: Path, documents: Path, log: Path) -> Iterator[Service]:
    """A single-user service that pages of ORIGIN may call, with persisted documents."""
    settings = {"cors_origins": ORIGIN, "documents_dir": str(documents), "data_dir": str(tmp_path / "data")}
    with running(database_url=database_url, single_user="on", log=str(log), **settings) as service:
        yield service


async def test_a_query_by_get_is_kept_until_its_answer_changes(web: Service) -> None:
    async with httpx.AsyncClient(base_url=str(web.url), timeout=30, headers=JSON) as http:
        client = Client(http, str(web.url))
        await client.data(REMEMBER, input=EVENT)
        first = await http.get("/graphql", params={"query": NAMES})
        assert first.status_code == 200
        assert first.json()["data"] == await client.data(NAMES)
        assert first.headers["cache-control"] == "private, no-cache"
        assert {"Authorization", "Accept-Encoding", "Origin"} <= set(first.headers["vary"].split(", "))
        tag = first.headers["etag"]
        again = await http.get("/graphql", params={"query": NAMES}, headers={"if-none-match": tag})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        await client.data(REMEMBER, input=EVENT | {"content": EVENT["content"] | {"summary": "the build is red"}})
        changed = await http.get("/graphql", params={"query": NAMES}, headers={"if-none-match": tag})
        assert changed.status_code == 200
        assert changed.json()["data"] == await client.data(NAMES)
        failed = await http.get(
            "/graphql", params={"query": '{ record(id: "x") { id } }'}, headers={"if-none-match": "*"}
        )
        assert (failed.status_code, failed.headers["cache-control"]) == (200, "no-store")
        assert "etag" not in failed.headers


async def test_only_queries_are_executed_by_get_and_none_for_a_page_of_another_site(web: Service) -> None:
    async with httpx.AsyncClient(base_url=str(web.url), timeout=30) as http:
        client = Client(http, str(web.url))
        variables = json.dumps({"input": EVENT})
        refused = await http.get("/graphql", params={"query": REMEMBER, "variables": variables}, headers=JSON)
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        by_id = {"documentId": id_of(REMEMBER), "variables": variables}
        assert (await http.get("/graphql", params=by_id, headers=JSON)).status_code == 405
        for headers in ({}, {"sec-fetch-site": "cross-site"} | JSON, {"origin": "https://evil.example"} | JSON):
            answer = await http.get("/graphql", params={"query": NAMES}, headers=headers)
            assert answer.status_code == 403, headers
            assert answer.json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"
            assert "access-control-allow-origin" not in answer.headers
        page = {"origin": ORIGIN, "sec-fetch-site": "cross-site"}
        allowed = await http.get("/graphql", params={"query": NAMES}, headers=page)
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, ORIGIN)
        too_long = await http.get("/graphql", params={"query": "#" + "x" * 65_450}, headers=JSON)
        assert too_long.status_code == 431
        assert await client.data(NAMES) == {"records": {"nodes": []}}


async def test_a_persisted_document_is_executed_by_its_hash_and_others_only_where_they_may(
    web: Service, database_url: str, tmp_path: Path, documents: Path
) -> None:
    async with httpx.AsyncClient(base_url=str(web.url), timeout=30, headers=JSON) as http:
        body = {"documentId": id_of(REMEMBER), "variables": {"input": EVENT}, "operationName": "Remember"}
        made = (await http.post("/graphql", json=body)).json()
        assert made["data"]["captureMemory"]["__typename"] == "CaptureMemorySuccess"
        for answer in (
            await http.get("/graphql", params={"documentId": id_of(NAMES)}),
            await http.post("/graphql", json={"documentId": id_of(NAMES)}),
        ):
            assert answer.json()["data"]["records"]["nodes"][0]["name"] == "the build is green"
        unknown = await http.post("/graphql", json={"documentId": id_of("{ __typename }")})
        assert unknown.status_code == 404
        (error,) = unknown.json()["errors"]
        assert (error["extensions"]["code"], error["extensions"]["path"]) == ("NOT_FOUND", ["documentId"])
    only = {"documents_dir": str(documents), "documents_only": "true", "data_dir": str(tmp_path / "other")}
    with running(database_url=database_url, single_user="on", **only) as strict:
        async with httpx.AsyncClient(base_url=str(strict.url), timeout=30, headers=JSON) as http:
            assert (await http.get("/graphql", params={"documentId": id_of(NAMES)})).status_code == 200
            for refused in (
                await http.post("/graphql", json={"query": NAMES}),
                await http.get("/graphql", params={"query": "{ __schema { types { name } } }"}),
            ):
                assert refused.status_code == 403
                assert refused.json()["errors"][0]["extensions"]["path"] == ["query"]


async def test_an_answer_is_compressed_as_the_client_asks_and_says_the_same(web: Service) -> None:
    async with httpx.AsyncClient(base_url=str(web.url), timeout=30) as http:
        client = Client(http, str(web.url))
        for number in range(40):
            content = EVENT["content"] | {"summary": f"build {number} is green", "ref": f"ci#{number}"}
            await client.data(REMEMBER, input=EVENT | {"content": content})
        sizes, answers = {}, []
        for coding in ("br", "gzip", "identity"):
            answer = await http.post("/graphql", json={"query": NAMES}, headers={"accept-encoding": coding})
            assert answer.headers.get("content-encoding", "identity") == coding
            sizes[coding] = int(answer.headers["content-length"])
            answers.append(answer.json()["data"])
        assert answers[0] == answers[1] == answers[2]
        assert max(sizes["br"], sizes["gzip"]) < sizes["identity"] / 3
        page = await http.get("/static/graphiql/graphiql-4.1.2.min.js", headers={"accept-encoding": "br"})
        assert (page.status_code, page.headers["content-encoding"]) == (200, "br")


async def test_a_page_of_a_named_origin_may_ask_and_no_other(web: Service) -> None:
    async with httpx.AsyncClient(base_url=str(web.url), timeout=30) as http:
        asked = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
        preflight = await http.options("/graphql", headers=asked | {"origin": ORIGIN})
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, ORIGIN)
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        other = await http.options("/graphql", headers=asked | {"origin": "https://evil.example"})
        assert other.status_code == 405
        answer = await http.post("/graphql", json={"query": NAMES}, headers={"origin": ORIGIN})
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert "X-Request-Id" in answer.headers["access-control-expose-headers"]
        for one in (preflight, other, answer):
            assert "access-control-allow-credentials" not in one.headers
            assert one.headers.get("access-control-allow-origin") != "*"
            assert "Origin" in one.headers["vary"]


async def test_parts_of_an_artifact_make_up_the_whole(client: Client, service: Service) -> None:
    data = random.Random(1).randbytes(70_000)
    url = f"{service.url}/artifacts"
    uri = (await client.http.put(url, content=data, headers={"content-type": "application/zip"})).json()["uri"]
    whole = await client.http.get(f"{url}/{uri}")
    assert (whole.content, whole.headers["accept-ranges"]) == (data, "bytes")
    tag, received = whole.headers["etag"], b""
    for start in range(0, len(data), 30_000):
        wanted = {"range": f"bytes={start}-{start + 29_999}", "if-range": tag}
        part = await client.http.get(f"{url}/{uri}", headers=wanted)
        assert part.status_code == 206
        assert part.headers["content-range"] == f"bytes {start}-{min(start + 30_000, len(data)) - 1}/{len(data)}"
        received += part.content
    assert received == data
    assert (await client.http.get(f"{url}/{uri}", headers={"range": "bytes=-5"})).content == data[-5:]
    known = await client.http.get(f"{url}/{uri}", headers={"if-none-match": f'W/"x", {tag}'})
    assert (known.status_code, known.content) == (304, b"")
    for headers in ({"range": "bytes=0-1,5-6"}, {"range": "bytes=0-1", "if-range": '"other"'}):
        assert (await client.http.get(f"{url}/{uri}", headers=headers)).content == data
    beyond = await client.http.get(f"{url}/{uri}", headers={"range": "bytes=70000-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */70000")
    hidden = f"sha256:{'0' * 64}"
    for headers in ({"if-none-match": f'"{"0" * 64}"'}, {"range": "bytes=0-1"}, {}):
        assert (await client.http.get(f"{url}/{hidden}", headers=headers)).status_code == 404  # told nothing else


async def test_a_text_artifact_is_compressed_and_its_hash_stays_its_tag(client: Client, service: Service) -> None:
    data = b"green\n" * 200_000
    url = f"{service.url}/artifacts"
    uri = (await client.http.put(url, content=data, headers={"content-type": "text/plain"})).json()["uri"]
    got = await client.http.get(f"{url}/{uri}", headers={"accept-encoding": "gzip"})
    assert (got.content, got.headers["content-encoding"]) == (data, "gzip")
    known = await client.http.get(f"{url}/{uri}", headers={"if-none-match": got.headers["etag"]})
    assert known.status_code == 304
    part = await client.http.get(f"{url}/{uri}", headers={"range": "bytes=0-5"})
    assert (part.content, part.headers.get("content-encoding")) == (b"green\n", None)


async def test_the_clients_ids_of_a_request_and_its_trace_are_in_the_log_and_the_answer(
    web: Service, log: Path
) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    ids = {"x-request-id": "check-7f31:2", "traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    async with httpx.AsyncClient(base_url=str(web.url), timeout=30) as http:
        kept = await http.post("/graphql", json={"query": NAMES}, headers=ids)
        assert kept.headers["x-request-id"] == "check-7f31:2"
        for other in ("short", "x" * 129, 'forged"\\n', "two words here"):
            answer = await http.post("/graphql", json={"query": NAMES}, headers={"x-request-id": other})
            assert answer.headers["x-request-id"] != other
            assert len(answer.headers["x-request-id"]) == 16

    def requests() -> list[dict[str, Any]]:
        return [one for one in map(json.loads, log.read_text().splitlines()) if one["event"] == "request"]

    async def written() -> bool:
        return len(requests()) == 5

    await until(written)
    first, *others = requests()
    assert (first["request_id"], first["trace_id"]) == ("check-7f31:2", trace)
    assert all(len(one["request_id"]) == 16 and "trace_id" not in one for one in others)


async def test_a_question_carries_its_trace_on_to_the_embedder(database_url: str, tmp_path: Path) -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with embedding_server() as server, httpx.AsyncClient(timeout=30) as http:
        settings = {"embedder": "openai", "embedder_url": server.url, "embedder_model": "m", "embedder_wait_s": "5"}
        with running(
            database_url=database_url, single_user="on", data_dir=str(tmp_path / "data"), **settings
        ) as service:
            client = Client(http, str(service.url))
            await client.data(REMEMBER, input=EVENT)
            ask = """{ retrieveGraph(input: {taskDescriptor: "green"}) { ... on RetrieveGraphSuccess {
              vectorFallback } } }"""

            async def answered_by_vectors() -> bool:
                return (await client.data(ask))["retrieveGraph"]["vectorFallback"] is None

            await until(answered_by_vectors)
            server.traces.clear()
            await http.post(f"{service.url}/graphql", json={"query": ask}, headers={"traceparent": parent})
            assert server.traces == [parent]


async def test_a_key_that_reads_by_get_needs_its_credential_each_time(database_url: str, tmp_path: Path) -> None:
    with running(database_url=database_url, data_dir=str(tmp_path / "data")) as service:
        status, out, err = await run_command("token", "create", "reader", "--json", env=service.environment)
        assert status == 0, err
        bearer = {"authorization": f"Bearer {json.loads(out)['token']}"}
        async with httpx.AsyncClient(base_url=str(service.url), timeout=30) as http:
            first = await http.get("/graphql", params={"query": NAMES}, headers=bearer)
            assert first.status_code == 200
            known = {"if-none-match": first.headers["etag"]}
            assert (await http.get("/graphql", params={"query": NAMES}, headers=bearer | known)).status_code == 304
            for headers in (known, known | JSON, known | {"authorization": "Bearer sg_wrong"}):
                assert (await http.get("/graphql", params={"query": NAMES}, headers=headers)).status_code == 401
