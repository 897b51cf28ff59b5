"""A local Neo4j server, downloaded, started, queried and stopped."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import socket
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import neo4j
import psutil
import pytest
from fix_memory import until
from fix_neo4j import wipe, write_conf_without_password
from typer.testing import CliRunner

from stratagraph.service.cli.neo4j import app
from stratagraph.service.local_neo4j import LINES, LocalNeo4j, LocalServer, choose_version, find_javas
from stratagraph.service.local_neo4j import server as server_module
from stratagraph.service.local_neo4j.conf import line_with_data
from stratagraph.service.local_neo4j.java import Line
from stratagraph.service.local_neo4j.password import credentials
from stratagraph.service.runtime import mirror_of
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import MirrorUnavailable, Misconfigured

LONG_TERM = LINES[-1].version

pytestmark = pytest.mark.neo4j


@pytest.fixture
def local(tmp_path: Path, neo4j_cache_with_jars: Path, quick_java: None) -> Iterator[LocalNeo4j]:
    local = LocalNeo4j(tmp_path / "neo4j", neo4j_cache_with_jars)
    yield local
    local.stop()


def ask(server: LocalServer, query: str, **parameters: object) -> object:
    with neo4j.GraphDatabase.driver(server.bolt, auth=credentials(server.home)) as driver:
        return driver.execute_query(query, parameters).records[0][0]


def start_as_earlier_versions_did(local: LocalNeo4j) -> LocalServer:
    """Start a server without a password, in directories that every user of the machine can read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_module, "write_conf", write_conf_without_password)
        patch.setattr(server_module, "ensure_credentials", lambda home: ("neo4j", "unused"))
        patch.setattr(server_module, "admit_only", lambda *_: None)
        started = local.start(version=LONG_TERM)
    local.home.chmod(0o755)
    return started


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def web_server() -> Iterator[tuple[int, list[str]]]:
    """A server on loopback that answers each GET with a line of CSV. Yields its port, and the paths of requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"leaked\n")

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield web.server_port, asked
        web.shutdown()


def listening_on(server: LocalServer) -> set[str]:
    connections = psutil.Process(server.pid).net_connections()
    return {str(c.laddr.ip).removeprefix("::ffff:") for c in connections if c.status == psutil.CONN_LISTEN}


@pytest.mark.soak
def test_data_survive_a_restart_with_neo4j_browser_and_the_stop_command_stops_the_server(
    local: LocalNeo4j, neo4j_cache_with_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert local.running() is None
    assert local.stop() is False

    with ThreadPoolExecutor(2) as pool:
        first, same = pool.map(lambda _: local.start(version=LONG_TERM), range(2))
    assert first == same == local.running() == local.start(), "two starts, also at the same time, give one server"
    assert first.version == LONG_TERM
    assert first.browser is None
    assert all(ipaddress.ip_address(address).is_loopback for address in listening_on(first))
    ask(first, "CREATE (n:Kept {name: 'kept'}) RETURN n.name")

    steps: list[str] = []
    second = local.start(browser=True, on_step=steps.append)
    assert any("restarting it with Neo4j Browser" in step for step in steps)
    assert not psutil.pid_exists(first.pid)
    assert second.version == LONG_TERM, "a restart keeps the version, and so the data"
    assert ask(second, "MATCH (n:Kept) RETURN n.name") == "kept"
    assert all(ipaddress.ip_address(address).is_loopback for address in listening_on(second))
    assert second.browser is not None
    page = httpx.get(second.browser)
    assert page.status_code == 200
    assert "<title>Neo4j Browser</title>" in page.text
    root = second.browser.removesuffix("browser/")
    assert httpx.get(root).json()["bolt_direct"] == second.bolt, "the page gets the address of the server from here"
    query = httpx.post(f"{root}db/neo4j/query/v2", json={"statement": "RETURN 1"})
    assert query.status_code == 404, "HTTP answers no queries"

    # A test of `wipe`, which the fixture `clean_neo4j` uses; here because another server would take long to start.
    ask(second, "UNWIND range(1, 2001) AS i CREATE (n:Left)-[:BY]->(:Test) RETURN count(n)")
    with neo4j.GraphDatabase.driver(second.bolt, auth=credentials(second.home)) as driver:
        driver.execute_query("CREATE CONSTRAINT `left ``over` FOR (n:Left) REQUIRE n.id IS UNIQUE")
        driver.execute_query("CREATE CONSTRAINT kept_key FOR (n:Left) REQUIRE n.key IS UNIQUE")
    wipe(second.bolt, credentials(second.home))
    assert ask(second, "MATCH (n) RETURN count(n)") == 0
    assert ask(second, "SHOW CONSTRAINTS YIELD name RETURN collect(name)") == ["kept_key"]

    monkeypatch.setenv("STRATAGRAPH_DATA_DIR", str(local.home.parent))
    monkeypatch.setenv("STRATAGRAPH_CACHE_DIR", str(neo4j_cache_with_jars.parent))
    monkeypatch.delenv("STRATAGRAPH_NEO4J_URI", raising=False)
    command = CliRunner()
    expected = {
        "running": True,
        "bolt": second.bolt,
        "browser": second.browser,
        "version": LONG_TERM,
        "pid": second.pid,
        "user": "neo4j",
        "password_file": str(second.password_file),
    }
    shown = command.invoke(app, ["status"])
    assert str(second.password_file) in shown.stdout
    assert second.password_file.read_text().strip() not in shown.output
    for arguments in (["start", "--json"], ["status", "--json"]):
        result = command.invoke(app, arguments)
        assert (result.exit_code, json.loads(result.stdout)) == (0, expected)
    assert "has stopped" in command.invoke(app, ["stop"]).stdout
    assert not psutil.pid_exists(second.pid)
    assert command.invoke(app, ["status"]).exit_code == 3
    assert line_with_data(local.home) == LINES[-1], "the next start uses the same line, whatever Java is installed then"


def check_only_the_owner_can_query_and_no_query_can_load(local: LocalNeo4j, server: LocalServer) -> None:
    """Check who may query a server with a password, that no query loads from anywhere, and where the password is."""
    assert (mode(server.home), mode(server.password_file)) == (0o700, 0o600)
    auth = credentials(server.home)
    assert auth is not None
    # A page in a browser has no password. Wrong ones, however many, do not lock the service out.
    guesses = [None, ("", ""), ("neo4j", ""), *[("neo4j", "neo4j")] * 4]
    for guess in guesses:
        with neo4j.GraphDatabase.driver(server.bolt, auth=guess) as driver, pytest.raises(neo4j.exceptions.AuthError):
            driver.verify_connectivity()
    assert ask(server, "RETURN 1") == 1
    readable = local.home / "import" / "names.csv"
    readable.parent.mkdir(exist_ok=True)
    readable.write_text("leaked\n")
    with web_server() as (port, asked), socket.create_server(("127.0.0.1", 0)) as listener:
        ftp = listener.getsockname()[1]
        addresses = [
            *(f"http://{host}:{port}/x" for host in ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]")),
            *(f"ftp://127.0.0.1:{ftp}/x", "file:///names.csv", f"file://{readable}", f"jar:file:{readable}!/x"),
        ]
        assert httpx.get(addresses[0]).text == "leaked\n"
        asked.clear()
        for address in addresses:
            with pytest.raises(neo4j.exceptions.Neo4jError):
                ask(server, "LOAD CSV FROM $address AS row RETURN row", address=address)
        assert asked == []
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()
    _, password = auth
    process = psutil.Process(server.pid)
    assert password not in " ".join([*process.cmdline(), *process.environ().values()])
    files = [path for path in local.home.rglob("*") if path.is_file() and path != server.password_file]
    assert [path for path in files if password.encode() in path.read_bytes()] == []


@pytest.mark.soak
@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.name))
def test_only_the_owner_of_the_home_can_query_and_no_query_can_load_from_anywhere(
    local: LocalNeo4j, line: Line
) -> None:
    try:
        choose_version(line.version, find_javas())
    except Misconfigured:
        pytest.skip(f"no {line.java_range} here")
    check_only_the_owner_can_query_and_no_query_can_load(local, local.start(version=line.version))


async def test_a_server_without_a_password_gets_one_at_the_next_start_and_running_processes_follow(
    local: LocalNeo4j,
) -> None:
    old = await asyncio.to_thread(start_as_earlier_versions_did, local)
    settings = Settings.load({}, data_dir=local.home.parent)
    async with mirror_of(settings) as mirror:
        await mirror.write("CREATE (:Kept)")
        assert local.running() == old, "an upgrade alone changes nothing"
        steps: list[str] = []
        new = await asyncio.to_thread(local.start, on_step=steps.append)
        assert any("restarting it with a password" in step for step in steps)
        assert (new.bolt, new.version) == (old.bolt, old.version)
        assert (mode(new.home), mode(new.password_file)) == (0o700, 0o600)
        async with neo4j.AsyncGraphDatabase.driver(new.bolt) as stranger:
            with pytest.raises(neo4j.exceptions.AuthError):
                await stranger.verify_connectivity()

        async def answers_again() -> bool:
            with suppress(MirrorUnavailable):
                await mirror.ping()
                return True
            return False

        await until(answers_again)
        assert await mirror.count_elements("(x:Kept)") == 1, "the mirror is kept"
        assert await asyncio.to_thread(local.start) == new
    # Here because another server would take long to start; `make soak` checks new servers of both lines.
    await asyncio.to_thread(check_only_the_owner_can_query_and_no_query_can_load, local, new)


@pytest.mark.soak
def test_a_password_that_was_changed_in_neo4j_is_an_error_and_deleting_the_file_gives_a_new_one(
    local: LocalNeo4j,
) -> None:
    first = local.start(version=LONG_TERM)
    before = credentials(first.home)
    assert before is not None
    ask(first, "CREATE (n:Kept) RETURN 1")
    with neo4j.GraphDatabase.driver(first.bolt, auth=before) as driver:
        change = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
        driver.execute_query(change, old=before[1], new="chosen-by-a-user", database_="system")
    local.stop()
    with pytest.raises(MirrorUnavailable, match="delete the file") as caught:
        local.start()
    assert str(first.password_file) in caught.value.message
    assert before[1] not in caught.value.message
    assert local.running() is None
    first.password_file.write_text("chosen-by-a-user\n")
    assert ask(local.start(), "MATCH (n:Kept) RETURN count(n)") == 1
    first.password_file.unlink()
    again = local.start()
    assert credentials(again.home) not in (None, before, ("neo4j", "chosen-by-a-user"))
    assert ask(again, "MATCH (n:Kept) RETURN count(n)") == 1
    # An earlier version may be used in between: it leaves the password file, and does not use it.
    local.stop()
    start_as_earlier_versions_did(local)
    steps: list[str] = []
    local.start(on_step=steps.append)
    assert any("restarting it with a password" in step for step in steps)


def test_a_server_that_cannot_start_raises_the_reason_and_leaves_no_process(local: LocalNeo4j) -> None:
    with pytest.raises(MirrorUnavailable, match=r"ended during its start(.|\n)*memory") as caught:
        local.start(version=LONG_TERM, page_cache="999999g")
    assert "STRATAGRAPH_NEO4J_URI" in caught.value.message
    assert local.running() is None
    assert not (local.home / "run" / "server.json").exists()


@pytest.mark.soak
def test_the_newer_line_of_neo4j_answers_on_loopback(newer_neo4j_server: LocalServer) -> None:
    assert newer_neo4j_server.version == LINES[0].version
    version = ask(newer_neo4j_server, "CALL dbms.components() YIELD versions RETURN versions[0]")
    assert str(version).startswith("2026.")
    assert all(ipaddress.ip_address(address).is_loopback for address in listening_on(newer_neo4j_server))
