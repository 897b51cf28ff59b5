"""Constraints and queries of the artifact tables (docs/data-model.md, Artifacts)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from fix_memory import NOON, Memory
from sqlalchemy.exc import IntegrityError

from stratagraph.store.artifacts.object_keys import SealedKey, reseal_artifacts
from stratagraph.store.artifacts.objects import GRACE, StoredObject
from stratagraph.store.artifacts.references import (
    ArtifactLink,
    find_artifacts,
    link_artifacts,
    lock_artifacts,
    release_all_artifacts,
    release_artifacts,
)
from stratagraph.store.artifacts.removals import (
    collect_garbage,
    delete_removals,
    fetch_removals,
    fetch_removals_of,
    postpone_removals,
)
from stratagraph.store.artifacts.uploads import attach_object, register_object
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.database import Role

ONE, TWO = bytes([1]) * 32, bytes([2]) * 32


@pytest.fixture
async def caller(memory: Memory) -> Caller:
    return await memory.directory.resolve(memory.trust)


async def store(memory: Memory, caller: Caller, sha256: bytes, *, key: SealedKey | None = None) -> StoredObject:
    stored = StoredObject(tenant=caller.tenant.id, sha256=sha256, id=new_id())
    at = memory.clock.now()
    async with memory.database.writing(caller.bounds) as connection:
        await register_object(connection, stored, at=at)
        await attach_object(
            connection, stored, size_bytes=3, media_type="text/plain", key=key, actor=caller.trust.actor, at=at
        )
    return stored


async def link(memory: Memory, caller: Caller, sha256: bytes) -> ArtifactLink:
    record = (await memory.turn("a record")).primary.id
    linked = ArtifactLink(record=record, sha256=sha256, media_type=None)
    async with memory.database.writing(caller.bounds) as connection:
        await lock_artifacts(connection, caller, [sha256], at=memory.clock.now())
        await link_artifacts(connection, caller, [linked])
    return linked


async def count(memory: Memory, table: str) -> object:
    async with memory.database.engine.begin() as connection:
        return (await connection.exec_driver_sql(f"SELECT count(*) FROM {table}")).scalar_one()  # noqa: S608


async def test_an_object_that_is_not_attached_within_the_grace_period_is_due(memory: Memory, caller: Caller) -> None:
    stored = StoredObject(tenant=caller.tenant.id, sha256=ONE, id=new_id())
    async with memory.database.writing(caller.bounds) as connection:
        await register_object(connection, stored, at=NOON)
    for at, due in ((NOON + GRACE - timedelta(seconds=1), []), (NOON + GRACE, [stored])):
        async with memory.database.background(Role.ERASE) as connection:
            assert await fetch_removals(connection, at=at, limit=10) == due
    async with memory.database.background(Role.ERASE) as connection:
        await delete_removals(connection, [stored])
    with pytest.raises(StoreUnavailable, match="send it again"):
        async with memory.database.writing(caller.bounds) as connection:
            await attach_object(connection, stored, size_bytes=3, media_type=None, key=None, actor="a", at=NOON)
    assert await count(memory, "artifact") == 0


async def test_uploading_the_same_bytes_replaces_and_queues_the_old_object(memory: Memory, caller: Caller) -> None:
    first = await store(memory, caller, ONE)
    second = await store(memory, caller, ONE)
    async with memory.database.writing(caller.bounds) as connection:
        found = await find_artifacts(connection, caller, [ONE, TWO], at=NOON)
    assert [artifact.stored for artifact in found.values()] == [second]
    async with memory.database.background(Role.ERASE) as connection:
        assert await fetch_removals(connection, at=NOON, limit=10) == [first]


async def test_an_artifact_stays_while_one_record_refers_to_it(memory: Memory, caller: Caller) -> None:
    stored = await store(memory, caller, ONE)
    links = [await link(memory, caller, ONE) for _ in range(2)]
    for linked, without_owner in zip(links, ([], [ONE]), strict=True):
        async with memory.database.background(Role.ERASE) as connection:
            assert await release_artifacts(connection, caller.tenant, [linked.record]) == without_owner
    async with memory.database.background(Role.ERASE) as connection:
        assert await release_artifacts(connection, caller.tenant, [linked.record for linked in links]) == []
        assert await fetch_removals_of(connection, caller.tenant, [ONE]) == [stored]
    assert await count(memory, "artifact") == 0


@pytest.mark.parametrize(("since", "without_owner"), [(None, [ONE]), (NOON - GRACE, []), (NOON + GRACE, [ONE])])
async def test_an_artifact_uploaded_again_is_kept_unless_it_is_erased(
    memory: Memory, caller: Caller, since: datetime | None, without_owner: list[bytes]
) -> None:
    await store(memory, caller, ONE)
    linked = await link(memory, caller, ONE)
    await store(memory, caller, ONE)
    async with memory.database.background(Role.ERASE) as connection:
        assert await release_artifacts(connection, caller.tenant, [linked.record], since=since) == without_owner
    assert await count(memory, "artifact") == 1 - len(without_owner)
    assert await count(memory, "artifact_reference") == 0


async def test_a_rolled_back_erasure_releases_nothing(memory: Memory, caller: Caller) -> None:
    await store(memory, caller, ONE)
    linked = await link(memory, caller, ONE)
    async with memory.database.background(Role.ERASE) as connection:
        assert await release_artifacts(connection, caller.tenant, [linked.record]) == [ONE]
        await connection.rollback()
    assert [await count(memory, table) for table in ("artifact", "artifact_reference", "artifact_removal")] == [1, 1, 0]


async def test_releasing_one_tenants_records_leaves_the_others(memory: Memory, caller: Caller) -> None:
    await store(memory, caller, ONE)
    linked = await link(memory, caller, ONE)
    other = await memory.directory.tenant("globex", create=True)
    assert other is not None
    async with memory.database.background(Role.ERASE) as connection:
        assert await release_artifacts(connection, other, [linked.record]) == []
        assert await release_all_artifacts(connection, other) == []
    assert await count(memory, "artifact_reference") == 1


async def test_erasing_a_tenant_deletes_all_its_artifacts(memory: Memory, caller: Caller) -> None:
    await store(memory, caller, ONE)
    await link(memory, caller, ONE)
    await store(memory, caller, TWO)  # nothing refers to it yet
    in_progress = StoredObject(tenant=caller.tenant.id, sha256=TWO, id=new_id())
    async with memory.database.writing(caller.bounds) as connection:
        await register_object(connection, in_progress, at=NOON)
    async with memory.database.background(Role.ERASE) as connection:
        assert await release_all_artifacts(connection, caller.tenant) == [ONE, TWO]
        assert len(await fetch_removals(connection, at=NOON, limit=10)) == 3
    assert [await count(memory, table) for table in ("artifact", "artifact_reference", "artifact_upload")] == [0, 0, 0]


async def test_an_artifact_without_a_record_or_a_recent_upload_is_deleted(memory: Memory, caller: Caller) -> None:
    await store(memory, caller, ONE)
    await store(memory, caller, TWO)
    await link(memory, caller, TWO)
    at = memory.clock.now()
    for passed, left in ((GRACE - timedelta(minutes=1), 2), (GRACE, 1), (10 * GRACE, 1)):
        async with memory.database.background(Role.ERASE) as connection:
            await collect_garbage(connection, at=at + passed, limit=100)
        assert await count(memory, "artifact") == left
    assert await count(memory, "artifact_upload") == 0


async def test_uploading_the_same_bytes_extends_the_grace_period(memory: Memory, caller: Caller) -> None:
    await store(memory, caller, ONE)
    memory.clock.forward(GRACE / 2)
    await store(memory, caller, ONE)
    async with memory.database.background(Role.ERASE) as connection:
        assert await collect_garbage(connection, at=NOON + GRACE, limit=100) == 1
        assert await collect_garbage(connection, at=NOON + GRACE, limit=100) == 0  # already checked
    assert await count(memory, "artifact") == 1
    async with memory.database.background(Role.ERASE) as connection:
        await collect_garbage(connection, at=NOON + 2 * GRACE, limit=100)
    assert await count(memory, "artifact") == 0


async def test_an_object_that_cannot_be_removed_is_postponed(memory: Memory, caller: Caller) -> None:
    first = await store(memory, caller, ONE)
    await store(memory, caller, ONE)
    async with memory.database.background(Role.ERASE) as connection:
        await postpone_removals(connection, [first], until=NOON + timedelta(hours=1))
        assert await fetch_removals(connection, at=NOON, limit=10) == []
        assert await fetch_removals(connection, at=NOON + timedelta(hours=1), limit=10) == [first]


async def test_an_artifact_that_is_referred_to_cannot_be_deleted_by_anyone(memory: Memory, caller: Caller) -> None:
    await store(memory, caller, ONE)
    await link(memory, caller, ONE)
    with pytest.raises(IntegrityError):
        async with memory.database.engine.begin() as connection:
            await connection.exec_driver_sql("DELETE FROM artifact")


async def test_a_data_key_in_use_by_an_artifact_cannot_be_dropped(memory: Memory, caller: Caller) -> None:
    """Resealing with a newer key updates the artifacts' keys and frees the old data key; the objects stay unchanged."""
    async with memory.database.writing(caller.bounds) as connection:
        old = await caller.tenant.keyring.sealer(connection)
    stored = StoredObject(tenant=caller.tenant.id, sha256=ONE, id=new_id())
    key = SealedKey(blob=old.seal(stored.id, "artifact", b"k" * 32), data_key=old.key_id)
    async with memory.database.writing(caller.bounds) as connection:
        await register_object(connection, stored, at=NOON)
        await attach_object(connection, stored, size_bytes=3, media_type=None, key=key, actor="tester", at=NOON)
    await caller.tenant.keyring.add_key(after=old.key_id)
    with pytest.raises(IntegrityError):
        async with memory.database.engine.begin() as connection:
            await connection.exec_driver_sql(f"DELETE FROM data_key WHERE id = {old.key_id}")  # noqa: S608
    async with memory.database.background(Role.KEYS) as connection:
        newer = await caller.tenant.keyring.sealer(connection)
        assert await reseal_artifacts(connection, caller.tenant, newer, limit=10) == 1
        assert await reseal_artifacts(connection, caller.tenant, newer, limit=10) == 0
    async with memory.database.engine.begin() as connection:
        await connection.exec_driver_sql(f"DELETE FROM data_key WHERE id = {old.key_id}")  # noqa: S608
    async with memory.database.reading(caller.bounds) as connection:
        found = (await find_artifacts(connection, caller, [ONE], at=NOON))[ONE]
    assert found.stored == stored
    assert found.sealed is not None
    opened = await caller.tenant.keyring.open([Sealed(id=stored.id, purpose="artifact", blob=found.sealed)])
    assert opened == [b"k" * 32]
