"""Artifacts over HTTP and from the command line."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from fix_memory import until
from fix_service import Client, Service, run_command, running

DATA = bytes(range(256)) * 400
DIGEST = hashlib.sha256(DATA)
URI = f"sha256:{DIGEST.hexdigest()}"
CAPTURE = """mutation Capture($input: CaptureMemoryInput!) { captureMemory(input: $input) { __typename
  ... on CaptureMemorySuccess { primaryRecord { id payload } } ... on MemoryError { code message path } } }"""


def event(uri: str, **more: Any) -> dict[str, Any]:
    content = {"event_kind": "build", "ref": "ci#1", "artifacts": [uri]}
    return {"source": "test", "sourceKind": "EVENT", "content": content, **more}


async def stream(data: bytes) -> AsyncIterator[bytes]:
    """Yield `data` in chunks of 50,000 bytes, so that the request has no Content-Length."""
    for start in range(0, len(data), 50_000):
        yield data[start : start + 50_000]


def code_of(response: httpx.Response) -> str:
    code: str = response.json()["errors"][0]["extensions"]["code"]
    return code


def stored_files(service: Service) -> list[Path]:
    root = Path(service.environment["STRATAGRAPH_DATA_DIR"]) / "artifacts"
    return [path for path in root.rglob("*") if path.is_file()]


async def test_an_artifact_is_uploaded_referenced_by_an_event_and_downloaded(client: Client, service: Service) -> None:
    http, url = client.http, f"{client.url}/artifacts"
    refused = await client.data(CAPTURE, input=event(URI))
    assert refused["captureMemory"]["__typename"] == "InvalidInput"
    assert refused["captureMemory"]["path"] == ["content", "artifacts", "0"]
    headers = {
        "content-type": "text/html",
        "digest": f"sha-256={base64.b64encode(DIGEST.digest()).decode()}",
    }
    made = await http.put(url, content=stream(DATA), headers=headers)
    assert made.status_code == 201
    assert made.json() == {"sha256": DIGEST.hexdigest(), "uri": URI, "size_bytes": len(DATA)}
    again = await http.put(url, content=DATA, headers={"x-content-sha256": DIGEST.hexdigest()})
    assert again.status_code == 200
    assert again.json() == made.json()

    async def one_is_left() -> bool:
        return len(stored_files(service)) == 1

    await until(one_is_left)
    (stored_file,) = stored_files(service)
    assert DATA[:64] not in stored_file.read_bytes()
    await http.put(url, content=DATA, headers=headers)
    captured = await client.data(CAPTURE, input=event(URI))
    assert captured["captureMemory"]["primaryRecord"]["payload"]["timeline"][0]["content"]["artifacts"] == [URI]
    for method in ("GET", "HEAD"):
        got = await http.request(method, f"{url}/{URI}", headers={"accept-encoding": "identity"})
        assert got.status_code == 200
        assert got.content == (DATA if method == "GET" else b"")
        assert got.headers["content-length"] == str(len(DATA))
        assert got.headers["content-type"] == "text/html"
        assert got.headers["content-disposition"].startswith("attachment")
        assert got.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in got.headers["content-security-policy"]


async def test_each_invalid_request_is_refused_with_its_error_code(client: Client, service: Service) -> None:
    http, url = client.http, f"{client.url}/artifacts"
    for headers in (
        {"digest": "sha-256=" + base64.b64encode(bytes(32)).decode()},
        {"x-content-sha256": "00" * 32},
        {"digest": "md5=AAAA"},
        {"digest": "sha-256=short"},
        {"x-content-sha256": "nonsense"},
        {"content-type": "nonsense"},
    ):
        refused = await http.put(url, content=DATA, headers=headers)
        assert (refused.status_code, code_of(refused)) == (400, "INVALID_INPUT"), headers
    assert stored_files(service) == []
    for uri, status in ((f"sha256:{'0' * 64}", 404), ("sha256:abc", 400), ("md5:" + "0" * 64, 400)):
        missing = await http.get(f"{url}/{uri}")
        assert missing.status_code == status
        assert code_of(missing) == ("NOT_FOUND" if status == 404 else "INVALID_INPUT")
        assert (await http.head(f"{url}/{uri}")).status_code == status
    await http.put(url, content=DATA)
    (stored_file,) = stored_files(service)
    damaged = bytearray(stored_file.read_bytes())
    damaged[1000] ^= 1
    stored_file.write_bytes(damaged)
    got = await http.get(f"{url}/{URI}")
    assert (got.status_code, code_of(got)) == (500, "ARTIFACT_DAMAGED")
    assert DATA[2000:2064] not in got.content
    foreign = await http.get(f"{url}/{URI}", headers={"host": "evil.example"})
    assert foreign.status_code == 400


async def test_the_size_limit_holds_with_and_without_a_content_length(database_url: str, tmp_path: Path) -> None:
    settings = {"database_url": database_url, "single_user": "on", "data_dir": str(tmp_path / "data")}
    with running(**settings, artifact_max_bytes="1000", artifact_url=f"file://{tmp_path}/elsewhere") as service:
        async with httpx.AsyncClient(timeout=30) as http:
            url = f"{service.url}/artifacts"
            assert (await http.put(url, content=DATA[:1000])).status_code == 201
            for content in (DATA[:1001], stream(DATA)):
                refused = await http.put(url, content=content)
                assert (refused.status_code, code_of(refused)) == (413, "LIMIT_EXCEEDED")
    assert len([path for path in (tmp_path / "elsewhere").rglob("*") if path.is_file()]) == 1
    assert not (tmp_path / "data" / "artifacts").exists()


async def test_an_artifact_is_readable_by_callers_who_may_read_its_record(database_url: str, tmp_path: Path) -> None:
    with running(database_url=database_url, data_dir=str(tmp_path / "data")) as service:
        url = f"{service.url}/artifacts"

        async def key(name: str, *options: str) -> dict[str, str]:
            status, out, err = await run_command("token", "create", name, "--json", *options, env=service.environment)
            assert status == 0, err
            return {"authorization": f"Bearer {json.loads(out)['token']}"}

        writer = await key("writer", "--access", "write", "--max-sensitivity", "high", "--scope", "*")
        reader = await key("reader", "--max-sensitivity", "low", "--scope", "project:b")
        stranger = await key("writer", "--access", "write", "--scope", "*", "--tenant", "other")
        async with httpx.AsyncClient(timeout=30) as http:
            assert service.url is not None
            client = Client(http, service.url)
            for headers in ({}, {"authorization": "Bearer nonsense"}):
                for response in (await http.put(url, content=b"x", headers=headers), await http.get(f"{url}/{URI}")):
                    assert (response.status_code, code_of(response)) == (401, "UNAUTHENTICATED")
            forbidden = await http.put(url, content=DATA, headers=reader)
            assert (forbidden.status_code, code_of(forbidden)) == (403, "FORBIDDEN")
            assert (await http.put(url, content=DATA, headers=writer)).status_code == 201
            assert (await http.get(f"{url}/{URI}", headers=writer)).content == DATA
            token = writer["authorization"].removeprefix("Bearer ")
            for scope, level, status in (
                ("project:a", "LOW", 404),
                ("project:b", "MEDIUM", 404),  # the reader sees this record redacted
                ("project:b", "LOW", 200),
            ):
                await client.data(CAPTURE, token, input=event(URI, scope=scope, sensitivity=level))
                got = await http.get(f"{url}/{URI}", headers=reader)
                assert got.status_code == status, (scope, level)
            assert (await http.get(f"{url}/{URI}", headers=stranger)).status_code == 404
            assert (
                await http.put(url, content=DATA, headers=stranger)
            ).status_code == 201  # answered as a first upload
            assert len(stored_files(service)) == 2


async def test_artifacts_are_uploaded_and_downloaded_from_the_command_line(
    client: Client, service: Service, tmp_path: Path
) -> None:
    source, target = tmp_path / "report.txt", tmp_path / "copy.txt"
    source.write_bytes(DATA)
    status, out, err = await run_command("artifact", "put", str(source), "--json", env=service.environment)
    assert status == 0, err
    assert json.loads(out) == {
        "sha256": DIGEST.hexdigest(),
        "uri": URI,
        "size_bytes": len(DATA),
        "media_type": "text/plain",
        "is_new": True,
    }
    captured = await client.data(CAPTURE, input=event(URI))  # the command uploads as the service's single user
    assert captured["captureMemory"]["__typename"] == "CaptureMemorySuccess"
    status, out, err = await run_command("artifact", "get", URI, "-o", str(target), env=service.environment)
    assert status == 0, err
    assert target.read_bytes() == DATA
    status, out, err = await run_command(
        "artifact", "get", f"sha256:{'0' * 64}", "-o", str(tmp_path / "none"), env=service.environment
    )
    assert status == 1
    assert "not found" in err
    assert not (tmp_path / "none").exists()


async def test_an_upload_from_the_command_line_belongs_to_one_key_also_beside_others_of_its_name(
    database_url: str, tmp_path: Path
) -> None:
    source = tmp_path / "report.txt"
    source.write_bytes(DATA)
    with running(database_url=database_url, data_dir=str(tmp_path / "data")) as service:

        async def run(*arguments: str) -> tuple[int, str, str]:
            return await run_command(*arguments, env=service.environment)

        keys = []
        for _ in range(2):
            status, out, err = await run("token", "create", "agent", "--access", "write", "--scope", "*", "--json")
            assert status == 0, err
            keys.append(json.loads(out))
        status, _, err = await run("artifact", "put", str(source), "--actor", "agent")
        assert (status, "2 valid API keys" in " ".join(err.split())) == (1, True)
        status, _, err = await run("artifact", "put", str(source), "--actor", "stranger")
        assert (status, "no valid API keys" in " ".join(err.split())) == (1, True)
        status, _, err = await run("artifact", "put", str(source), "--actor", keys[1]["id"])
        assert status == 0, err
        async with httpx.AsyncClient(timeout=30) as http:
            for key, expected in zip(keys, (404, 200), strict=True):
                headers = {"authorization": f"Bearer {key['token']}"}
                assert (await http.get(f"{service.url}/artifacts/{URI}", headers=headers)).status_code == expected
