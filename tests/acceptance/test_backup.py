"""`stratagraph backup` and `restore`: a drill on a real data directory, refusals, and kills at random instants."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from fix_memory import until
from fix_service import CAPTURE, MASTER_KEY, Client, Forked, environment, run_command, running

from stratagraph.service.backups.making import make_backup
from stratagraph.service.backups.manifest import DUMP, MANIFEST, SUMS, read_manifest, read_sums, write_sums
from stratagraph.service.backups.restoring import restore_backup
from stratagraph.service.backups.staging import SUFFIX
from stratagraph.service.backups.steps import Steps
from stratagraph.service.embedded_postgres import EmbeddedPostgres, postgres_binaries
from stratagraph.service.settings import Settings
from stratagraph.store.keys.sealing.master import LocalMasterKey, MasterKey, from_text
from stratagraph.store.model.errors import InvalidInput, Misconfigured

pytestmark = pytest.mark.xdist_group("backup")  # the fixture `backup` is made once
ASK = """{ retrieveGraph(input: {taskDescriptor: "the Zugspitze is high"}) {
  ... on RetrieveGraphSuccess { nodes { record { id text } } } ... on MemoryError { message } } }"""
TABLES = """SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' ORDER BY 1"""
DIGEST = 'SELECT count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text COLLATE "C")) FROM {} t'


def program(name: str, *arguments: str) -> bytes:
    return subprocess.run([str(postgres_binaries() / name), *arguments], capture_output=True, check=True).stdout


def contents(url: str) -> dict[str, Any]:
    """Everything that a database has: rows of each table, sequences, definitions with owners and rights, roles."""
    with psycopg.connect(url) as connection:
        names = [name for (name,) in connection.execute(TABLES).fetchall()]
        found: dict[str, Any] = {name: connection.execute(DIGEST.format(name)).fetchone() for name in names}
        found["sequences"] = connection.execute(
            "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1"
        ).fetchall()
    for key, dump in (
        ("schema", program("pg_dump", "--schema-only", url)),
        ("roles", program("pg_dumpall", "--roles-only", "--no-role-passwords", "-d", url)),
    ):
        lines = (line for line in dump.splitlines() if b"restrict " not in line)
        # The roles of a policy are listed in the order in which they were made.
        found[key] = sorted(b" ".join(sorted(line.replace(b",", b" ").split())) for line in lines)
    return found


def names_below(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*"))


def event(text: str, **more: Any) -> dict[str, Any]:
    return {"source": "drill", "sourceKind": "EVENT", "content": {"summary": text}, **more}


@dataclass
class Backup:
    """A backup, the data directory that it was made of, the file with its master key, and what the source held."""

    path: Path
    source: Path
    key_file: Path
    key: str
    contents: dict[str, Any]
    answer: Any

    @property
    def master(self) -> MasterKey:
        return from_text(self.key, where="the test")

    def copy(self, to: Path) -> Path:
        return Path(shutil.copytree(self.path, to))


@dataclass
class Load:
    """Clients that go on writing: captures, uploads, and uploads of the same bytes, which replace stored objects."""

    client: Client
    captured: list[str]
    stopped: asyncio.Event

    async def capture(self, number: int) -> None:
        while not self.stopped.is_set():
            level = ("LOW", "HIGH")[len(self.captured) % 2]
            given = event(f"load {number} {len(self.captured)}", sensitivity=level)
            answer = await self.client.data(CAPTURE, input=given)
            self.captured.append(answer["captureMemory"]["primaryRecord"]["id"])

    async def upload(self, number: int) -> None:
        while not self.stopped.is_set():
            for content in (b"one", b"two", b"three"):
                body = b"%d %s" % (number, content * 5_000)
                answer = await self.client.http.put(f"{self.client.url}/artifacts", content=body)
                assert answer.status_code in (200, 201)


async def check_backup_under_load(client: Client, directory: Path, env: dict[str, str]) -> None:
    """Check a backup made while clients write: it has what was acknowledged before, and every object that it names."""
    load = Load(client, [], asyncio.Event())
    writers = [asyncio.create_task(load.capture(number)) for number in range(2)]
    writers += [asyncio.create_task(load.upload(number)) for number in range(2)]

    async def some() -> bool:
        return len(load.captured) >= 10

    await until(some)
    before = list(load.captured)
    status, out, err = await run_command("backup", str(directory), "--json", env=env)
    load.stopped.set()
    await asyncio.gather(*writers)
    assert status == 0, err
    assert load.captured[len(before) :], "the writers went on during the backup"
    made = json.loads(out)
    assert made["missing_artifacts"] == []
    dump = str(directory / DUMP)
    records = program("pg_restore", "--data-only", "--table=record", "--file=-", dump).decode()
    assert [id_ for id_ in before if id_ not in records] == []
    artifacts = program("pg_restore", "--data-only", "--table=artifact", "--file=-", dump).decode()
    rows = artifacts.partition("COPY public.artifact (")[2]
    columns = [name.strip() for name in rows.partition(")")[0].split(",")]
    objects = {
        row.split("\t")[columns.index("object")].replace("-", "")
        for row in rows.partition("\n")[2].partition("\n\\.")[0].splitlines()
    }
    assert {path.name.rpartition(".")[2] for path in (directory / "artifacts").rglob("*.*")} == objects
    assert made["artifacts"] == len(objects) == 7
    assert read_sums(directory, read_manifest(directory)).keys() >= {DUMP}


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backup]:
    """A data directory with records of each sensitivity and artifacts, and a backup made after its service stopped."""
    place = tmp_path_factory.mktemp("backup")
    source = place / "source"

    async def fill() -> Any:
        env = environment(data_dir=str(source))
        with running(data_dir=str(source)) as service:
            assert service.url is not None
            async with httpx.AsyncClient(timeout=60) as http:
                client = Client(http, service.url)
                upload = await http.put(f"{service.url}/artifacts", content=b"a picture" * 1_000)
                uri = upload.json()["uri"]
                given = event("the Zugspitze is high", sensitivity="HYPER", context={"artifacts": [uri]})
                await client.data(CAPTURE, input=given)
                await check_backup_under_load(client, place / "under-load", env)
                return await client.data(ASK)

    answer = asyncio.run(fill())
    with EmbeddedPostgres(source).running() as url:
        env = environment(data_dir=str(source))
        status, _, err = asyncio.run(
            run_command("backup", str(place / "one"), "--key-to", str(place / "apart.key"), env=env)
        )
        assert status == 0, err
        found = contents(url)
    yield Backup(
        path=place / "one",
        source=source,
        key_file=place / "apart.key",
        key=(place / "apart.key").read_text().strip(),
        contents=found,
        answer=answer,
    )
    shutil.rmtree(place)


