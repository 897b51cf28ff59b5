"""A local Neo4j server, downloaded, started, queried and stopped."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import neo4j
import psutil
import pytest
from fix_neo4j import wipe
from typer.testing import CliRunner

from stratagraph.service.cli.neo4j import app
from stratagraph.service.local_neo4j import LINES, LocalNeo4j, LocalServer
from stratagraph.service.local_neo4j.conf import line_with_data
from stratagraph.store.model.errors import MirrorUnavailable

LONG_TERM = LINES[-1].version

pytestmark = pytest.mark.neo4j


@pytest.fixture
def local(tmp_path: Path, neo4j_cache_with_jars: Path, quick_java: None) -> Iterator[LocalNeo4j]:
    local = LocalNeo4j(tmp_path / "neo4j", neo4j_cache_with_jars)
    yield local
    local.stop()


def ask(server: LocalServer, query: str) -> object:
    with neo4j.GraphDatabase.driver(server.bolt) as driver:
        return driver.execute_query(query).records[0][0]


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
    assert query.status_code == 404, "HTTP answers no queries, since without a password any web page could send them"

    # A test of `wipe`, which the fixture `clean_neo4j` uses; here because another server would take long to start.
    ask(second, "UNWIND range(1, 2001) AS i CREATE (n:Left)-[:BY]->(:Test) RETURN count(n)")
    with neo4j.GraphDatabase.driver(second.bolt) as driver:
        driver.execute_query("CREATE CONSTRAINT `left ``over` FOR (n:Left) REQUIRE n.id IS UNIQUE")
        driver.execute_query("CREATE CONSTRAINT kept_key FOR (n:Left) REQUIRE n.key IS UNIQUE")
    wipe(second.bolt)
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
    }
    for arguments in (["start", "--json"], ["status", "--json"]):
        result = command.invoke(app, arguments)
        assert (result.exit_code, json.loads(result.stdout)) == (0, expected)
    assert "has stopped" in command.invoke(app, ["stop"]).stdout
    assert not psutil.pid_exists(second.pid)
    assert command.invoke(app, ["status"]).exit_code == 3
    assert line_with_data(local.home) == LINES[-1], "the next start uses the same line, whatever Java is installed then"


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
