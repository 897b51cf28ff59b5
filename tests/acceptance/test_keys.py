"""Encryption at rest, seen from outside: no secret is stored in plain text; keys are created, lost and rotated.

The search test reads every file that the service leaves: pg_dump, the cluster's files with their WAL, the server's
log, the service's log. WAL compression is off in that test, because it could hide a text. The same captures at `low`
are found by the same search, which shows that the search works.
"""

from __future__ import annotations

import asyncio
import base64
import json
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import neo4j
import psycopg
import pytest
from fix_memory import Memory
from fix_service import Client, environment, run_command, running

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import SyncConfig, SyncWorker
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.service.embedded_postgres import EmbeddedPostgres, postgres_binaries
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind

CAPTURE = """mutation($input: CaptureMemoryInput!) { captureMemory(input: $input) {
  ... on CaptureMemorySuccess { primaryRecord { id name text payload } }
  ... on MemoryError { code message } } }"""
ASK = """query($task: String!) { retrieveGraph(input: {taskDescriptor: $task}) {
  ... on RetrieveGraphSuccess { nodes { record { name text payload } root } } ... on MemoryError { message } } }"""
FAIL = """CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
CREATE TRIGGER fail BEFORE INSERT ON candidate FOR EACH ROW WHEN (NEW.state = 'committed') EXECUTE FUNCTION fail()"""
STOP_FAILING = "DROP FUNCTION fail() CASCADE"

MARKERS = [
    *(
        "Qsubjectq",
        "Qobjectq",
        "Qevidenceq",
        "Qreasonq",
        "Qsourceq",
        "Qturnq",
        "Qthreadq",
        "Qtoolq",
        "Qargq",
        "Qresultq",
    ),
    *("Qoutcomeq", "Qdraftq", "Qrevisedq", "Qentityq", "Qaliasq", "Qidentifierq", "Qplanq", "Qopq", "Qfailedq"),
    *("Qreplayq", "Qsummaryq", "Qmentionq", "Qcontextq"),
]


def captures(mark: str) -> list[dict[str, Any]]:
    """One capture of each kind; each marker, with `mark` appended, is in one of them."""

    def m(name: str) -> str:
        assert name in MARKERS
        return f"{name}{mark}"

    thread = m("Qthreadq")
    working = {"thread_id": f"{thread}-w", "state": "planning"}
    return [
        {
            "sourceKind": "OBSERVATION",
            "content": {
                "subject": m("Qsubjectq"),
                "predicate": "prefers",
                "object": m("Qobjectq"),
                "evidence": [{"kind": "human", "ref": m("Qevidenceq")}],
            },
            "reasonToRemember": f"because {m('Qreasonq')}",
            "source": m("Qsourceq"),
        },
        {
            "sourceKind": "AGENT_TURN",
            "content": {"role": "user", "text": f"say {m('Qturnq')}", "thread_id": thread},
            "summary": f"about {m('Qsummaryq')}",
            "context": {"mentions": [{"name": m("Qmentionq")}]},
        },
        {
            "sourceKind": "TOOL_OUTPUT",
            "content": {
                "tool_name": m("Qtoolq"),
                "args": {"path": m("Qargq")},
                "result": m("Qresultq"),
                "thread_id": thread,
                "call_id": f"{thread}-1",
            },
        },
        {
            "sourceKind": "OUTCOME",
            "content": {"thread_id": thread, "outcome_status": "success", "reason": f"it was {m('Qoutcomeq')}"},
        },
        {"sourceKind": "WORKING_STATE", "content": {**working, "next_actions": [m("Qdraftq")]}},
        {"sourceKind": "WORKING_STATE", "content": {**working, "next_actions": [m("Qrevisedq")]}},
        {"sourceKind": "WORKING_STATE", "content": {**working, "next_actions": ["nothing"]}},
        {
            "sourceKind": "OBSERVATION",
            "proposedType": "ENTITY",
            "content": {
                "kind": "entity",
                "canonical_name": m("Qentityq"),
                "aliases": [{"value": m("Qaliasq")}],
                "identifiers": [{"namespace": "email", "value": f"{m('Qidentifierq')}@example.org"}],
            },
        },
        {
            "sourceKind": "OBSERVATION",
            "proposedType": "PLAN_GRAPH",
            "content": {
                "kind": "plan_graph",
                "plan_id": m("Qplanq"),
                "version": "1",
                "nodes": [{"id": "a", "op": m("Qopq")}, {"id": "b", "op": "end"}],
                "edges": [{"from": "a", "to": "b", "kind": "control"}],
            },
        },
        *(
            {"sourceKind": "EVENT", "content": {"summary": m("Qreplayq")}, "idempotencyKey": f"Qreplayq{mark}"}
            for _ in range(2)
        ),
    ]