async def test_a_restored_copy_has_every_row_right_and_artifact_of_the_source(backup: Backup, tmp_path: Path) -> None:
    data = tmp_path / "elsewhere" / "data"
    env = environment(data_dir=str(data))
    assert stat.S_IMODE(backup.key_file.stat().st_mode) == 0o600
    for path in (backup.path, *backup.path.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    status, out, err = await run_command(
        "restore", str(backup.path), "--key-file", str(backup.key_file), "--json", env=env
    )
    assert status == 0, err
    assert json.loads(out)["records"] == backup.contents["public.record"][0] > 10
    with EmbeddedPostgres(data).running() as url:
        restored = contents(url)
        for name, found in backup.contents.items():
            assert restored[name] == found, name
        assert restored.keys() == backup.contents.keys()
        with psycopg.connect(url) as connection:
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            identifier = connection.execute("SELECT system_identifier FROM pg_control_system()").fetchone()
        status, out, err = await run_command("audit", "verify", "--json", env=env)
        assert (status, json.loads(out)["whole"]) == (0, True), err
        with running(data_dir=str(data)) as service:
            assert service.url is not None
            async with httpx.AsyncClient(timeout=60) as http:
                client = Client(http, service.url)
                assert "Zugspitze" in json.dumps(backup.answer)
                assert await client.data(ASK) == backup.answer
                for name in read_sums(backup.path, read_manifest(backup.path)):
                    if name.startswith("artifacts/"):
                        digest = name.rsplit("/", 1)[1].partition(".")[0]
                        answer = await http.get(f"{service.url}/artifacts/sha256:{digest}")
                        assert answer.status_code == 200, name
    with EmbeddedPostgres(backup.source).running() as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT system_identifier FROM pg_control_system()").fetchone() != identifier


async def test_the_master_key_is_in_no_file_of_the_backup(backup: Backup) -> None:
    raw = base64.b64decode(backup.key)
    forms = [backup.key.encode(), raw, raw.hex().encode()]
    plain = program("pg_restore", "--file=-", str(backup.path / DUMP))
    files = [path.read_bytes() for path in backup.path.rglob("*") if path.is_file()]
    assert [form for form in forms for file in (*files, plain) if form in file] == []
    assert b"Zugspitze" not in plain
    assert backup.master.name.encode() in plain


def change(name: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def apply(directory: Path) -> None:
        path = directory / name
        path.write_bytes(edit(path.read_bytes()))

    return apply


def set_in_manifest(**values: Any) -> Callable[[Path], None]:
    return change(MANIFEST, lambda text: json.dumps(json.loads(text) | values).encode())


def add_foreign_path(directory: Path) -> None:
    manifest = read_manifest(directory)
    sums = read_sums(directory, manifest) | {"artifacts/../../outside": "0" * 64}
    set_in_manifest(sums_sha256=write_sums(directory, sums))(directory)


def drop_artifact(directory: Path) -> None:
    next(path for path in (directory / "artifacts").rglob("*") if path.is_file()).unlink()


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (lambda directory: (directory / MANIFEST).unlink(), "is not a backup"),
    (change(MANIFEST, lambda text: text[:-20]), "manifest.json is missing or was changed"),
    (set_in_manifest(format=2), "has format 2, and this version of Stratagraph reads up to 1"),
    (set_in_manifest(schema_revision="9999"), "schema revision 9999"),
    (set_in_manifest(postgres=990_001), "PostgreSQL 99"),
    (change(SUMS, lambda text: text[:-1]), "SHA256SUMS is missing or was changed"),
    (change(DUMP, lambda data: data[:-1] + bytes([data[-1] ^ 1])), "database.dump is missing or was changed"),
    (change(DUMP, lambda data: data[:-1]), "database.dump is missing or was changed"),
    (drop_artifact, "artifacts/"),
    (add_foreign_path, "SHA256SUMS is missing or was changed"),
]


async def test_a_damaged_or_newer_backup_is_refused_before_anything_is_written(backup: Backup, tmp_path: Path) -> None:
    data = tmp_path / "place" / "data"
    for number, (damage, message) in enumerate(DAMAGES):
        copy = backup.copy(tmp_path / str(number))
        damage(copy)
        with pytest.raises(InvalidInput) as caught:
            await restore_backup(copy, data, Steps(), masters=[backup.master])
        assert message in caught.value.message
        assert not data.parent.exists()


async def test_a_wrong_or_missing_master_key_is_refused_and_the_right_one_named(backup: Backup, tmp_path: Path) -> None:
    data = tmp_path / "place" / "data"
    name = backup.master.name

    class Impostor(LocalMasterKey):
        """Another key that has the name of the right one, as a key management service's might."""

        @property
        def name(self) -> str:
            return backup.master.name

    wrong: list[tuple[list[MasterKey], str]] = [
        ([], f"needs the master key {name}, and none was given"),
        ([LocalMasterKey(bytes(32))], f"needs the master key {name}, and given was local:"),
        ([Impostor(bytes(32))], "cannot unwrap a key of this database"),
    ]
    for masters, message in wrong:
        with pytest.raises(Misconfigured, match=message):
            await restore_backup(backup.path, data, Steps(), masters=masters)
        assert not data.parent.exists()
    status, out, err = await run_command(
        "restore", str(backup.path), env=environment(data_dir=str(data), master_key=MASTER_KEY)
    )
    assert (status, out) == (1, "")
    assert f"needs the master key {name}" in " ".join(err.split())
    assert not data.parent.exists()


async def test_nothing_is_overwritten(backup: Backup, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "note").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"):
        await restore_backup(backup.path, data, Steps(), masters=[backup.master])
    mounts = [Path(one.mountpoint) for one in psutil.disk_partitions(all=True)]
    for mount in [path for path in mounts if path.is_dir() and not any(path.iterdir())][:1]:
        with pytest.raises(InvalidInput, match="is a mount point"):
            await restore_backup(backup.path, mount, Steps(), masters=[backup.master])
    assert names_below(tmp_path) == ["data", "note"]
    at = Settings.load({}, data_dir=backup.source)
    for target, message in (
        (backup.path, "exists already"),
        (data, "exists already"),
        (backup.source / "inside", "lies in the data directory"),
    ):
        with pytest.raises(InvalidInput, match=message):
            await make_backup(at, target, Steps())
    with pytest.raises(Misconfigured, match="There is no database"):
        await make_backup(Settings.load({}, data_dir=data), tmp_path / "new", Steps())
    assert names_below(tmp_path) == ["data", "note"]


async def test_the_master_key_is_copied_only_apart_and_never_over_another_file(backup: Backup, tmp_path: Path) -> None:
    env = environment(data_dir=str(backup.source))
    other = tmp_path / "other.key"
    other.write_text("something else")
    for more, key_to, message in (
        ({}, tmp_path / "new" / "master.key", "lies in the backup"),
        ({}, other, "holds something else"),
        ({"STRATAGRAPH_MASTER_KEY_HOOK": "kms:connect"}, tmp_path / "key", "cannot be copied"),
    ):
        status, out, err = await run_command("backup", str(tmp_path / "new"), "--key-to", str(key_to), env=env | more)
        assert (status, out) == (1, "")
        assert message in " ".join(err.split())
        assert names_below(tmp_path) == ["other.key"]
    assert other.read_text() == "something else"


async def test_a_database_of_your_own_is_not_backed_up_and_the_page_with_the_commands_is_named(tmp_path: Path) -> None:
    env = environment(database_url="postgresql://x@127.0.0.1:9/x", data_dir=str(tmp_path / "data"))
    for command in ("backup", "restore"):
        status, _, err = await run_command(command, str(tmp_path / "one"), env=env)
        assert status == 1
        assert "docs/operations.md" in err
    status, _, err = await run_command(
        "restore", str(tmp_path), env=environment(data_dir=str(tmp_path / "data"), artifact_url="s3://bucket")
    )
    assert status == 1
    assert "Unset it for the restore" in " ".join(err.split())
    assert names_below(tmp_path) == []


def test_an_object_that_is_replaced_during_the_backup_is_in_it_and_one_that_is_lost_is_listed(
    backup: Backup, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    key_file = ("master.key", backup.key.encode())
    asyncio.run(restore_backup(backup.path, source, Steps(), masters=[backup.master], key_file=key_file))
    names = sorted(name for name in read_sums(backup.path, read_manifest(backup.path)) if name.startswith("artifacts/"))
    lost, replaced = names[0], names[-1]
    (source / lost).unlink()
    content = tmp_path / "content"
    with running(data_dir=str(source)) as service:
        assert service.url is not None
        digest = replaced.rsplit("/", 1)[1].partition(".")[0]
        content.write_bytes(httpx.get(f"{service.url}/artifacts/sha256:{digest}").content)
        uploads: list[httpx.Response] = []

        def begin(step: str, _: int) -> None:
            """Upload the bytes again once the objects are listed: the stored object is replaced, and removed."""
            if step == "artifacts" and not uploads:
                uploads.append(httpx.put(f"{service.url}/artifacts", content=content.read_bytes()))

        at = Settings.load({}, data_dir=source)
        manifest = asyncio.run(make_backup(at, tmp_path / "two", Steps(begin=begin)))
    assert uploads[0].status_code in (200, 201)
    assert [f"artifacts/{one}" for one in manifest.missing_artifacts] == [lost]
    found = [name for name in read_sums(tmp_path / "two", manifest) if name.startswith("artifacts/")]
    assert len(found) == len(names) - 1
    assert replaced not in found
    assert [name for name in found if digest in name]


def killed_during(arguments: list[str], env: dict[str, str], after_s: float) -> None:
    """Run a command and kill it after this time, if it has not ended by itself."""
    with Path(os.devnull).open("a") as err:
        process = Forked(arguments, env, err)
    try:
        process.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def seconds_of(work: Callable[[], Any]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def instants(kills: int) -> list[float]:
    """Return shares of the time that a command takes when it is not killed: one at random in each of equal parts."""
    drawn = random.Random(kills)
    return [(number + drawn.random()) / kills for number in range(kills)]


KILLS = pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.soak)])


