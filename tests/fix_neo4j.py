"""Fixtures that need a Neo4j: `neo4j_server`, `newer_neo4j_server`, `clean_neo4j`, `neo4j_cache_with_jars`.

STRATAGRAPH_TEST_NEO4J_URI names a server to use instead of a local one. It must work without authentication.
`clean_neo4j` deletes all its data, so never name a server with data that you need.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import neo4j
import platformdirs
import pytest

from stratagraph.graph_sync.statements import SCHEMA, relation_constraint
from stratagraph.service.local_neo4j import LINES, LocalNeo4j, LocalServer, choose_version, find_javas, server
from stratagraph.service.local_neo4j.conf import JVM_FLAGS, WITH_PASSWORD, conf_file, write_conf
from stratagraph.service.local_neo4j.files import browser_jars, server_jars
from stratagraph.service.local_neo4j.ports import Ports
from stratagraph.store.model.errors import Misconfigured, StratagraphError
from stratagraph.store.model.predicates import INVERSES, LINEAGE

NEWER, LONG_TERM = LINES
GIVEN = "STRATAGRAPH_TEST_NEO4J_URI"
# The user's ordinary cache, so that the test runs of all checkouts together download the jars once.
CACHE = platformdirs.user_cache_path("stratagraph") / "neo4j"

COLLECTOR, SERIAL = "-XX:+UseG1GC", "-XX:+UseSerialGC"
KEEPING_PLANS = "dbms.cypher.min_replan_interval=24h\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenServer:
    """The server that STRATAGRAPH_TEST_NEO4J_URI names."""

    bolt: str


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to download the jars that the collected tests need, in one xdist process, while other tests run.

    A fixture that needs them waits for the rest of the download, and reports an error of it.
    """
    needing = [item for item in session.items if item.get_closest_marker("neo4j") is not None]
    is_first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0"
    if needing and is_first and not session.config.option.collectonly and not os.environ.get(GIVEN):
        with_browser = any("chromium" in getattr(item, "fixturenames", ()) for item in needing)
        threading.Thread(target=_download, args=(with_browser,), name="neo4j-jars", daemon=True).start()


def _download(with_browser: bool) -> None:
    with contextlib.suppress(StratagraphError):
        version, java = choose_version(LONG_TERM.version, find_javas())
        server_jars(CACHE, version, java, lambda _: None)
        if with_browser:
            browser_jars(CACHE, java, lambda _: None)


@pytest.fixture(scope="session")
def neo4j_cache() -> Path:
    return CACHE


@pytest.fixture(scope="session")
def neo4j_cache_with_jars(neo4j_cache: Path) -> Path:
    """A cache with the jars of the long-term line, to start servers from. Skips or fails as `neo4j_server` does."""
    if os.environ.get(GIVEN):
        pytest.skip("STRATAGRAPH_TEST_NEO4J_URI names a server, so this test, which starts its own, does not run")
    with _skipped_without_neo4j():
        version, java = choose_version(LONG_TERM.version, find_javas())
        server_jars(neo4j_cache, version, java, print)
    return neo4j_cache


@pytest.fixture(scope="session")
def quick_java() -> Iterator[None]:
    """Let the short-lived servers of tests spend less processor time on compiling: Java, and Cypher's plans.

    Without the second JIT compiler a server starts in half the time; the larger code cache spares it a thread that
    looks for code to discard. Classes come from an archive beside the jars, written by the first session: without it,
    each server parses and verifies them again. A small heap is collected with less work by one thread. The servers that
    this process starts, which each test empties and fills, do not plan a statement again because the graph has changed:
    half the time of a server of the tests went into that.
    """

    def write_keeping_plans(
        home: Path, version: str, *, ports: Ports, browser: bool, heap: str, page_cache: str
    ) -> Path:
        folder = write_conf(home, version, ports=ports, browser=browser, heap=heap, page_cache=page_cache)
        with conf_file(home).open("a", encoding="utf-8") as conf:
            conf.write(KEEPING_PLANS)
        return folder

    options = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    if (archive := _class_archive()) is not None and archive.exists():
        options += f" -XX:SharedArchiveFile={archive}"  # the JVM ignores an archive of other jars
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", options, prepend=" ")
        patch.setattr(server, "write_conf", write_keeping_plans)
        patch.setattr(server, "JVM_FLAGS", [SERIAL if flag == COLLECTOR else flag for flag in JVM_FLAGS])
        yield


@pytest.fixture(scope="session")
def neo4j_server(
    tmp_path_factory: pytest.TempPathFactory, neo4j_cache: Path, quick_java: None
) -> Iterator[LocalServer | GivenServer]:
    """A Neo4j of the long-term line for the test session. Where none can be started, skips; with CI=true, fails."""
    if uri := os.environ.get(GIVEN):
        yield GivenServer(bolt=uri)
        return
    home = tmp_path_factory.mktemp("neo4j")
    with _archiving_classes() as options, _started(LONG_TERM.version, home, neo4j_cache, options) as started:
        _create_schema(started.bolt)
        yield started


@pytest.fixture(scope="session")
def newer_neo4j_server(
    tmp_path_factory: pytest.TempPathFactory, neo4j_cache: Path, quick_java: None
) -> Iterator[LocalServer | GivenServer]:
    """A Neo4j of the newest line. Skips, also with CI=true, where no Java can run it."""
    try:
        choose_version(NEWER.version, find_javas())
    except Misconfigured:
        pytest.skip(f"no {NEWER.java_range} here, which Neo4j {NEWER.version} needs (skips in CI too)")
    with _started(NEWER.version, tmp_path_factory.mktemp("neo4j-newer"), neo4j_cache) as started:
        yield started