def failing(mark: str) -> dict[str, Any]:
    content, context = {"summary": f"Qfailedq{mark}"}, {"note": f"Qcontextq{mark}"}
    return {"sourceKind": "EVENT", "content": content, "context": context, "source": f"Qfailedq{mark}"}


def forms(marker: str) -> list[bytes]:
    """The encodings a text may have in a file: as given or in lower case; plain, hexadecimal (pg_dump), UTF-16."""
    return [
        form
        for word in (marker, marker.lower())
        for form in (word.encode(), word.encode().hex().encode(), word.encode("utf-16-le"))
    ]


def found_in(mark: str, heap: bytes) -> set[str]:
    return {marker for marker in MARKERS if any(form in heap for form in forms(f"{marker}{mark}"))}


@dataclass
class Deployment:
    """A service on a Postgres cluster of its own, with its data directory and log file."""

    client: Client
    data: Path
    logs: Path
    url: str  # connects as the owner of the database, who bypasses row-level security

    def sql(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    async def capture(self, given: dict[str, Any], sensitivity: str) -> dict[str, Any]:
        full = {"source": "grep", "sensitivity": sensitivity} | given
        answer = (await self.client.data(CAPTURE, input=full))["captureMemory"]
        assert isinstance(answer, dict)
        return answer

    def dump(self) -> bytes:
        return subprocess.run([str(postgres_binaries() / "pg_dump"), self.url], capture_output=True, check=True).stdout

    def files(self) -> dict[str, bytes]:
        """The bytes of every file that the service left, by kind of file."""
        self.sql("CHECKPOINT")
        cluster = [path for path in (self.data / "postgres").rglob("*") if path.is_file()]
        wal = [path for path in cluster if path.parent.name == "pg_wal"]
        assert wal
        return {
            "dump": self.dump(),
            "wal": b"".join(path.read_bytes() for path in wal),
            "cluster": b"".join(path.read_bytes() for path in cluster if path not in wal),
            "server log": (self.data / "postgres.log").read_bytes(),
            "service log": self.logs.read_bytes(),
        }


@pytest.fixture
async def deployment(tmp_path: Path) -> AsyncIterator[Deployment]:
    data, logs = tmp_path / "data", tmp_path / "service.log"
    with EmbeddedPostgres(data).running() as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE stratagraph SET wal_compression = off")
    with running(data_dir=str(data), log_level="debug", log=str(logs)) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=60) as http:
            yield Deployment(Client(http, service.url), data, logs, url)


async def test_nothing_at_or_above_the_encryption_level_is_stored_in_plain_text(deployment: Deployment) -> None:
    for mark, level in (("plain", "LOW"), ("tight", "HIGH"), ("closed", "HYPER")):
        for given in captures(mark):
            assert "primaryRecord" in await deployment.capture(given, level), given
        deployment.sql(FAIL)
        answer = await deployment.capture(failing(mark), level)
        assert (answer["code"], "kept as candidate" in answer["message"]) == ("UNAVAILABLE", True)
        deployment.sql(STOP_FAILING)
    left = deployment.files()
    for kind in ("dump", "cluster", "wal"):
        assert found_in("plain", left[kind]) == set(MARKERS), f"the search must find the plain captures in the {kind}"
    assert b"capture failed" in left["service log"]
    for kind, heap in left.items():
        for mark in ("tight", "closed"):
            assert found_in(mark, heap) == set(), kind
    for kind in ("server log", "service log"):
        assert found_in("plain", left[kind]) == set(), kind
    await check_search_by_words(deployment)


