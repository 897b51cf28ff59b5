"""Exports from a real service and from the command: the same bytes, continued after a broken connection, bounded."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import re
import secrets
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from fix_memory import until
from fix_service import Client, Service, run_command, running

CAPTURE = """mutation($input: CaptureMemoriesInput!) { captureMemories(input: $input) { __typename
  ... on CaptureMemoriesSuccess { results { primaryRecord { id } } } ... on MemoryError { code message } } }"""
ACCEPT = {"Accept": "application/x-ndjson", "Accept-Encoding": "identity"}
SESSIONS = "stratagraph.graphql.exports.sessions"
ENDPOINT = "stratagraph.graphql.exports.endpoint"
SNAPSHOT_NAME = re.compile("[0-9A-F]{8}-[0-9A-F]{8}-[0-9]+")  # of PostgreSQL
TEXT = 40_000  # characters of a record, so that an export of few is more than the sockets between hold


async def fill(client: Client, records: int, token: str | None = None) -> None:
    for start in range(0, records, 40):
        items = [
            {
                "source": "test",
                "sourceKind": "EVENT",
                "content": {"event_kind": "note", "ref": f"n{number}", "text": secrets.token_hex(TEXT // 2)},
            }
            for number in range(start, min(start + 40, records))
        ]
        found = await client.data(CAPTURE, token, input={"items": items})
        assert found["captureMemories"]["__typename"] == "CaptureMemoriesSuccess", found


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def checked(data: bytes) -> list[dict[str, Any]]:
    """Return the lines of a whole export, whose last line fits those before."""
    texts = data.splitlines(keepends=True)
    lines = [json.loads(text) for text in texts]
    assert lines[-1]["kind"] == "end"
    assert lines[-1]["sha256"] == hashlib.sha256(b"".join(texts[:-1])).hexdigest()
    return lines


@asynccontextmanager
async def broken_off(http: httpx.AsyncClient, url: str, **headers: str) -> AsyncIterator[tuple[bytes, str]]:
    """Read the beginning of an export, and take nothing more in the block; yield what was read, and the token."""
    async with http.stream("GET", f"{url}/export", headers={**ACCEPT, **headers}) as answer:
        assert answer.status_code == 200
        parts = answer.aiter_raw()
        yield await anext(parts) + await anext(parts), answer.headers["x-export-snapshot"]


async def key_of(service: Service, name: str, *options: str) -> str:
    options = options or ("--access", "write")
    made, out, err = await run_command(
        *("token", "create", name, "--scope", "*", "--json", *options), env=service.environment
    )
    assert made == 0, err
    token: str = json.loads(out)["token"]
    return token


async def test_the_command_and_the_endpoint_export_the_same_bytes(
    client: Client, service: Service, tmp_path: Path
) -> None:
    await fill(client, 30)
    whole = (await client.http.get(f"{client.url}/export", headers=ACCEPT)).content
    assert [line["kind"] for line in checked(whole)].count("record") == 30
    compressed = await client.http.get(f"{client.url}/export", headers={**ACCEPT, "Accept-Encoding": "gzip"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert compressed.content == whole
    plain, packed, notes = (tmp_path / name for name in ("all.jsonl", "all.jsonl.gz", "notes"))
    plain.write_text("an earlier export")
    for arguments in ((str(plain),), (str(packed), "--json"), (str(notes), "--as", "markdown")):
        status, out, err = await run_command("export", *arguments, env=service.environment)
        assert status == 0, err
        assert "30" in out
    assert plain.read_bytes() == whole == gzip.decompress(packed.read_bytes())
    assert plain.stat().st_mode & 0o077 == 0
    assert len([*notes.glob("episodic/*.md")]) == 30
    status, out, err = await run_command("export", "-", "--types", "entity", env=service.environment)
    assert status == 0, err
    assert checked(out.encode())[-1]["counts"] == {"header": 1}
    assert names_in(tmp_path) == {"all.jsonl", "all.jsonl.gz", "notes", "data"}


@pytest.mark.parametrize("name", ["\u4e2d\u6587\u8a18\u61b6" * 60, "\U0001f600" * 250, "-rf .hidden/../x"])
async def test_a_record_of_any_name_becomes_a_note(client: Client, service: Service, tmp_path: Path, name: str) -> None:
    item = {"source": "test", "sourceKind": "EVENT", "content": {"event_kind": "note", "ref": "n", "summary": name}}
    found = await client.data(CAPTURE, input={"items": [item]})
    assert found["captureMemories"]["__typename"] == "CaptureMemoriesSuccess", found
    notes = tmp_path / "notes"
    status, _, err = await run_command("export", str(notes), "--as", "markdown", env=service.environment)
    assert status == 0, err
    (note,) = notes.glob("episodic/*.md")
    assert name[:20] in note.read_text()


@pytest.mark.parametrize("form", ["rfc", "markdown"])
async def test_a_malformed_record_stops_no_export(
    client: Client, service: Service, database_url: str, tmp_path: Path, form: str
) -> None:
    """Such a record was stored by another release, or by hand: it is named, and all others are exported."""
    await fill(client, 20)
    fact = {"subject": "Ada", "predicate": "likes", "object": "tea"}
    item = {"source": "test", "sourceKind": "OBSERVATION", "content": fact}
    found = await client.data(CAPTURE, input={"items": [item]})
    bad = found["captureMemories"]["results"][0]["primaryRecord"]["id"]
    with psycopg.connect(database_url) as connection:
        malformed = "UPDATE record SET payload = jsonb_set(payload, '{revision}', 'null') WHERE id = %s"
        connection.execute(malformed, [bad])
    target = tmp_path / "out"
    status, out, err = await run_command("export", str(target), "--as", form, "--json", env=service.environment)
    assert status == 1
    assert json.loads(out)["left_out"] == [bad]
    assert bad in err
    written = len(target.read_text().splitlines() if form == "rfc" else [*target.glob("*/*.md")])
    assert written == json.loads(out)["records"] == 21  # with the entity Ada
    if form == "rfc":  # over HTTP the end is missing, as that of every export that is not whole
        with pytest.raises(httpx.RemoteProtocolError):
            await client.http.get(f"{client.url}/export?as=rfc", headers=ACCEPT)
    status, out, err = await run_command("export", "-", env=service.environment)
    assert status == 0, err
    assert bad in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x.jsonl", "--as", "xml"), "'xml' is none of native, rfc, markdown"),
        (("x.jsonl", "--types", "dream"), "'dream' is none of"),
        (("missing/x.jsonl",), "does not exist; make it first"),
        (("/proc/x.jsonl",), "cannot be written"),
        (("-", "--json"), "standard output cannot take"),
        (("x.jsonl", "--tenant", "nope"), "there is no tenant 'nope'"),
    ],
)
async def test_the_command_says_what_is_wrong_and_leaves_no_file(
    service: Service, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    file, *others = arguments
    target = file if file == "-" or file.startswith("/") else str(tmp_path / file)
    status, _, err = await run_command("export", target, *others, env=service.environment)
    assert status == 1
    assert said in " ".join(err.split())
    assert names_in(tmp_path) <= {"data"}


async def test_a_broken_export_continues_in_the_same_snapshot_in_any_process(database_url: str, tmp_path: Path) -> None:
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data"), "workers": "2"}
    with running(**given) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=60) as http:
            await fill(Client(http, service.url), 120)
            async with broken_off(http, service.url) as (begun, token):
                pass
            await fill(Client(http, service.url), 1)  # written after the snapshot
        rests = []
        for number in range(6):  # each on a connection of its own, which either process may take
            async with httpx.AsyncClient(timeout=60) as http:
                asked = {"snapshot": token, "from": str(len(begun) + number)}
                answer = await http.get(f"{service.url}/export", params=asked, headers=ACCEPT)
                assert answer.status_code == 200, answer.text[:500]
                rests.append(answer.content)
        lines = checked(begun + rests[0])
        assert lines[-1]["counts"]["record"] == 120
        assert all((begun + rests[0])[len(begun) + number :] == rest for number, rest in enumerate(rests))


async def test_a_client_that_takes_nothing_is_cut_off_and_may_continue(database_url: str, tmp_path: Path) -> None:
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    log = tmp_path / "log"
    bounds = {f"{ENDPOINT}:STALLED_S": 0.3, f"{ENDPOINT}:SLOWEST": 1 << 30}
    with running(log=str(log), constants=json.dumps(bounds), **given) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=60) as http:
            await fill(Client(http, service.url), 240)
            async with broken_off(http, service.url) as (begun, token):

                async def cut_off() -> bool:
                    return "export interrupted" in log.read_text()

                await until(cut_off)
            asked = {"snapshot": token, "from": str(len(begun))}
            rest = await http.get(f"{service.url}/export", params=asked, headers=ACCEPT)
            assert checked(begun + rest.content)[-1]["counts"]["record"] == 240


async def test_exports_are_bounded_and_held_for_their_own_credential(database_url: str, tmp_path: Path) -> None:
    bounds = {f"{SESSIONS}:AT_ONCE": 1, f"{SESSIONS}:HELD_S": 1.0, f"{ENDPOINT}:FINISHED_S": 0.2}
    given = {"database_url": database_url, "data_dir": str(tmp_path / "data"), "burst": "20000"}
    with running(constants=json.dumps(bounds), **given) as service:
        assert service.url is not None
        ann, bob = [{"Authorization": f"Bearer {await key_of(service, name)}"} for name in ("ann", "bob")]

        async def asked(http: httpx.AsyncClient, who: dict[str, str], **parameters: str) -> httpx.Response:
            return await http.get(f"{service.url}/export", params=parameters, headers={**ACCEPT, **who})

        async with httpx.AsyncClient(timeout=60) as http:
            await fill(Client(http, service.url), 120, ann["Authorization"].removeprefix("Bearer "))
            async with broken_off(http, service.url, **ann) as (begun, token):
                for who in (ann, bob):
                    refused = await asked(http, who)
                    assert refused.status_code == 429, refused.text[:300]
                    assert int(refused.headers["retry-after"]) > 0
            assert (await asked(http, bob, snapshot=token, **{"from": "10"})).status_code == 404
            rest = await asked(http, ann, snapshot=token, **{"from": str(len(begun))})
            checked(begun + rest.content)
            late = rest.headers["x-export-snapshot"]

            async def is_gone() -> bool:
                answer = await asked(http, ann, snapshot=late, **{"from": "5"})
                return answer.status_code == 404

            await until(is_gone, every_s=1.0)
            checked((await asked(http, bob)).content)
            assert (await http.get(f"{service.url}/export", headers=ACCEPT)).status_code == 401


@pytest.mark.soak
async def test_a_trickle_is_cut_off_and_its_snapshot_is_not_read_for_ever(database_url: str, tmp_path: Path) -> None:
    """A client that always takes something, but too little, loses its answer, and after the grace its snapshot."""
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    bounds = {f"{ENDPOINT}:STALLED_S": 0.5, f"{ENDPOINT}:SLOWEST": 256 << 20, f"{ENDPOINT}:GRACE_S": 3.0}
    log = tmp_path / "log"
    with running(log=str(log), constants=json.dumps(bounds), **given) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=60) as http:
            await fill(Client(http, service.url), 240)
            begun, token, statuses = b"", "", [200]
            while statuses[-1] == 200:
                asked = {"snapshot": token, "from": str(len(begun))} if token else {}
                async with http.stream("GET", f"{service.url}/export", params=asked, headers=ACCEPT) as answer:
                    statuses.append(answer.status_code)
                    token = answer.headers.get("x-export-snapshot", token)
                    with suppress(httpx.RemoteProtocolError):
                        async for part in answer.aiter_raw(16_384):
                            begun += part if answer.status_code == 200 else b""
                            await asyncio.sleep(0.05)
            assert statuses[-1] == 404
            assert b'"kind":"end"' not in begun
    assert "export interrupted" in log.read_text()  # by its pace, and not only by the age of its snapshot


async def test_no_caller_takes_the_places_of_others(database_url: str, tmp_path: Path) -> None:
    """Readers of one tenant that take nothing leave places to its administrator, and to other tenants."""
    given = {"database_url": database_url, "data_dir": str(tmp_path / "data"), "burst": "20000"}
    with running(**given) as service:
        assert service.url is not None
        low, mid, more, admin, other = [
            {"Authorization": f"Bearer {await key_of(service, name, *given)}"}
            for name, *given in (
                ("low", "--access", "read"),
                ("mid", "--access", "read"),
                ("more", "--access", "read"),
                ("chief", "--access", "admin"),
                ("other", "--access", "read", "--tenant", "elsewhere"),
            )
        ]
        async with httpx.AsyncClient(timeout=60) as http, AsyncExitStack() as stack:
            await fill(Client(http, service.url), 120, admin["Authorization"].removeprefix("Bearer "))
            for who in (low, mid):
                await stack.enter_async_context(broken_off(http, service.url, **who))
            statuses = {}
            for name, who in (("low", low), ("more", more), ("admin", admin), ("other", other)):
                answer = await http.get(f"{service.url}/export", headers={**ACCEPT, **who})
                statuses[name] = answer.status_code
            assert statuses == {"low": 429, "more": 429, "admin": 200, "other": 200}


async def test_what_is_continued_must_be_of_the_export(client: Client) -> None:
    await fill(client, 5)

    async def asked(**parameters: str) -> httpx.Response:
        return await client.http.get(f"{client.url}/export", params=parameters, headers=ACCEPT)

    whole = await asked()
    token, size = whole.headers["x-export-snapshot"], len(whole.content)
    raw = base64.urlsafe_b64decode(token + "==")
    assert not SNAPSHOT_NAME.search(token)
    assert not SNAPSHOT_NAME.search(raw.decode("latin-1"))
    for beyond in (size + 1, 10**14):
        answer = await asked(snapshot=token, **{"from": str(beyond)})
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["extensions"]["path"]) == (400, ["from"])
        assert f"has {size} bytes" in error["message"]
    for start in (0, 7, size):
        answer = await asked(snapshot=token, **{"from": str(start)})
        assert (answer.status_code, answer.content) == (200, whole.content[start:])
    changed = token[:20] + ("A" if token[20] != "A" else "B") + token[21:]
    for wrong in ("", "a", ".\u00e9", f"{token}.\u00e9", "\u00e9" * 32, "\0", "A" * 5_000, changed, token[:-4]):
        answer = await asked(snapshot=wrong, **{"from": "0"})
        assert answer.status_code == 404, wrong
        assert answer.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_an_export_ends_without_its_last_line_where_the_service_stops(database_url: str, tmp_path: Path) -> None:
    given = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    with running(**given) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=60) as http:
            await fill(Client(http, service.url), 240)
            data = bytearray()

            async def read_until_stopped() -> None:
                async with http.stream("GET", f"{service.url}/export", headers=ACCEPT) as answer:
                    async for part in answer.aiter_raw():
                        if not data:
                            service.process.send_signal(signal.SIGTERM)
                        data.extend(part)
                        await asyncio.sleep(0.01)

            with pytest.raises(httpx.RemoteProtocolError):
                await read_until_stopped()
            assert service.stop() == 0
        assert b'"kind":"end"' not in data


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("colour=blue", "colour"),
        ("as=xml", "as"),
        ("types=dream", "types"),
        ("artifacts=maybe", "artifacts"),
        ("from=10", "snapshot"),
        ("from=ten&snapshot=a", "from"),
        ("as=rfc&as=native", "as"),
        ("as=rfc&snapshot=a", "as"),
    ],
)
async def test_a_wrong_parameter_is_named(client: Client, query: str, path: str) -> None:
    answer = await client.http.get(f"{client.url}/export?{query}", headers=ACCEPT)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert (error["extensions"]["code"], error["extensions"]["path"]) == ("INVALID_INPUT", [path])


async def test_no_web_page_causes_an_export_of_the_single_user(client: Client) -> None:
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}, {"Accept": "image/*"}):
        answer = await client.http.get(f"{client.url}/export", headers={"Accept": "*/*"} | headers)
        assert answer.status_code == 403
    assert (await client.http.head(f"{client.url}/export", headers=ACCEPT)).status_code == 405