@pytest.fixture
def clean_neo4j(neo4j_server: LocalServer | GivenServer) -> str:
    """The Bolt address of a Neo4j without nodes."""
    wipe(neo4j_server.bolt)
    return neo4j_server.bolt


def write_conf_without_password(
    home: Path, version: str, *, ports: Ports, browser: bool, heap: str, page_cache: str
) -> Path:
    """Write the configuration of a server that asks for no password, as a server that STRATAGRAPH_TEST_NEO4J_URI names.

    Such a server accepts any password, too.
    """
    folder = write_conf(home, version, ports=ports, browser=browser, heap=heap, page_cache=page_cache)
    conf = conf_file(home)
    text = conf.read_text(encoding="utf-8")
    assert text.count(WITH_PASSWORD) == 1
    # Otherwise each statement is planned again every 10 s in a small graph, which takes much processor time.
    text = text.replace(WITH_PASSWORD, "dbms.security.auth_enabled=false") + KEEPING_PLANS
    conf.write_text(text, encoding="utf-8")
    return folder


def wipe(bolt: str, auth: tuple[str, str] | None = None) -> None:
    """Delete all nodes, and all constraints except the mirror's, which take longer to create than a test runs."""
    with neo4j.GraphDatabase.driver(bolt, auth=auth) as driver, driver.session() as session:
        for name in session.run("SHOW CONSTRAINTS YIELD name WHERE NOT name ENDS WITH '_key' RETURN name").value():
            session.run(f"DROP CONSTRAINT {_quoted(name)}").consume()
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 2000 ROWS").consume()


def _create_schema(bolt: str) -> None:
    """Create the mirror's indexes and constraints, of all built-in relations.

    Neo4j plans every statement again after a constraint was created, as a worker does for each new type of relation.
    """
    with neo4j.GraphDatabase.driver(bolt, notifications_min_severity="OFF") as driver, driver.session() as session:
        relations = sorted(INVERSES.keys() | LINEAGE)
        for statement in (*SCHEMA, *(relation_constraint(name.upper()) for name in relations)):
            session.run(statement).consume()


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


class BoltProxy:
    """A proxy in front of Bolt. When shut, it aborts and refuses connections; when stalled, it forwards no bytes."""

    def __init__(self, bolt: str, *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen on `host` and `port`, 0 for a free one."""
        address = urlsplit(bolt)
        self._target = (address.hostname, address.port)
        self._host = host
        self.port = port
        self._pipes: set[asyncio.Task[None]] = set()
        self._moving = asyncio.Event()
        self._moving.set()
        self.open = True
        self.connections = 0
        self.uri = ""

    async def __aenter__(self) -> BoltProxy:
        self._server = await asyncio.start_server(self._serve, self._host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        self.uri = f"bolt://{self._host}:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self.shut()
        await self._server.wait_closed()

    async def shut(self) -> None:
        self.open = False
        for pipe in [*self._pipes]:
            pipe.cancel()
        await asyncio.gather(*self._pipes, return_exceptions=True)

    def stall(self) -> None:
        self._moving.clear()

    def resume(self) -> None:
        self._moving.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._pipes.add(task)
        ends = [writer]
        try:
            if self.open:
                far_reader, far_writer = await asyncio.open_connection(*self._target)
                ends.append(far_writer)
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._copy(reader, far_writer))
                    group.create_task(self._copy(far_reader, writer))
        except (asyncio.CancelledError, ExceptionGroup):
            return
        finally:
            self._pipes.discard(task)
            for end in ends:
                end.transport.abort()

    async def _copy(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 16):
            await self._moving.wait()
            target.write(data)
            await target.drain()
        raise ConnectionResetError


def _class_archive() -> Path | None:
    """Return the path of the archive of the classes of a server of the long-term line; None without a Java for it."""
    try:
        version, java = choose_version(LONG_TERM.version, find_javas())
    except Misconfigured:
        return None
    executable = java.executable.resolve()
    build = hashlib.sha256(f"{executable} {executable.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    return CACHE / f"classes-{version}-{build}.jsa"


@contextmanager
def _archiving_classes() -> Iterator[str]:
    """Yield the JVM options with which the server of the block writes the archive of its classes, if there is none yet.

    Only one xdist process writes it, which takes about 15 s of processor time.
    """
    archive = _class_archive()
    if archive is None or archive.exists() or os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0":
        yield ""
        return
    written = archive.with_name(f"{archive.name}.{os.getpid()}")
    yield f"-XX:ArchiveClassesAtExit={written}"
    if written.exists():
        for outdated in archive.parent.glob("classes-*.jsa"):
            outdated.unlink(missing_ok=True)
        written.replace(archive)


@contextmanager
def _started(version: str, home: Path, cache: Path, options: str = "") -> Iterator[LocalServer]:
    local = LocalNeo4j(home, cache)
    with _skipped_without_neo4j(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", options, prepend=" ")
        patch.setattr(server, "write_conf", write_conf_without_password)
        started = local.start(version=version)
    try:
        yield started
    finally:
        local.stop()


@contextmanager
def _skipped_without_neo4j() -> Iterator[None]:
    try:
        yield
    except StratagraphError as e:
        why = f"{e.message} For tests the variable is STRATAGRAPH_TEST_NEO4J_URI."
        if os.environ.get("CI"):
            pytest.fail(f"CI needs a Neo4j: {why}", pytrace=False)
        pytest.skip(f"no Neo4j here: {why}")
