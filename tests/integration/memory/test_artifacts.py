"""Artifacts: upload, download, access, references and removal (docs/specification.md, Artifacts)."""

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

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.records.artifacts import Artifacts, Fetched
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
    """An object store in a directory, and one in memory with the protocol of a bucket."""
    return LocalStore(tmp_path / "objects", mkdir=True) if request.param == "files" else MemoryStore()


@pytest.fixture
def artifacts(memory: Memory, objects: ObjectStore) -> Artifacts:
    return artifacts_on(memory, objects)


@pytest.fixture
def bucket(memory: Memory) -> Artifacts:
    """Artifacts in memory, for tests in which the kind of store makes no difference."""
    return artifacts_on(memory, MemoryStore())


def artifacts_on(memory: Memory, objects: ObjectStore, directory: Directory | None = None) -> Artifacts:
    blobs = Blobs(objects)
    return Artifacts(memory.database, directory or memory.directory, memory.clock, blobs, max_bytes=LIMIT)


async def stream(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 7):
        yield data[start : start + 7]


async def put(artifacts: Artifacts, trust: Trust, data: bytes, **more: Any) -> str:
    return (await artifacts.put(trust, stream(data), **more)).uri


def object_keys(objects: ObjectStore) -> list[str]:
    return sorted(item["path"] for chunk in obstore.list(objects) for item in chunk)


def event(*uris: str, **more: Any) -> dict[str, Any]:
    return {"event_kind": "build", "ref": "ci#1", "artifacts": list(uris), **more}


async def remember(memory: Memory, *uris: str, **more: Any) -> UUID:
    return (await memory.remember(SourceKind.EVENT, event(*uris), **more)).primary.id


async def erase(memory: Memory, record: UUID) -> list[bytes]:
    """Release the artifacts of a record as an erasure does; return the digests without an owner."""
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    async with memory.database.background(Role.ERASE) as connection:
        return await release_artifacts(connection, tenant, [record])


async def test_an_artifact_is_returned_with_its_media_type(artifacts: Artifacts, memory: Memory) -> None:
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
    assert await artifacts.remove_unneeded() == 1  # not before, since the time of an answer must tell nothing
    assert len(object_keys(objects)) == 1
    assert await memory.value("SELECT count(*) FROM artifact_removal") == 0
    assert (await artifacts.get(memory.trust, again.uri)).data == b"hello"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=LIMIT))
async def test_any_bytes_are_returned_unchanged(data: bytes, memory: Memory, artifacts: Artifacts) -> None:
    uri = await put(artifacts, memory.trust, data)
    assert uri == uri_of(hashlib.sha256(data).digest())
    assert (await artifacts.get(memory.trust, uri)).data == data


@pytest.mark.parametrize("at", [0, 11, 12, 20, -1])
async def test_a_changed_byte_is_detected_and_no_content_is_returned(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore, at: int
) -> None:
    uri = await put(artifacts, memory.trust, b"some bytes that matter")
    (key,) = object_keys(objects)
    kept = bytearray(obstore.get(objects, key).bytes())
    kept[at] ^= 1
    obstore.put(objects, key, bytes(kept))
    with pytest.raises(ArtifactDamaged) as caught:
        await artifacts.get(memory.trust, uri)
    assert "matter" not in caught.value.message
    assert await put(artifacts, memory.trust, b"some bytes that matter") == uri  # an upload repairs the object
    assert (await artifacts.get(memory.trust, uri)).data == b"some bytes that matter"


@pytest.mark.parametrize("damage", [lambda kept: kept[:-1], lambda kept: kept + b"x", lambda kept: kept * 100])
async def test_a_truncated_or_extended_object_is_detected(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore, damage: Callable[[bytes], bytes]
) -> None:
    uri = await put(artifacts, memory.trust, b"some bytes")
    (key,) = object_keys(objects)
    obstore.put(objects, key, damage(bytes(obstore.get(objects, key).bytes())))
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)


async def test_a_missing_object_is_detected(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    uri = await put(artifacts, memory.trust, b"some bytes")
    obstore.delete(objects, object_keys(objects))
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)


async def test_an_object_swapped_with_another_artifact_is_detected(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"one")
    (first,) = object_keys(objects)
    await put(artifacts, memory.trust, b"two")
    (second,) = set(object_keys(objects)) - {first}
    obstore.put(objects, first, bytes(obstore.get(objects, second).bytes()))
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)


