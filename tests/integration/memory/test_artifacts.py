"""Artifacts: what is put comes back, to those who may have it, for as long as somebody needs it (SPEC §3, §4)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import obstore
import pytest
from fix_jobs import server_of
from fix_memory import Memory, trust_of, until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import LocalStore, MemoryStore, ObjectStore

from stratagraph.memory.artifacts import Artifacts, Fetched
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.artifacts.objects import GRACE, uri_of
from stratagraph.store.artifacts.references import release_artifacts
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import Access, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import (
    ArtifactDamaged,
    Forbidden,
    InvalidInput,
    LimitExceeded,
    RecordNotFound,
    StoreUnavailable,
)
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Role

LIMIT = 1_000  # bytes
NAMES = ("files", "memory")


@pytest.fixture(params=NAMES)
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """A real directory, and the same protocol as a bucket."""
    return LocalStore(tmp_path / "objects", mkdir=True) if request.param == "files" else MemoryStore()


@pytest.fixture
def artifacts(memory: Memory, objects: ObjectStore) -> Artifacts:
    return on(memory, objects)


@pytest.fixture
def bucket(memory: Memory) -> Artifacts:
    """Where it makes no difference what the store is."""
    return on(memory, MemoryStore())


def on(memory: Memory, objects: ObjectStore, directory: Directory | None = None) -> Artifacts:
    blobs = Blobs(objects)
    return Artifacts(memory.database, directory or memory.directory, memory.clock, blobs, max_bytes=LIMIT)


async def stream(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 7):
        yield data[start : start + 7]


async def put(artifacts: Artifacts, trust: Trust, data: bytes, **more: Any) -> str:
    return (await artifacts.put(trust, stream(data), **more)).uri


def keys(objects: ObjectStore) -> list[str]:
    return sorted(item["path"] for chunk in obstore.list(objects) for item in chunk)


def event(*uris: str, **more: Any) -> dict[str, Any]:
    return {"event_kind": "build", "ref": "ci#1", "artifacts": list(uris), **more}


async def remember(memory: Memory, *uris: str, **more: Any) -> UUID:
    return (await memory.remember(SourceKind.EVENT, event(*uris), **more)).primary.id


async def erase(memory: Memory, record: UUID) -> list[bytes]:
    """What an eraser does with a record's artifacts, in its transaction."""
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    async with memory.database.background(Role.ERASE) as connection:
        return await release_artifacts(connection, tenant, [record])


async def one(memory: Memory, statement: str) -> Any:
    async with memory.database.engine.begin() as connection:
        return (await connection.exec_driver_sql(statement)).scalar_one()


async def test_what_is_put_comes_back_with_its_media_type(artifacts: Artifacts, memory: Memory) -> None:
    uploaded = await artifacts.put(memory.trust, stream(b"hello"), media_type="text/plain; charset=utf-8")
    assert uploaded.is_new
    assert uploaded.uri == f"sha256:{hashlib.sha256(b'hello').hexdigest()}"
    assert uploaded.size_bytes == 5
    fetched = await artifacts.get(memory.trust, uploaded.uri)
    assert fetched == Fetched(sha256=uploaded.sha256, media_type="text/plain; charset=utf-8", data=b"hello")


async def test_the_same_bytes_are_stored_once(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    first = await artifacts.put(memory.trust, stream(b"hello"))
    again = await artifacts.put(memory.trust, stream(b"hello"))
    assert (first.is_new, again.is_new) == (True, False)
    assert first.uri == again.uri
    assert len(keys(objects)) == 1
    assert await one(memory, "SELECT count(*) FROM artifact_removal") == 0
    assert (await artifacts.get(memory.trust, again.uri)).data == b"hello"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=LIMIT))
async def test_any_bytes_come_back_equal(data: bytes, memory: Memory, artifacts: Artifacts) -> None:
    uri = await put(artifacts, memory.trust, data)
    assert uri == uri_of(hashlib.sha256(data).digest())
    assert (await artifacts.get(memory.trust, uri)).data == data