async def check_search_by_words(deployment: Deployment) -> None:
    """Check that a permitted caller finds the encrypted records by their words."""
    for marker in ("Qturnq", "Qresultq", "Qobjectq", "Qreplayq"):
        nodes = (await deployment.client.data(ASK, task=f"{marker}tight"))["retrieveGraph"]["nodes"]
        assert f"{marker}tight" in json.dumps([node["record"] for node in nodes if node["root"]]), marker
    entities = "query($name: String!) { entities(name: $name) { name payload } }"
    for name in ("Qentityqtight", "Qaliasqclosed"):
        (entity,) = (await deployment.client.data(entities, name=name))["entities"]
        assert name in json.dumps(entity)


async def test_search_finds_only_records_visible_to_the_caller(deployment: Deployment) -> None:
    await deployment.capture({"sourceKind": "EVENT", "content": {"summary": "Qturnq for the few"}}, "HIGH")
    narrow = """query { retrieveGraph(input: {taskDescriptor: "Qturnq", maxSensitivity: MEDIUM}) {
      ... on RetrieveGraphSuccess { nodes { record { name } } } } }"""
    assert (await deployment.client.data(narrow))["retrieveGraph"]["nodes"] == []


@pytest.mark.neo4j
async def test_the_mirror_contains_nothing_of_encrypted_records(memory: Memory, clean_neo4j: str) -> None:
    for mark, level in (("plain", Sensitivity.LOW), ("tight", Sensitivity.HIGH)):
        for given in captures(mark):
            request = CaptureRequest(
                source="grep",
                source_kind=SourceKind[given["sourceKind"]],
                content=given["content"],
                sensitivity=level,
                proposed_type=MemoryType[given["proposedType"]] if "proposedType" in given else None,
            )
            await memory.capture.capture(memory.trust, [request])
    async with Mirror(clean_neo4j, user=None, password=None, database="neo4j") as mirror:
        config = SyncConfig(names_up_to=Sensitivity.MEDIUM)
        worker = SyncWorker(memory.database, memory.directory, mirror, config)
        assert (await worker.run_once()).dead_letters == 0
        await worker.release()
    with neo4j.GraphDatabase.driver(clean_neo4j) as driver, driver.session() as session:
        nodes = session.run("MATCH (n) RETURN collect({l: labels(n), p: properties(n)}) AS nodes").single(strict=True)
        edges = session.run("MATCH ()-[r]->() RETURN collect({t: type(r), p: properties(r)}) AS r").single(strict=True)
    heap = json.dumps([nodes.data(), edges.data()], default=str).encode()
    assert {"Qsubjectq", "Qentityq", "Qopq"} <= found_in("plain", heap)
    assert found_in("tight", heap) == set()


@pytest.fixture
def data_directory(tmp_path: Path) -> Iterator[Path]:
    """A data directory whose Postgres keeps running between commands; otherwise each command starts and stops it."""
    with EmbeddedPostgres(tmp_path / "data").running():
        yield tmp_path / "data"


async def test_a_master_key_file_is_created_rotated_and_reported_when_missing(
    data_directory: Path, tmp_path: Path
) -> None:
    env = environment(data_dir=str(data_directory))
    status, out, err = await run_command("keys", "list", "--json", env=env)
    assert (status, json.loads(out)) == (0, []), err
    file = data_directory / "master.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    event = {"source": "s", "sourceKind": "EVENT", "content": {"summary": "kept"}, "sensitivity": "HIGH"}
    with running(data_dir=str(data_directory)) as service:
        assert service.url is not None
        async with httpx.AsyncClient(timeout=30) as http:
            await Client(http, service.url).data(CAPTURE, input=event)
        status, out, err = await run_command("keys", "list", "--json", env=env)
        assert status == 0, err
        (key,) = json.loads(out)
        assert (key["tenant"], key["id"], key["rows"]["records"], key["newest"]) == ("default", 1, 1, True)
        status, out, err = await run_command("keys", "rotate", env=env)
        assert status == 0, err
        assert "made key 2" in out
        async with httpx.AsyncClient(timeout=30) as http:
            nodes = (await Client(http, service.url).data("{ records { nodes { name } } }"))["records"]["nodes"]
        assert {"name": "kept"} in nodes
    kept = file.read_text()
    file.unlink()
    status, _, err = await run_command("ask", "kept", env=env)
    assert status == 1
    assert "master.keyismissing" in "".join(err.split())
    assert not file.exists()
    file.write_text(base64.b64encode(b"w" * 32).decode())
    status, _, err = await run_command("ask", "kept", env=env)
    assert status == 1
    assert "wrapped by the master key" in " ".join(err.split())
    assert "Traceback" not in err
    status, out, err = await run_command("keys", "generate", env=environment())
    assert status == 0
    assert len(base64.b64decode(out)) == 32
    moved = tmp_path / "old.key"
    moved.write_text(kept)
    file.write_text(out)
    status, out, err = await run_command("keys", "rotate", "--master-from", str(moved), "--json", env=env)
    assert status == 0, err
    assert json.loads(out) == {"rewrapped": 2}
    status, out, err = await run_command("ask", "kept", env=env)
    assert status == 0, err
    assert "kept" in out


