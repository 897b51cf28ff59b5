"""deploy/nginx.conf: a real nginx in front of a real service, over TLS. Skipped where nginx is not installed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fix_memory import until
from fix_service import Service, run_command, running
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from stratagraph.graphql.app import MAX_BODY_BYTES
from stratagraph.service.mcp.endpoint import MAX_BODY_BYTES as MCP_BODY_BYTES
from stratagraph.service.settings import Settings

CONFIGURATION = (Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf").read_text()
NGINX = os.environ.get("STRATAGRAPH_TEST_NGINX") or shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
OPENSSL = shutil.which("openssl")
NAME = "memory.example.org"
WRAPPING = """daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{}}
http {{
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    include {directory}/stratagraph.conf;
}}
"""
CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) {
  ... on CaptureMemorySuccess { primaryRecord { name } } ... on MemoryError { code } } }"""


def test_its_bounds_are_those_of_the_service() -> None:
    sizes = dict(re.findall(r"location = (/[\w/]+) \{\s+client_max_body_size (\d+)m;", CONFIGURATION))
    artifact = Settings.model_fields["artifact_max_bytes"].default
    assert {path: int(size) << 20 for path, size in sizes.items()} == {
        "/graphql": MAX_BODY_BYTES,
        "/v1/traces": MAX_BODY_BYTES,
        "/mcp": MCP_BODY_BYTES,
        "/artifacts": artifact,
    }


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass
class Proxy:
    """A running nginx: its address over TLS and without, and its directory with logs and the certificate."""

    https: str
    http: str
    directory: Path


@pytest.fixture
def behind(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """A service as it runs behind a proxy on the same machine: on loopback, and yet not in single-user mode."""
    with running(database_url=database_url, data_dir=str(tmp_path / "data")) as service:
        yield service


@pytest.fixture
def proxy(behind: Service, tmp_path: Path) -> Iterator[Proxy]:
    if NGINX is None or OPENSSL is None:
        why = "nginx or openssl is not installed; STRATAGRAPH_TEST_NGINX names an nginx"
        if os.environ.get("CI"):
            pytest.fail(f"CI needs them: {why}", pytrace=False)
        pytest.skip(why)
    assert behind.url is not None
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ("-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},DNS:localhost")
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out", certificate)
    subprocess.run([OPENSSL, *made, *subject], check=True, capture_output=True)
    tls, plain = free_port(), free_port()
    text = CONFIGURATION
    for shipped, here in (
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{tls} ssl;"),
        ("server 127.0.0.1:8000;", f"server {behind.url.removeprefix('http://')};"),
        (f"/etc/ssl/certs/{NAME}.pem", str(certificate)),
        (f"/etc/ssl/private/{NAME}.key", str(key)),
        ("/var/log/nginx/", f"{tmp_path}/"),
    ):
        assert shipped in text
        text = text.replace(shipped, here)
    (tmp_path / "stratagraph.conf").write_text(text)
    # The workers of root's nginx would run as nobody, who may not enter this test's directory.
    user = "user root;\n" if os.geteuid() == 0 else ""
    (tmp_path / "nginx.conf").write_text(user + WRAPPING.format(directory=tmp_path))
    process = subprocess.Popen([NGINX, "-e", f"{tmp_path}/error.log", "-p", tmp_path, "-c", f"{tmp_path}/nginx.conf"])
    try:
        yield Proxy(https=f"https://localhost:{tls}", http=f"http://localhost:{plain}", directory=tmp_path)
    finally:
        process.terminate()
        process.wait(timeout=30)


async def check_streams(
    client: httpx.AsyncClient, url: str, token: dict[str, str], trusted: ssl.SSLContext, write: dict[str, Any]
) -> None:
    """Follow changes through the proxy over both protocols, each of which sends a change at once."""
    following = {"query": "subscription { changed { record { name } } }"}
    events = token | {"Accept": "text/event-stream"}
    async with (
        connect(
            url.replace("https", "wss", 1),
            ssl=trusted,
            subprotocols=[Subprotocol("graphql-transport-ws")],
            additional_headers=token,
        ) as ws,
        client.stream("POST", url, json=following, headers=events) as stream,
    ):
        await ws.send(json.dumps({"type": "connection_init"}))
        assert json.loads(await ws.recv()) == {"type": "connection_ack"}
        await ws.send(json.dumps({"type": "subscribe", "id": "1", "payload": following}))
        lines = stream.aiter_lines()

        async def from_stream() -> None:
            while "seen through the proxy" not in await anext(lines):
                pass

        async def from_socket() -> None:
            while "seen through the proxy" not in str(await ws.recv()):
                pass

        async with asyncio.timeout(30):
            receiving = asyncio.gather(from_stream(), from_socket())
            while not receiving.done():  # they begin at some time
                await client.post(url, json=write, headers=token)
            await receiving


async def test_the_api_is_served_over_tls_to_callers_with_a_credential_only(behind: Service, proxy: Proxy) -> None:
    status, out, err = await run_command(
        "token", "create", "agent", "--access", "write", "--scope", "*", "--json", env=behind.environment
    )
    assert status == 0, err
    token = {"Authorization": f"Bearer {json.loads(out)['token']}"}

    async def listens() -> bool:
        with closing(socket.socket()) as listener:
            return listener.connect_ex(("127.0.0.1", int(proxy.https.rpartition(":")[2]))) == 0

    await until(listens)
    trusted = ssl.create_default_context(cafile=str(proxy.directory / "certificate.pem"))
    given = {"source": "s", "sourceKind": "EVENT", "content": {"summary": "seen through the proxy"}}
    body = {"query": CAPTURE, "variables": {"input": given}}
    async with httpx.AsyncClient(verify=trusted, timeout=60, headers={"Host": NAME}) as client:
        refused = await client.post(f"{proxy.https}/graphql", json=body)
        assert "UNAUTHENTICATED" in refused.text
        answer = await client.post(f"{proxy.https}/graphql", json=body, headers=token)
        assert answer.json()["data"] == {"captureMemory": {"primaryRecord": {"name": "seen through the proxy"}}}
        assert "max-age" in answer.headers["Strict-Transport-Security"]
        redirected = await client.post(f"{proxy.http}/graphql", json=body)
        assert (redirected.status_code, redirected.headers["location"]) == (301, f"https://{NAME}/graphql")

        content = os.urandom(3 << 20)
        uploaded = await client.put(f"{proxy.https}/artifacts", content=content, headers=token)
        assert uploaded.status_code == 201
        uri = uploaded.json()["uri"]
        assert (await client.get(f"{proxy.https}/artifacts/{uri}", headers=token)).content == content
        assert (await client.get(f"{proxy.https}/artifacts/{uri}")).status_code == 401
        large = await client.post(f"{proxy.https}/graphql", content=bytes(MAX_BODY_BYTES + 1), headers=token)
        assert large.status_code == 413

        await check_streams(client, f"{proxy.https}/graphql", token, trusted, body)
        for path in ("/", "/livez", "/readyz", "/healthz", "/metrics", "/graphiql", "/static/start.js"):
            assert (await client.get(f"{proxy.https}{path}", headers=token)).status_code == 404, path
        await client.get(f"{proxy.https}/graphql", params={"query": "{ secretive }"}, headers=token)
    log = (proxy.directory / "stratagraph.log").read_text()
    assert '"POST /graphql" 200' in log
    logs = log + (proxy.directory / "stratagraph-error.log").read_text() + (proxy.directory / "error.log").read_text()
    assert [word for word in ("secretive", "Bearer", json.loads(out)["token"]) if word in logs] == []