@pytest.mark.parametrize("at", [0, 11, 12, 20, -1])
async def test_a_flipped_byte_is_noticed_and_nothing_of_the_bytes_leaves(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore, at: int
) -> None:
    uri = await put(artifacts, memory.trust, b"some bytes that matter")
    (key,) = keys(objects)
    kept = bytearray(obstore.get(objects, key).bytes())
    kept[at] ^= 1
    obstore.put(objects, key, bytes(kept))
    with pytest.raises(ArtifactDamaged) as caught:
        await artifacts.get(memory.trust, uri)
    assert "matter" not in caught.value.message
    assert await put(artifacts, memory.trust, b"some bytes that matter") == uri  # which mends it
    assert (await artifacts.get(memory.trust, uri)).data == b"some bytes that matter"


@pytest.mark.parametrize("damage", [lambda kept: kept[:-1], lambda kept: kept + b"x", lambda kept: kept * 100])
async def test_a_cut_or_longer_object_is_noticed(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore, damage: Callable[[bytes], bytes]
) -> None:
    uri = await put(artifacts, memory.trust, b"some bytes")
    (key,) = keys(objects)
    obstore.put(objects, key, damage(bytes(obstore.get(objects, key).bytes())))
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)


async def test_a_missing_object_is_noticed(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    uri = await put(artifacts, memory.trust, b"some bytes")
    obstore.delete(objects, keys(objects))
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)


async def test_an_object_of_another_artifact_does_not_pass(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"one")
    (first,) = keys(objects)
    await put(artifacts, memory.trust, b"two")
    (second,) = set(keys(objects)) - {first}
    obstore.put(objects, first, bytes(obstore.get(objects, second).bytes()))
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)


