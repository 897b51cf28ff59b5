"""The web's rules without a server: ranges, entity tags, compression, origins, ids of requests, persisted documents."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import brotli
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.datastructures import Headers, QueryParams
from starlette.types import Message, Receive, Scope, Send

from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.web.compression import LEAST_BYTES, Compression, accepted_coding
from stratagraph.graphql.web.cors import Cors
from stratagraph.graphql.web.entity_tags import entity_tag, is_known
from stratagraph.graphql.web.get_requests import read_parameters, refuse_other_sites
from stratagraph.graphql.web.persisted_documents import PersistedDocuments
from stratagraph.graphql.web.ranges import NotSatisfiable, byte_range
from stratagraph.graphql.web.request_ids import request_id_of
from stratagraph.graphql.web.trace_context import outgoing, sending, trace_id, valid_context
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import Forbidden, InvalidInput, Misconfigured, RecordNotFound, StratagraphError

SCHEMA = build_schema()._schema
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def answered(
    app: Any, *, headers: dict[str, str] | None = None, method: str = "GET", path: str = "/graphql"
) -> list[Message]:
    """Return the messages that an ASGI application sends."""
    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope: Scope = {"type": "http", "method": method, "path": path, "headers": raw}
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    await app(scope, receive, send)
    return sent


def application(parts: Sequence[bytes], headers: dict[str, str], status: int = 200) -> Any:
    """An application that answers with these parts of a body."""

    async def app(_: Scope, __: Receive, send: Send) -> None:
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": raw})
        for number, part in enumerate(parts):
            await send({"type": "http.response.body", "body": part, "more_body": number < len(parts) - 1})

    return app


# Ranges


@given(st.binary(max_size=20), st.integers(0, 25) | st.none(), st.integers(0, 25) | st.none())
def test_a_range_is_the_part_that_it_names(data: bytes, first: int | None, last: int | None) -> None:
    header = f"bytes={'' if first is None else first}-{'' if last is None else last}"
    try:
        found = byte_range(header, len(data))
    except NotSatisfiable:
        assert first >= len(data) if first is not None else last == 0 or not data
        return
    if (first is None and last is None) or (first is not None and last is not None and last < first):
        assert found is None
        return
    assert found is not None
    if first is None:
        assert last is not None
        expected = data[max(0, len(data) - last) :]
    else:
        expected = data[first : None if last is None else last + 1]
    assert data[found.start : found.stop] == expected
    assert expected


@given(st.text(max_size=30) | st.from_regex(r"bytes=[-0-9, ]{0,12}", fullmatch=True), st.integers(0, 100))
def test_any_text_is_a_range_within_the_bytes_or_none(header: str, size: int) -> None:
    try:
        found = byte_range(header, size)
    except NotSatisfiable:
        return
    assert found is None or 0 <= found.start < found.stop <= size


# Entity tags


@given(st.binary(), st.binary(), st.lists(st.binary(), max_size=3))
def test_an_answer_is_known_by_its_own_tag_only(data: bytes, other: bytes, listed: list[bytes]) -> None:
    tag = entity_tag(data)
    header = ", ".join(map(entity_tag, listed))
    assert is_known(tag, [header]) is (data in listed)
    assert is_known(tag, [header, tag])
    assert is_known(tag, [entity_tag(other)]) is (data == other)
    assert is_known(tag, [tag.removeprefix("W/")])  # compared weakly


# Compression

CODINGS = {"br": brotli.decompress, "gzip": gzip.decompress, None: lambda body: body}


@given(
    st.lists(st.binary(max_size=50).map(lambda part: part * 60), min_size=1, max_size=4),
    st.sampled_from(["br", "gzip", "gzip, br", "br;q=0, gzip", "identity", "", "deflate", "*", "x;q=q"]),
    st.booleans(),
)
@example([b""], "br", False)
@example([b"x" * (LEAST_BYTES - 1)], "br", False)
@example([b"x" * LEAST_BYTES], "br", True)
@example([b"x" * 200_000, b"", b"y"], "gzip", False)
def test_a_compressed_answer_says_the_same_with_right_headers(parts: list[bytes], accepted: str, tagged: bool) -> None:
    body = b"".join(parts)
    given_headers = {"content-type": "application/json", "content-length": str(len(body))}
    if tagged:
        given_headers["etag"] = '"a"'
    app = Compression(application(parts, given_headers))
    head, *rest = asyncio.run(answered(app, headers={"accept-encoding": accepted}))
    headers = Headers(raw=head["headers"])
    coding = headers.get("content-encoding")
    sent = b"".join(one.get("body", b"") for one in rest)
    assert CODINGS[coding](sent) == body
    assert "accept-encoding" in headers["vary"].lower()
    assert headers.get("content-length") in ((None, str(len(sent))) if coding else (str(len(body)),))
    assert coding == (None if len(parts) == 1 and len(body) < LEAST_BYTES else accepted_coding(accepted))
    assert headers.get("etag") == (('W/"a"' if coding else '"a"') if tagged else None)
    assert [one.get("more_body") for one in rest] == [*[True] * (len(rest) - 1), False]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/event-stream"}, 200),
        ({"content-type": "text/event-stream; charset=utf-8"}, 200),
        ({"content-type": "image/png"}, 200),
        ({"content-type": "application/gzip"}, 200),
        ({"content-type": "application/octet-stream"}, 200),
        ({"content-type": "text/plain", "content-encoding": "gzip"}, 200),
        ({"content-type": "text/plain", "content-range": "bytes 0-1/9"}, 206),
        ({}, 304),
    ],
)
def test_streams_of_events_and_what_is_compressed_pass_part_by_part(headers: dict[str, str], status: int) -> None:
    parts = [b"data: 1\n\n" * 400, b"data: 2\n\n", b""]
    sent = asyncio.run(answered(Compression(application(parts, headers, status)), headers={"accept-encoding": "br"}))
    assert [one.get("body") for one in sent[1:]] == parts
    assert Headers(raw=sent[0]["headers"]).items() == Headers(headers).items()


async def test_each_event_of_a_stream_is_sent_before_the_next_one_is_made() -> None:
    made, seen = list[int](), list[tuple[int, int]]()

    async def app(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for number in range(3):
            made.append(number)
            await send({"type": "http.response.body", "body": b"data: x\n\n", "more_body": number < 2})

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            seen.append((len(made), len(message["body"])))

    async def receive() -> Message:
        raise AssertionError

    scope: Scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"accept-encoding", b"br, gzip")]}
    await Compression(app)(scope, receive, send)
    assert seen == [(1, 9), (2, 9), (3, 9)]


# Origins

ORIGINS = ["https://app.example.org", "http://localhost:5173", "https://app.example.org.evil.example", "null", "*"]


@given(
    st.sets(st.sampled_from(ORIGINS[:2])),
    st.sampled_from([*ORIGINS, "https://APP.example.org", "https://app.example.org/", ""]) | st.none(),
    st.sampled_from(["OPTIONS", "GET", "POST"]),
    st.sampled_from(["/graphql", "/artifacts", "/artifacts/sha256:0", "/healthz"]),
)
def test_only_a_named_origin_is_told_that_it_may_call(
    origins: set[str], origin: str | None, method: str, path: str
) -> None:
    app = Cors(application([b"{}"], {"content-type": "application/json"}), origins=frozenset(origins))
    asked = {"origin": origin} if origin is not None else {}
    if method == "OPTIONS":
        asked["access-control-request-method"] = "POST"
    head = asyncio.run(answered(app, headers=asked, method=method, path=path))[0]
    headers = Headers(raw=head["headers"])
    is_allowed = origin in origins and path != "/healthz"
    assert headers.get("access-control-allow-origin") == (origin if is_allowed else None)
    assert "access-control-allow-credentials" not in headers
    assert head["status"] == (204 if is_allowed and method == "OPTIONS" else 200)
    assert path == "/healthz" or "Origin" in headers["vary"]


@pytest.mark.parametrize(
    "origin",
    [
        *(
            "*",
            "null",
            "app.example.org",
            "https://app.example.org/",
            "https://*.example.org",
            "HTTPS://app.example.org",
        ),
        *("https://app.example.org:443", "http://a:80", "https://user@app.example.org", "https://", "ftp://a"),
    ],
)
def test_an_origin_that_no_browser_sends_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(Misconfigured, match=r"CORS_ORIGINS.*is no origin"):
        Settings.load({}, cors_origins=f"https://good.example, {origin}")


def test_origins_are_read_from_a_list() -> None:
    read = Settings.load({}, cors_origins=" https://a.example,http://localhost:5173 ,").cors_origins
    assert read == {"https://a.example", "http://localhost:5173"}


# Requests by GET


@pytest.mark.parametrize(
    ("headers", "is_own"),
    [
        ({"accept": "application/json"}, True),
        ({"accept": "text/html, application/graphql-response+json"}, True),
        ({"accept": "*/*"}, False),  # what an image or a script of a page asks for
        ({}, False),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"sec-fetch-site": "cross-site", "accept": "application/json"}, False),
        ({"sec-fetch-site": "same-site", "accept": "application/json"}, False),
        ({"origin": "https://evil.example", "accept": "application/json"}, False),
        ({"origin": "https://app.example.org", "sec-fetch-site": "cross-site"}, True),
    ],
)
def test_a_get_without_a_credential_is_refused_where_a_page_of_another_site_may_send_it(
    headers: dict[str, str], is_own: bool
) -> None:
    if is_own:
        refuse_other_sites(Headers(headers), {"https://app.example.org"})
    else:
        with pytest.raises(Forbidden):
            refuse_other_sites(Headers(headers), {"https://app.example.org"})


@pytest.mark.parametrize(
    ("parameters", "path", "says"),
    [
        ([], ["query"], "is missing"),
        ([("query", " ")], ["query"], "is missing"),
        ([("query", "a"), ("query", "b")], ["query"], "several times"),
        ([("query", "{a}"), ("variables", "[]")], ["variables"], "must be an object"),
        ([("query", "{a}"), ("variables", "{")], ["variables"], "`variables` is not JSON"),
        ([("query", "{a}"), ("variables", '{"a":1,"a":2}')], ["variables"], "same key"),
        ([("query", "{a}"), ("extensions", "7")], ["extensions"], "must be an object"),
        ([("query", "{a}"), ("documentId", "x")], ["documentId"], "both"),
        ([("documentId", "x")], ["documentId"], "no identifier"),
    ],
)
def test_a_malformed_query_string_is_refused_by_the_name_of_the_parameter(
    parameters: list[tuple[str, str]], path: list[str], says: str
) -> None:
    with pytest.raises(StratagraphError, match=re.escape(says)) as refused:
        read_parameters(QueryParams(parameters), PersistedDocuments())
    assert refused.value.path == path


def test_a_query_string_is_read_as_a_body_is() -> None:
    found = read_parameters(
        QueryParams([("query", "query A($a: Int) { b }"), ("variables", '{"a": 1}'), ("operationName", "")]),
        PersistedDocuments(),
    )
    assert (found.variables, found.operation_name, found.extensions) == ({"a": 1}, None, None)


# Ids


@given(st.text(max_size=140) | st.from_regex(r"[A-Za-z0-9._:+/=@-]{1,130}", fullmatch=True))
def test_a_request_id_is_the_clients_where_it_is_plain_and_a_new_one_otherwise(sent: str) -> None:
    id_ = request_id_of(sent)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:+/=@-]{7,127}", id_)
    assert id_ == sent or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:+/=@-]{7,127}", sent)
    assert request_id_of(None) != request_id_of(None)


@given(st.text() | st.sampled_from([PARENT, PARENT.upper(), f"{PARENT}-x", "00-" + "0" * 32 + PARENT[35:]]), st.text())
def test_a_malformed_trace_context_is_dropped(parent: str, state: str) -> None:
    found = valid_context({"traceparent": parent, "tracestate": state})
    assert bool(found) is (parent == PARENT)
    assert trace_id(found) == (PARENT[3:35] if found else None)
    assert found.get("tracestate", state) == state
    with sending(found):
        assert outgoing() == found
    assert outgoing() == {}


# Persisted documents


def test_a_document_is_found_by_the_hash_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    texts = ["query A { health { ok } }\n", "query B { health { ok version } }", "# ü\n{ health { ok } }"]
    for number, text in enumerate(texts):
        (tmp_path / "web" / f"{number}.graphql").write_text(text)
    (tmp_path / "notes.txt").write_text("no document")
    documents = PersistedDocuments.load(tmp_path, SCHEMA, is_exclusive=True)
    ids = {f"sha256:{hashlib.sha256(text.encode()).hexdigest()}": text for text in texts}
    assert documents.by_id == ids
    for id_, text in ids.items():
        assert documents.query_of(None, id_) == text
    assert documents.query_of(None, None) is None
    with pytest.raises(Forbidden):
        documents.query_of(texts[0], None)
    with pytest.raises(InvalidInput):
        documents.query_of(texts[0], next(iter(ids)))
    with pytest.raises(RecordNotFound):
        documents.query_of(None, "sha256:" + "0" * 64)
    for malformed in ("sha256:" + "A" * 64, "0" * 64, "md5:0", "", "sha256:" + "0" * 64 + "\n"):
        with pytest.raises(InvalidInput):
            documents.query_of(None, malformed)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"{ nothing }", "nothing"),
        (b"{", "Syntax"),
        (b"\xff", "UTF-8"),
        (b"{ health { ok } }" + b" " * (64 << 10), "bytes"),
    ],
)
def test_a_document_that_is_not_valid_stops_the_start_by_its_name(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "broken.graphql").write_bytes(data)
    with pytest.raises(Misconfigured, match=rf"broken\.graphql.*{says}"):
        PersistedDocuments.load(tmp_path, SCHEMA, is_exclusive=False)


def test_a_folder_that_is_missing_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="no directory"):
        PersistedDocuments.load(tmp_path / "none", SCHEMA, is_exclusive=False)
    with pytest.raises(Misconfigured, match="needs STRATAGRAPH_DOCUMENTS_DIR"):
        Settings.load({}, documents_only=True)