HOOK = '''
"""A minimal key management service, whose key is in a file beside it."""
from pathlib import Path


class FileKms:
    name = "file-kms:one"

    def __init__(self, key):
        self._key = key

    async def wrap(self, key):
        return bytes(a ^ b for a, b in zip(key, self._key, strict=True))

    async def unwrap(self, wrapped):
        return await self.wrap(wrapped)


def connect():
    return FileKms(Path(__file__).with_suffix(".key").read_bytes())
'''


@pytest.fixture
def hook(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "file_kms.py").write_text(HOOK)
    (tmp_path / "file_kms.key").write_bytes(b"k" * 32)
    return {"PYTHONPATH": str(tmp_path), "STRATAGRAPH_MASTER_KEY_HOOK": "file_kms:connect"}


async def test_a_key_management_hook_wraps_the_keys(database_url: str, tmp_path: Path, hook: dict[str, str]) -> None:
    env = environment(database_url=database_url, data_dir=str(tmp_path)) | hook
    events = tmp_path / "traces.jsonl"
    events.write_text(json.dumps({"messages": [{"role": "user", "content": "hello"}], "outcome": "success"}))
    status, _, err = await run_command("import", "traces", str(events), "--json", env=env)
    assert status == 0, err
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT DISTINCT wrapped_by FROM tenant").fetchall() == [("file-kms:one",)]
    text = base64.b64encode(bytes(32)).decode()
    restored = environment(database_url=database_url, data_dir=str(tmp_path), master_key=text)
    restored |= {"PYTHONPATH": str(tmp_path)}
    status, out, err = await run_command("keys", "rotate", "--master-from", "file_kms:connect", "--json", env=restored)
    assert status == 0, err
    assert json.loads(out) == {"rewrapped": 1}
    status, out, err = await run_command("ask", "hello", "--json", env=restored)
    assert status == 0, err
    assert "hello" in out


async def test_an_external_database_needs_a_master_key_or_encryption_off(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url=database_url, data_dir=str(tmp_path))
    key = base64.b64encode(bytes(32)).decode()
    cases = [
        (env, "stratagraph keys generate"),
        (env | {"STRATAGRAPH_MASTER_KEY": "hunter2"}, "base64 of 32 bytes"),
        (env | {"STRATAGRAPH_MASTER_KEY": key, "STRATAGRAPH_MASTER_KEY_HOOK": "a:b"}, "set only one of"),
        (env | {"STRATAGRAPH_SECRETS_DIR": str(tmp_path / "none")}, "cannot be read"),
        (env | {"STRATAGRAPH_MASTER_KEY_HOOK": "no_such_module:x"}, "is not a module:factory"),
        (env | {"STRATAGRAPH_ENCRYPT_FROM": "sometimes"}, "STRATAGRAPH_ENCRYPT_FROM"),
    ]
    done = await asyncio.gather(*(run_command("ask", "x", env=settings) for settings, _ in cases))
    for (status, out, err), (_, expected) in zip(done, cases, strict=True):
        assert (status, out) == (1, ""), expected
        assert expected in " ".join(err.split())
        assert "hunter2" not in err
        assert "Traceback" not in err
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM tenant").fetchone() == (0,)
    status, _, err = await run_command("ask", "x", env=env | {"STRATAGRAPH_ENCRYPT_FROM": "off"})
    assert status == 0, err