async def test_the_bytes_are_sealed_at_rest(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    await put(artifacts, memory.trust, b"a secret in plain words")
    (key,) = keys(objects)
    assert b"secret" not in bytes(obstore.get(objects, key).bytes())
    assert await one(memory, "SELECT sealed IS NOT NULL FROM artifact")


async def test_without_encryption_the_bytes_lie_plain_and_are_verified_all_the_same(
    memory: Memory, objects: ObjectStore
) -> None:
    plain = on(memory, objects, Directory(memory.database, Vault(memory.database, seal_from=None)))
    trust = trust_of(tenant="plain")
    uri = await put(plain, trust, b"in plain words")
    (key,) = keys(objects)
    assert bytes(obstore.get(objects, key).bytes()) == b"in plain words"
    assert (await plain.get(trust, uri)).data == b"in plain words"
    obstore.put(objects, key, b"in plain wordz")
    with pytest.raises(ArtifactDamaged):
        await plain.get(trust, uri)


async def test_limits_and_announcements_are_held_to_and_leave_nothing(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    assert await put(artifacts, memory.trust, b"x" * LIMIT)
    with pytest.raises(LimitExceeded, match="STRATAGRAPH_ARTIFACT_MAX_BYTES"):
        await put(artifacts, memory.trust, b"x" * (LIMIT + 1))
    with pytest.raises(InvalidInput, match="send it again"):
        await put(artifacts, memory.trust, b"hello", expected=hashlib.sha256(b"hullo").digest())
    for media_type in ("nonsense", "text/html\r\nX-Evil: 1", "text/html\n", "a/" + "b" * 300, "text/plain; x"):
        with pytest.raises(InvalidInput, match="Content-Type"):
            await put(artifacts, memory.trust, b"hello", media_type=media_type)
    with pytest.raises(Forbidden):
        await put(artifacts, trust_of(access=Access.READ), b"hello")
    with pytest.raises(InvalidInput, match="hexadecimal"):
        await artifacts.get(memory.trust, "sha256:abc")
    assert len(keys(objects)) == 1
    assert await one(memory, "SELECT count(*) FROM artifact") == 1


async def test_a_store_that_cannot_be_reached_is_said_to_be_and_leaves_nothing_behind(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "objects").mkdir()
    artifacts = on(memory, LocalStore(tmp_path / "objects"))
    (tmp_path / "objects").rmdir()
    (tmp_path / "objects").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        await put(artifacts, memory.trust, b"hello")
    assert await one(memory, "SELECT count(*) FROM artifact") == 0
    assert await one(memory, "SELECT count(*) FROM artifact_removal") == 1  # in case some of it was written
    (tmp_path / "objects").unlink()
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 1
    assert await one(memory, "SELECT count(*) FROM artifact_removal") == 0


# Who may have it.


async def test_before_a_record_takes_it_up_an_upload_is_its_uploaders(bucket: Artifacts, memory: Memory) -> None:
    uri = await put(bucket, trust_of(actor="ann"), b"hello")
    for other in (trust_of(actor="bob"), trust_of(tenant="globex", actor="ann")):
        with pytest.raises(RecordNotFound):
            await bucket.get(other, uri)
        with pytest.raises(InvalidInput, match="PUT /artifacts"):
            await remember(memory, uri, trust=other)
    assert (await bucket.get(trust_of(actor="ann"), uri)).data == b"hello"


async def test_from_then_on_whoever_reads_the_record_in_full_may_have_it(bucket: Artifacts, memory: Memory) -> None:
    uri = await put(bucket, memory.trust, b"hello")
    await remember(memory, uri, scope="project:a", sensitivity=Sensitivity.MEDIUM)
    for scopes, ceiling in ((None, Sensitivity.HYPER), ({"project:a"}, Sensitivity.MEDIUM)):
        reader = trust_of(actor="reader", access=Access.READ, scopes=scopes, ceiling=ceiling)
        assert (await bucket.get(reader, uri)).data == b"hello"
    for actor, scopes, ceiling in (
        ("reader", {"project:b"}, Sensitivity.HYPER),
        ("reader", set(), Sensitivity.HYPER),
        ("reader", None, Sensitivity.LOW),  # sees the record redacted
        ("tester", {"project:a"}, Sensitivity.LOW),  # who uploaded it: the record decides now
    ):
        with pytest.raises(RecordNotFound):
            await bucket.get(trust_of(actor=actor, scopes=scopes, ceiling=ceiling), uri)
    with pytest.raises(RecordNotFound):
        await bucket.get(trust_of(tenant="globex"), uri)


async def test_one_record_in_sight_is_enough(bucket: Artifacts, memory: Memory) -> None:
    uri = await put(bucket, memory.trust, b"hello")
    await remember(memory, uri, sensitivity=Sensitivity.HIGH)
    public = await remember(memory, uri, sensitivity=Sensitivity.PUBLIC)
    reader = trust_of(actor="reader", ceiling=Sensitivity.PUBLIC, scopes=set())
    assert (await bucket.get(reader, uri)).data == b"hello"
    assert await erase(memory, public) == []
    with pytest.raises(RecordNotFound):
        await bucket.get(reader, uri)


async def test_sending_bytes_that_others_hide_here_tells_nothing(bucket: Artifacts, memory: Memory) -> None:
    """The second uploader's answers are those it would get if it were the first, to the last header."""
    ann, bob = trust_of(actor="ann"), trust_of(actor="bob", ceiling=Sensitivity.LOW)
    await put(bucket, ann, b"hello", media_type="application/x-secret")
    await remember(memory, uri_of(hashlib.sha256(b"hello").digest()), trust=ann, sensitivity=Sensitivity.HYPER)
    uploaded = await bucket.put(bob, stream(b"hello"), media_type="text/plain")
    assert uploaded.is_new
    assert (await bucket.get(bob, uploaded.uri)).media_type == "text/plain"
    record = await remember(memory, uploaded.uri, trust=bob)
    assert (await bucket.get(bob, uploaded.uri)).media_type == "text/plain"
    assert await erase(memory, record) == []
    with pytest.raises(RecordNotFound):
        await bucket.get(bob, uploaded.uri)
    await bucket.put(bob, stream(b"hello"))
    memory.clock.forward(GRACE)
    with pytest.raises(RecordNotFound):  # as if it had been collected
        await bucket.get(bob, uploaded.uri)


async def test_a_mention_does_not_open_an_artifact_to_wider_readers(bucket: Artifacts, memory: Memory) -> None:
    """An entity of another scope stands in for what is captured; its readers are not the capture's."""
    entity = {"kind": "entity", "canonical_name": "Acme"}
    await memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    uri = await put(bucket, memory.trust, b"hello")
    with pytest.raises(InvalidInput, match="another scope or sensitivity"):
        await memory.remember(
            SourceKind.OBSERVATION,
            entity,
            proposed_type=MemoryType.ENTITY,
            scope="project:a",
            context={"artifacts": [uri]},
        )
    assert await one(memory, "SELECT count(*) FROM artifact_reference") == 0


# What a capture names.


@pytest.mark.parametrize(
    ("kind", "content", "context", "path"),
    [
        (SourceKind.EVENT, {"event_kind": "e", "artifacts": ["a word", "URI"]}, None, ["content", "artifacts", "1"]),
        (SourceKind.EVENT, {"event_kind": "e"}, {"artifacts": ["URI"]}, ["context", "artifacts", "0"]),
        (
            SourceKind.EPISODE,
            {"timeline": [{"t": "2026-01-01T00:00:00Z", "event_kind": "e", "ref": ""}], "artifacts": ["URI"]},
            None,
            ["content", "artifacts", "0"],
        ),
        (
            SourceKind.OBSERVATION,
            {
                "subject": "a",
                "predicate": "is",
                "object": "b",
                "evidence": [{"kind": "event", "ref": "r", "hash": "URI"}],
            },
            None,
            ["content", "evidence", "0", "hash"],
        ),
        (
            SourceKind.OBSERVATION,
            {"subject": "a", "predicate": "is", "object": "b", "evidence": [{"kind": "artifact", "ref": "URI"}]},
            None,
            ["content", "evidence", "0", "ref"],
        ),
        (
            SourceKind.WORKING_STATE,
            {"thread_id": "t", "state": "planning"},
            {"artifacts": ["URI"]},
            ["context", "artifacts", "0"],
        ),
    ],
)
async def test_a_capture_links_the_artifacts_it_names(
    bucket: Artifacts,
    memory: Memory,
    kind: SourceKind,
    content: dict[str, Any],
    context: dict[str, Any] | None,
    path: list[str],
) -> None:
    data = b"hello"
    uri = uri_of(hashlib.sha256(data).digest())

    def said(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: said(item) for key, item in value.items()}
        if isinstance(value, list):
            return [said(item) for item in value]
        return uri if value == "URI" else value

    with pytest.raises(InvalidInput, match="PUT /artifacts") as caught:
        await memory.remember(kind, said(content), context=said(context))
    assert caught.value.path == path
    assert await one(memory, "SELECT count(*) FROM record") == 0
    await put(bucket, memory.trust, data)
    record = (await memory.remember(kind, said(content), context=said(context))).primary.id
    assert await one(memory, "SELECT array_agg(record) FROM artifact_reference") == [record]


async def test_a_string_of_another_form_stays_a_word(memory: Memory) -> None:
    words = ("sha256:abc", "md5:" + "0" * 64, "report.pdf", "x sha256:" + "0" * 64)
    record = (await memory.remember(SourceKind.EVENT, event(*words), context={"artifacts": list(words)})).primary
    assert record.payload is not None
    assert record.payload["timeline"][0]["content"]["artifacts"] == list(words)


async def test_malformed_or_too_many_artifacts_are_refused(memory: Memory) -> None:
    for wrong in ("sha256:" + "0" * 64, [1], {"a": 1}):
        with pytest.raises(InvalidInput, match="list of strings"):
            await memory.remember(SourceKind.EVENT, event(), context={"artifacts": wrong})
    many = [uri_of(number.to_bytes(32, "big")) for number in range(257)]
    with pytest.raises(InvalidInput, match="256") as caught:
        await remember(memory, *many)
    assert caught.value.path == ["content", "artifacts", "256"]


async def test_a_batch_names_the_item_whose_artifact_is_missing(memory: Memory) -> None:
    requests = [
        CaptureRequest(source="test", source_kind=SourceKind.EVENT, content=event()),
        CaptureRequest(source="test", source_kind=SourceKind.EVENT, content=event(uri_of(bytes(32)))),
    ]
    with pytest.raises(InvalidInput) as caught:
        await memory.capture.capture(memory.trust, requests, batch=True)
    assert caught.value.path == ["items", "1", "content", "artifacts", "0"]


# How long it stays.


async def test_an_artifact_goes_with_its_last_owner(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    uri = await put(artifacts, memory.trust, b"hello")
    records = [await remember(memory, uri) for _ in range(2)]
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    digest = hashlib.sha256(b"hello").digest()
    assert await erase(memory, records[0]) == []
    assert await erase(memory, records[1]) == [digest]
    with pytest.raises(RecordNotFound):
        await artifacts.get(memory.trust, uri)
    assert len(keys(objects)) == 1  # as after a crash between the commit and the removal
    assert await artifacts.remove_released(tenant, [digest]) == 1
    assert await artifacts.remove_released(tenant, [digest]) == 0
    assert keys(objects) == []
    assert await one(memory, "SELECT count(*) FROM artifact_removal") == 0


async def test_a_crash_after_the_commit_leaves_bytes_only_until_the_next_pass(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"hello")
    assert len(await erase(memory, await remember(memory, uri))) == 1
    house = server_of(memory, artifacts=artifacts)
    assert (await house.run_once())["objects_removed"] == 1
    assert keys(objects) == []


async def test_a_crash_between_object_and_row_is_repaired(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    """Either of them may have gone first: what is gone already is no error, and the rest follows."""
    await put(artifacts, memory.trust, b"hello")
    memory.clock.forward(GRACE)
    obstore.delete(objects, keys(objects))
    assert await artifacts.remove_unneeded() == 1
    for table in ("artifact", "artifact_removal", "artifact_upload"):
        assert await one(memory, f"SELECT count(*) FROM {table}") == 0  # noqa: S608


async def test_a_crash_before_the_upload_was_complete_is_repaired(memory: Memory, objects: ObjectStore) -> None:
    class Dying(Blobs):
        async def put(self, key: str, data: bytes) -> None:
            await super().put(key, data)
            raise KeyboardInterrupt

    dying = Artifacts(memory.database, memory.directory, memory.clock, Dying(objects))
    with pytest.raises(KeyboardInterrupt):
        await dying.put(memory.trust, stream(b"hello"))
    assert len(keys(objects)) == 1
    artifacts = on(memory, objects)
    assert await artifacts.remove_unneeded() == 0  # it may still be under way
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 1
    assert keys(objects) == []


async def test_what_a_writer_left_half_written_goes_too(memory: Memory, tmp_path: Path) -> None:
    root = tmp_path / "objects"
    artifacts = on(memory, LocalStore(root, mkdir=True))
    uri = await put(artifacts, memory.trust, b"hello")
    (file,) = [path for path in root.rglob("*") if path.is_file()]
    file.rename(file.with_name(file.name + "#1"))  # as the store calls it until it is complete
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)
    memory.clock.forward(GRACE)
    await artifacts.remove_unneeded()
    assert [path for path in root.rglob("*") if path.is_file()] == []


async def test_an_upload_that_nothing_names_goes_after_a_day(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"hello")
    kept = await put(artifacts, memory.trust, b"kept")
    await remember(memory, kept)
    memory.clock.forward(GRACE - timedelta(minutes=1))
    assert await artifacts.remove_unneeded() == 0
    assert (await artifacts.get(memory.trust, uri)).data == b"hello"
    memory.clock.forward(timedelta(minutes=1))
    assert await artifacts.remove_unneeded() == 1
    with pytest.raises(RecordNotFound):
        await artifacts.get(memory.trust, uri)
    memory.clock.forward(100 * GRACE)
    assert await artifacts.remove_unneeded() == 0
    assert (await artifacts.get(memory.trust, kept)).data == b"kept"
    assert len(keys(objects)) == 1


async def test_a_record_that_goes_without_release_leaves_garbage_that_is_found(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"hello")
    await remember(memory, uri)
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 0
    await one(memory, "WITH gone AS (DELETE FROM record RETURNING id) SELECT count(*) FROM gone")
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 1
    assert keys(objects) == []


async def test_a_removal_that_fails_is_tried_again_later(memory: Memory, objects: ObjectStore) -> None:
    class Stuck(Blobs):
        async def remove(self, key: str) -> None:
            raise StoreUnavailable

    uri = await put(on(memory, objects), memory.trust, b"hello")
    memory.clock.forward(GRACE)
    stuck = Artifacts(memory.database, memory.directory, memory.clock, Stuck(objects))
    assert await stuck.remove_unneeded() == 0
    with pytest.raises(RecordNotFound):
        await stuck.get(memory.trust, uri)
    working = on(memory, objects)
    assert await working.remove_unneeded() == 0
    memory.clock.forward(timedelta(hours=1))
    assert await working.remove_unneeded() == 1
    assert keys(objects) == []


@pytest.mark.parametrize("way", ["erase", "collect"])
async def test_a_capture_while_the_last_owner_goes_loses_nothing(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore, way: str
) -> None:
    """Either the capture links the artifact and it stays, or it is refused: never a reference to what is gone."""
    tenant = (await memory.directory.resolve(memory.trust)).tenant

    async def go(record: UUID) -> None:
        if way == "erase":
            await artifacts.remove_released(tenant, await erase(memory, record))
        else:
            deleting = f"WITH d AS (DELETE FROM record WHERE id = '{record}' RETURNING 1) SELECT 1 FROM d"  # noqa: S608
            await one(memory, deleting)
            await asyncio.gather(artifacts.remove_unneeded(), artifacts.remove_unneeded())

    for number in range(16):
        data = f"round {number}".encode()
        uri = await put(artifacts, memory.trust, data)
        owner = await remember(memory, uri)
        memory.clock.forward(2 * GRACE)
        captured, gone = await asyncio.gather(remember(memory, uri), go(owner), return_exceptions=True)
        assert gone is None, gone
        if isinstance(captured, UUID):
            assert (await artifacts.get(memory.trust, uri)).data == data
            await erase(memory, captured)
        else:
            assert isinstance(captured, InvalidInput), captured
            with pytest.raises(RecordNotFound):
                await artifacts.get(memory.trust, uri)
        await artifacts.remove_unneeded()
        assert keys(objects) == []


async def test_a_collector_that_looked_before_the_capture_committed_sees_its_reference(
    artifacts: Artifacts, memory: Memory
) -> None:
    """The capture holds the artifact; the collector passes it by, and an eraser waits and then finds it needed."""
    uri = await put(artifacts, memory.trust, b"hello")
    record = await remember(memory, uri)
    again = await remember(memory)
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("SELECT 1 FROM artifact FOR KEY SHARE")
        eraser = asyncio.create_task(erase(memory, record))

        async def waits() -> bool:
            async with memory.database.engine.begin() as watcher:
                return bool(
                    (
                        await watcher.exec_driver_sql(
                            "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple')"
                        )
                    ).scalar_one()
                )

        await until(waits)
        await connection.exec_driver_sql(
            f"INSERT INTO artifact_reference SELECT tenant, sha256, '{again}' FROM artifact"  # noqa: S608
        )
    assert await eraser == []
    assert (await artifacts.get(memory.trust, uri)).data == b"hello"


async def test_uploads_of_the_same_bytes_at_once_all_succeed(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    trusts = [replace(memory.trust, actor=f"actor {number % 3}") for number in range(9)]
    uris = await asyncio.gather(*(put(artifacts, trust, b"hello") for trust in trusts))
    assert len(set(uris)) == 1
    for trust in trusts:
        assert (await artifacts.get(trust, uris[0])).data == b"hello"
    await artifacts.remove_unneeded()
    assert len(keys(objects)) == 1


async def test_tenants_share_no_object(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    for tenant in ("acme", "globex"):
        await put(artifacts, trust_of(tenant=tenant), b"hello")
    roots = {key.split("/")[0] for key in keys(objects)}
    assert len(roots) == 2
    assert roots == {str(number) for number in await one(memory, "SELECT array_agg(id) FROM tenant")}