async def test_the_bytes_are_encrypted_at_rest(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    await put(artifacts, memory.trust, b"a secret in plain words")
    (key,) = object_keys(objects)
    assert b"secret" not in bytes(obstore.get(objects, key).bytes())
    assert await memory.value("SELECT sealed IS NOT NULL FROM artifact")


async def test_without_encryption_the_bytes_are_stored_plain_and_still_verified(
    memory: Memory, objects: ObjectStore
) -> None:
    plain = artifacts_on(memory, objects, Directory(memory.database, Vault(memory.database, seal_from=None)))
    trust = trust_of(tenant="plain")
    uri = await put(plain, trust, b"in plain words")
    (key,) = object_keys(objects)
    assert bytes(obstore.get(objects, key).bytes()) == b"in plain words"
    assert (await plain.get(trust, uri)).data == b"in plain words"
    obstore.put(objects, key, b"in plain wordz")
    with pytest.raises(ArtifactDamaged):
        await plain.get(trust, uri)


async def test_an_upload_over_a_limit_or_with_a_wrong_digest_is_refused_and_stores_nothing(
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
    assert len(object_keys(objects)) == 1
    assert await memory.value("SELECT count(*) FROM artifact") == 1


async def test_an_unreachable_object_store_is_reported_and_leaves_no_row(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    artifacts = artifacts_on(memory, LocalStore(tmp_path / "objects"))
    (tmp_path / "objects").rmdir()
    (tmp_path / "objects").write_text("a file instead of a directory")
    with pytest.raises(StoreUnavailable):
        await put(artifacts, memory.trust, b"hello")
    assert await memory.value("SELECT count(*) FROM artifact") == 0
    assert (
        await memory.value("SELECT count(*) FROM artifact_removal") == 1
    )  # because part of the object may have been written
    (tmp_path / "objects").unlink()
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 1
    assert await memory.value("SELECT count(*) FROM artifact_removal") == 0


# Access.


async def test_before_a_record_references_it_an_upload_is_visible_to_its_uploader_only(
    bucket: Artifacts, memory: Memory
) -> None:
    uri = await put(bucket, trust_of(actor="ann"), b"hello")
    for other in (trust_of(actor="bob"), trust_of(tenant="globex", actor="ann")):
        with pytest.raises(RecordNotFound):
            await bucket.get(other, uri)
        with pytest.raises(InvalidInput, match="PUT /artifacts"):
            await remember(memory, uri, trust=other)
    assert (await bucket.get(trust_of(actor="ann"), uri)).data == b"hello"


async def test_a_referenced_artifact_is_visible_to_callers_who_read_the_record_in_full(
    bucket: Artifacts, memory: Memory
) -> None:
    uri = await put(bucket, memory.trust, b"hello")
    await remember(memory, uri, scope="project:a", sensitivity=Sensitivity.MEDIUM)
    for scopes, ceiling in ((None, Sensitivity.HYPER), ({"project:a"}, Sensitivity.MEDIUM)):
        reader = trust_of(actor="reader", access=Access.READ, scopes=scopes, ceiling=ceiling)
        assert (await bucket.get(reader, uri)).data == b"hello"
    for actor, scopes, ceiling in (
        ("reader", {"project:b"}, Sensitivity.HYPER),
        ("reader", set(), Sensitivity.HYPER),
        ("reader", None, Sensitivity.LOW),  # sees the record redacted
        ("tester", {"project:a"}, Sensitivity.LOW),  # the uploader, whose access now depends on the record
    ):
        with pytest.raises(RecordNotFound):
            await bucket.get(trust_of(actor=actor, scopes=scopes, ceiling=ceiling), uri)
    with pytest.raises(RecordNotFound):
        await bucket.get(trust_of(tenant="globex"), uri)


async def test_one_visible_record_is_enough_to_read_an_artifact(bucket: Artifacts, memory: Memory) -> None:
    uri = await put(bucket, memory.trust, b"hello")
    await remember(memory, uri, sensitivity=Sensitivity.HIGH)
    public = await remember(memory, uri, sensitivity=Sensitivity.PUBLIC)
    reader = trust_of(actor="reader", ceiling=Sensitivity.PUBLIC, scopes=set())
    assert (await bucket.get(reader, uri)).data == b"hello"
    assert await erase(memory, public) == []
    with pytest.raises(RecordNotFound):
        await bucket.get(reader, uri)


async def test_uploading_bytes_of_a_hidden_artifact_does_not_reveal_it(bucket: Artifacts, memory: Memory) -> None:
    """The second uploader gets the same answers as a first uploader, including the media type."""
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
    with pytest.raises(RecordNotFound):  # as after the removal of an unreferenced artifact
        await bucket.get(bob, uploaded.uri)


async def test_a_capture_that_resolves_to_a_wider_entity_cannot_reference_an_artifact(
    bucket: Artifacts, memory: Memory
) -> None:
    """The capture resolves to an entity of another scope, whose readers are not those of the capture."""
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
    assert await memory.value("SELECT count(*) FROM artifact_reference") == 0


# References in a capture.


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
async def test_a_capture_references_the_artifacts_it_names(
    bucket: Artifacts,
    memory: Memory,
    kind: SourceKind,
    content: dict[str, Any],
    context: dict[str, Any] | None,
    path: list[str],
) -> None:
    data = b"hello"
    uri = uri_of(hashlib.sha256(data).digest())

    def with_uri(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: with_uri(item) for key, item in value.items()}
        if isinstance(value, list):
            return [with_uri(item) for item in value]
        return uri if value == "URI" else value

    with pytest.raises(InvalidInput, match="PUT /artifacts") as caught:
        await memory.remember(kind, with_uri(content), context=with_uri(context))
    assert caught.value.path == path
    assert await memory.value("SELECT count(*) FROM record") == 0
    await put(bucket, memory.trust, data)
    record = (await memory.remember(kind, with_uri(content), context=with_uri(context))).primary.id
    assert await memory.value("SELECT array_agg(record) FROM artifact_reference") == [record]


async def test_a_string_that_is_not_an_artifact_uri_is_kept_as_text(memory: Memory) -> None:
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


# Removal.


async def test_an_artifact_is_removed_with_its_last_owner(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"hello")
    records = [await remember(memory, uri) for _ in range(2)]
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    digest = hashlib.sha256(b"hello").digest()
    assert await erase(memory, records[0]) == []
    assert await erase(memory, records[1]) == [digest]
    with pytest.raises(RecordNotFound):
        await artifacts.get(memory.trust, uri)
    assert len(object_keys(objects)) == 1  # as after a crash between the commit and the removal
    assert await artifacts.remove_released(tenant, [digest]) == 1
    assert await artifacts.remove_released(tenant, [digest]) == 0
    assert object_keys(objects) == []
    assert await memory.value("SELECT count(*) FROM artifact_removal") == 0


async def test_objects_left_by_a_crash_after_the_commit_are_removed_by_the_next_pass(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"hello")
    assert len(await erase(memory, await remember(memory, uri))) == 1
    server = server_of(memory, artifacts=artifacts)
    assert (await server.run_once())["objects_removed"] == 1
    assert object_keys(objects) == []


async def test_a_crash_between_deleting_the_object_and_the_row_is_repaired(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    """An object that is already deleted is no error; the rows are deleted."""
    await put(artifacts, memory.trust, b"hello")
    memory.clock.forward(GRACE)
    obstore.delete(objects, object_keys(objects))
    assert await artifacts.remove_unneeded() == 1
    for table in ("artifact", "artifact_removal", "artifact_upload"):
        assert await memory.value(f"SELECT count(*) FROM {table}") == 0  # noqa: S608


async def test_an_object_left_by_an_incomplete_upload_is_removed(memory: Memory, objects: ObjectStore) -> None:
    class FailsAfterPut(Blobs):
        async def put(self, key: str, data: bytes) -> None:
            await super().put(key, data)
            raise KeyboardInterrupt

    interrupted = Artifacts(memory.database, memory.directory, memory.clock, FailsAfterPut(objects))
    with pytest.raises(KeyboardInterrupt):
        await interrupted.put(memory.trust, stream(b"hello"))
    assert len(object_keys(objects)) == 1
    artifacts = artifacts_on(memory, objects)
    assert await artifacts.remove_unneeded() == 0  # the upload may still be in progress
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 1
    assert object_keys(objects) == []


async def test_a_partly_written_file_is_removed(memory: Memory, tmp_path: Path) -> None:
    root = tmp_path / "objects"
    artifacts = artifacts_on(memory, LocalStore(root, mkdir=True))
    uri = await put(artifacts, memory.trust, b"hello")
    (file,) = [path for path in root.rglob("*") if path.is_file()]
    file.rename(file.with_name(file.name + "#1"))  # the store's name for an incomplete file
    with pytest.raises(ArtifactDamaged):
        await artifacts.get(memory.trust, uri)
    memory.clock.forward(GRACE)
    await artifacts.remove_unneeded()
    assert [path for path in root.rglob("*") if path.is_file()] == []


async def test_an_unreferenced_upload_is_removed_after_a_day(
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
    assert len(object_keys(objects)) == 1


async def test_an_artifact_of_a_record_deleted_without_release_is_removed(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    uri = await put(artifacts, memory.trust, b"hello")
    await remember(memory, uri)
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 0
    await memory.value("WITH gone AS (DELETE FROM record RETURNING id) SELECT count(*) FROM gone")
    memory.clock.forward(GRACE)
    assert await artifacts.remove_unneeded() == 1
    assert object_keys(objects) == []


async def test_a_failed_removal_is_retried_later(memory: Memory, objects: ObjectStore) -> None:
    class FailsToRemove(Blobs):
        async def remove(self, key: str) -> None:
            raise StoreUnavailable

    uri = await put(artifacts_on(memory, objects), memory.trust, b"hello")
    memory.clock.forward(GRACE)
    failing = Artifacts(memory.database, memory.directory, memory.clock, FailsToRemove(objects))
    assert await failing.remove_unneeded() == 0
    with pytest.raises(RecordNotFound):
        await failing.get(memory.trust, uri)
    working = artifacts_on(memory, objects)
    assert await working.remove_unneeded() == 0
    memory.clock.forward(timedelta(hours=1))
    assert await working.remove_unneeded() == 1
    assert object_keys(objects) == []


@pytest.mark.parametrize("way", ["erase", "remove_unneeded"])
async def test_a_capture_during_removal_of_the_last_owner_never_references_a_missing_artifact(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore, way: str
) -> None:
    """Either the capture references the artifact, which is kept, or the capture is refused."""
    tenant = (await memory.directory.resolve(memory.trust)).tenant

    async def remove_owner(record: UUID) -> None:
        if way == "erase":
            await artifacts.remove_released(tenant, await erase(memory, record))
        else:
            deleting = f"WITH d AS (DELETE FROM record WHERE id = '{record}' RETURNING 1) SELECT 1 FROM d"  # noqa: S608
            await memory.value(deleting)
            await asyncio.gather(artifacts.remove_unneeded(), artifacts.remove_unneeded())

    for number in range(16):
        data = f"round {number}".encode()
        uri = await put(artifacts, memory.trust, data)
        owner = await remember(memory, uri)
        memory.clock.forward(2 * GRACE)
        captured, removed = await asyncio.gather(remember(memory, uri), remove_owner(owner), return_exceptions=True)
        assert removed is None, removed
        if isinstance(captured, UUID):
            assert (await artifacts.get(memory.trust, uri)).data == data
            await erase(memory, captured)
        else:
            assert isinstance(captured, InvalidInput), captured
            with pytest.raises(RecordNotFound):
                await artifacts.get(memory.trust, uri)
        await artifacts.remove_unneeded()
        assert object_keys(objects) == []


async def test_an_erasure_that_started_before_a_capture_committed_sees_its_reference(
    artifacts: Artifacts, memory: Memory
) -> None:
    """The capture locks the artifact, so the erasure waits and then finds the new reference."""
    uri = await put(artifacts, memory.trust, b"hello")
    record = await remember(memory, uri)
    again = await remember(memory)
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql("SELECT 1 FROM artifact FOR KEY SHARE")
        erasure = asyncio.create_task(erase(memory, record))

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
    assert await erasure == []
    assert (await artifacts.get(memory.trust, uri)).data == b"hello"


async def test_concurrent_uploads_of_the_same_bytes_all_succeed(
    artifacts: Artifacts, memory: Memory, objects: ObjectStore
) -> None:
    trusts = [replace(memory.trust, actor=f"actor {number % 3}") for number in range(9)]
    uris = await asyncio.gather(*(put(artifacts, trust, b"hello") for trust in trusts))
    assert len(set(uris)) == 1
    for trust in trusts:
        assert (await artifacts.get(trust, uris[0])).data == b"hello"
    await artifacts.remove_unneeded()
    assert len(object_keys(objects)) == 1


async def test_tenants_do_not_share_objects(artifacts: Artifacts, memory: Memory, objects: ObjectStore) -> None:
    for tenant in ("acme", "globex"):
        await put(artifacts, trust_of(tenant=tenant), b"hello")
    roots = {key.split("/")[0] for key in object_keys(objects)}
    assert len(roots) == 2
    assert roots == {str(number) for number in await memory.value("SELECT array_agg(id) FROM tenant")}