@KILLS
def test_a_restore_that_is_killed_leaves_nothing_or_all(backup: Backup, tmp_path: Path, kills: int) -> None:
    data = tmp_path / "data"
    partial = data.with_name(data.name + SUFFIX)
    command = ["restore", str(backup.path), "--key-file", str(backup.key_file)]
    env = environment(data_dir=str(data))
    whole_s = seconds_of(lambda: killed_during(command, env, 120))

    def check_whole() -> None:
        assert not partial.exists()
        with EmbeddedPostgres(data).running() as url, psycopg.connect(url) as connection:
            rows = connection.execute("SELECT count(*) FROM record").fetchone()
        assert rows == (backup.contents["public.record"][0],)
        assert (data / "master.key").read_text().strip() == backup.key
        shutil.rmtree(data)

    check_whole()

    left = []
    for instant in instants(kills):
        killed_during(command, env, instant * whole_s)
        if data.exists():
            check_whole()
        elif partial.exists():
            left.append(instant)
            asyncio.run(until(lambda: _stopped(EmbeddedPostgres(partial))))
    assert left, "a restore was killed before it was complete"
    killed_during(command, env, 120)  # removes what the one before left
    check_whole()


async def _stopped(server: EmbeddedPostgres) -> bool:
    return not server.is_running()


@KILLS
def test_a_backup_that_is_killed_leaves_nothing_or_all(backup: Backup, tmp_path: Path, kills: int) -> None:
    target = tmp_path / "one"
    env = environment(data_dir=str(backup.source))
    with EmbeddedPostgres(backup.source).running():
        command = ["backup", str(target)]
        whole_s = seconds_of(lambda: killed_during(command, env, 120))

        def check_whole() -> None:
            manifest = read_manifest(target)
            assert manifest.rows == read_manifest(backup.path).rows
            sums = read_sums(target, manifest)
            checked = subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=target, check=False)
            assert (checked.returncode, len(sums)) == (0, manifest.artifacts + 2)
            shutil.rmtree(target)

        check_whole()

        for instant in instants(kills):
            killed_during(command, env, instant * whole_s)
            if target.exists():
                check_whole()
        killed_during(command, env, 120)
        check_whole()
        assert list(tmp_path.iterdir()) == []
