"""A check finds every way in which the mirror can differ from Postgres, and a repair corrects it.

A change that is not applied yet is not a difference.
"""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from fix_memory import until
from fix_mirror import PLAN, MirroredMemory, capture_every_kind
from sqlalchemy import text

from stratagraph.graph_sync import checking
from stratagraph.graph_sync.checking import Verification
from stratagraph.graph_sync.differences import Drift, Subject
from stratagraph.graph_sync.worker import SyncConfig
from stratagraph.store.feed.changes import Change, Kind, append_changes
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind

pytestmark = pytest.mark.neo4j

MATCH = "MATCH (n:Mirrored {id: $id}) "
BETWEEN = "MATCH ()-[r]->() WHERE r.id = $id "


@pytest.fixture
async def filled(mirrored: MirroredMemory) -> MirroredMemory:
    await capture_every_kind(mirrored.memory)
    await mirrored.sync()
    return mirrored


async def verify(mirrored: MirroredMemory, *, within_s: float = 5.0) -> Verification:
    """Compare everything; `within_s` passes only where changes are not applied yet, since no worker runs beside."""
    return await mirrored.worker.checker.verify(deep=True, within_s=within_s)


async def differences_of(mirrored: MirroredMemory) -> set[tuple[Drift, Subject, UUID | None]]:
    return {(one.drift, one.subject, one.id) for one in (await verify(mirrored)).differences}


async def repaired(mirrored: MirroredMemory) -> Verification:
    found = await verify(mirrored)
    await mirrored.repair(found.differences)
    return await verify(mirrored)


async def first_record_id(mirrored: MirroredMemory, memory_type: MemoryType = MemoryType.SEMANTIC) -> UUID:
    async with mirrored.memory.database.engine.begin() as connection:
        found: UUID = (
            await connection.execute(
                text("SELECT id FROM record WHERE type = :type AND state = 1 ORDER BY id LIMIT 1"),
                {"type": int(memory_type)},
            )
        ).scalar_one()
    return found


async def first_relation_id(mirrored: MirroredMemory) -> UUID:
    async with mirrored.memory.database.engine.begin() as connection:
        statement = text("SELECT id FROM relation WHERE ended_at IS NULL ORDER BY id LIMIT 1")
        found: UUID = (await connection.execute(statement)).scalar_one()
    return found


async def test_a_check_of_equal_stores_finds_no_difference(filled: MirroredMemory) -> None:
    found = await verify(filled)
    assert found.equal
    assert found.settled
    assert found.rows == sum(await filled.source.counts())
    assert found.rows > 20


async def test_a_check_finds_each_kind_of_wrong_node_and_a_repair_corrects_it(filled: MirroredMemory) -> None:
    id_ = await first_record_id(filled)
    before = await filled.dump()
    for tampered, drift in (
        (MATCH + "DETACH DELETE n", Drift.MISSING),
        (MATCH + "REMOVE n:Memory", Drift.EDITED),
        (MATCH + "SET n.ver = 0", Drift.STALE),
        (MATCH + "SET n.ver = n.ver + 5", Drift.AHEAD),
        (MATCH + "SET n.d = n.d + 1", Drift.DIFFERENT),
        (MATCH + "SET n.name = 'by hand'", Drift.EDITED),
        (MATCH + "SET n.acl = 0", Drift.EDITED),
        (MATCH + "SET n.valid_from = 0", Drift.EDITED),
        (MATCH + "SET n.valid_to = 0", Drift.EDITED),
        (MATCH + "SET n:Admin", Drift.EDITED),
        (MATCH + "SET n.note = 'by hand'", Drift.EDITED),
    ):
        await filled.write_cypher(tampered, id=str(id_))
        found = await differences_of(filled)
        assert (drift, Subject.RECORD, id_) in found, tampered
        assert {kind for _, kind, other in found if other != id_} <= {Subject.RELATION}, (
            "only its own relations may differ as well"
        )
        assert (await repaired(filled)).equal, tampered
        assert await filled.dump() == before, tampered


async def test_the_mirror_follows_a_fact_whose_validity_is_trimmed_and_a_check_compares_it(
    filled: MirroredMemory,
) -> None:
    """The start is exact to the microsecond, before and after 1970."""
    id_ = await first_record_id(filled)
    _, shown = await filled.existing_node(id_)
    assert shown.keys().isdisjoint({"valid_from", "valid_to"}), "the fact holds without bound"
    for interval, bounds in (
        ("[2027-01-01T00:00:00.000001Z,)", {"valid_from": 1_798_761_600_000_001}),
        ("[1969-12-31T23:59:59.999999Z,2027-01-01T00:00:00Z)", {"valid_from": -1, "valid_to": 1_798_761_600_000_000}),
        ("(,2027-01-01T00:00:00Z)", {"valid_to": 1_798_761_600_000_000}),
        ("(,)", {}),
    ):
        await filled.rewrite(id_, "validity = CAST(CAST(:interval AS text) AS tstzrange)", interval=interval)
        assert not (await verify(filled, within_s=0.1)).equal
        await filled.sync()
        _, shown = await filled.existing_node(id_)
        assert {name: value for name, value in shown.items() if name.startswith("valid_")} == bounds
        assert (await verify(filled)).equal
    await filled.run_sql("UPDATE record SET validity = tstzrange(now(), NULL) WHERE id = :id", id=id_)
    assert await differences_of(filled) == {(Drift.DIFFERENT, Subject.RECORD, id_)}, "its version did not move"
    assert (await repaired(filled)).equal


async def test_a_check_finds_each_kind_of_wrong_relation_and_a_repair_corrects_it(filled: MirroredMemory) -> None:
    id_ = await first_relation_id(filled)
    before = await filled.dump()
    for tampered, drift in (
        (BETWEEN + "DELETE r", Drift.MISSING),
        (BETWEEN + "SET r.ver = 0", Drift.STALE),
        (BETWEEN + "SET r.ver = r.ver + 5", Drift.AHEAD),
        (BETWEEN + "SET r.d = r.d + 1", Drift.DIFFERENT),
        (BETWEEN + "SET r.w = 0.123", Drift.EDITED),
    ):
        await filled.write_cypher(tampered, id=str(id_))
        assert await differences_of(filled) == {(drift, Subject.RELATION, id_)}, tampered
        assert (await repaired(filled)).equal, tampered
        assert await filled.dump() == before, tampered


async def test_a_check_finds_a_plan_with_edited_steps_and_a_repair_writes_them_again(filled: MirroredMemory) -> None:
    plan = await first_record_id(filled, MemoryType.PLAN_GRAPH)
    before = await filled.dump()
    await filled.write_cypher("MATCH (:PlanStep {op: 'build'})-[l:PRECEDES]->() DELETE l")
    assert await differences_of(filled) == {(Drift.EDITED, Subject.RECORD, plan)}
    assert (await repaired(filled)).equal
    assert await filled.dump() == before


async def test_rows_that_postgres_never_had_are_orphans_and_are_deleted_also_for_an_unknown_tenant(
    filled: MirroredMemory,
) -> None:
    before = await filled.dump()
    ids = {ten: (UUID(int=ten + 1), UUID(int=ten + 2)) for ten in ((await filled.tenant()).id, 4_711)}
    for ten, (node, relation) in ids.items():
        await filled.write_cypher(
            "CREATE (n:Mirrored:Memory {ten: $ten, id: $id, gen: 1, ver: 3, d: 1, acl: 8})"
            " CREATE (n)-[:SUBJECT_ENTITY {ten: $ten, id: $relation, gen: 1, ver: 2, d: 1, w: 1.0}]->(n)",
            ten=ten,
            id=str(node),
            relation=str(relation),
        )
    expected = set()
    for node, relation in ids.values():
        expected |= {(Drift.ORPHAN, Subject.RECORD, node), (Drift.ORPHAN, Subject.RELATION, relation)}
    assert await differences_of(filled) == expected
    assert (await repaired(filled)).equal
    left = [item for item in await filled.dump() if "Tomb" not in item]
    assert left == before


async def test_changes_that_a_worker_is_about_to_apply_are_not_differences(filled: MirroredMemory) -> None:
    running = asyncio.create_task(filled.worker.run())
    try:
        for number in range(20):
            await filled.memory.observe(f"Person {number}", "works_at", "Acme")
            found = await filled.worker.checker.verify(deep=True, within_s=30.0)
            assert found.equal, found
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_without_a_worker_changes_not_yet_applied_are_reported_as_not_settled(filled: MirroredMemory) -> None:
    kept = await filled.memory.observe("Bob", "works_at", "Acme")
    found = await filled.worker.checker.verify(deep=True, within_s=0.1)
    assert not found.equal
    assert not found.settled
    assert kept.primary.id in {one.id for one in found.differences}


async def test_a_mirror_written_with_another_limit_for_names_differs(filled: MirroredMemory) -> None:
    stricter = MirroredMemory(filled.memory, filled.mirror, SyncConfig(names_up_to=Sensitivity.PUBLIC))
    found = await verify(stricter)
    assert {one.drift for one in found.differences} == {Drift.DIFFERENT}
    await filled.worker.release()
    assert (await repaired(stricter)).equal
    assert not [item for item in await filled.dump() if '"name"' in item and "Tool" not in item]


async def test_checks_with_any_bucket_size_find_the_same_differences(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [await first_record_id(filled), await first_record_id(filled, MemoryType.EPISODIC)]
    for id_ in ids:
        await filled.write_cypher(MATCH + "SET n.ver = 0", id=str(id_))
    for size in (1, 2, 3, 7, 1_000):
        monkeypatch.setattr(checking, "BUCKET", dict.fromkeys(Kind, size))
        assert await differences_of(filled) == {(Drift.STALE, Subject.RECORD, id_) for id_ in ids}


async def test_the_scrub_of_a_running_worker_finds_and_repairs_differences(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.graph_sync.maintenance.ROUND_S", 0.0)
    before = await filled.dump()
    id_, relation = await first_record_id(filled), await first_relation_id(filled)
    await filled.write_cypher(MATCH + "SET n.ver = 0", id=str(id_))
    await filled.write_cypher(BETWEEN + "DELETE r", id=str(relation))
    await filled.worker.release()
    running = asyncio.create_task(filled.another_worker().run())
    try:

        async def is_repaired() -> bool:
            return await filled.dump() == before

        await until(is_repaired)

        async def is_reported() -> bool:
            async with filled.memory.database.engine.begin() as connection:
                row = (await connection.execute(text("SELECT drift, last_drift FROM mirror_leader"))).one()
            both = [row.drift, row.last_drift or {}]
            return any(one.get("stale") == 1 for one in both) and any(one.get("missing") == 1 for one in both)

        await until(is_reported)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_check_of_one_tenant_compares_only_that_tenant(filled: MirroredMemory) -> None:
    acme = (await filled.tenant()).id
    await filled.write_cypher(
        "CREATE (:Mirrored:Memory {ten: 4711, id: $id, gen: 1, ver: 3, d: 1, acl: 8})", id=str(UUID(int=9))
    )
    assert (await filled.worker.checker.verify(acme, deep=True, within_s=1.0)).equal
    assert not (await filled.worker.checker.verify(4711, deep=True, within_s=1.0)).equal


async def test_a_relation_deleted_without_its_records_is_deleted_from_the_mirror(filled: MirroredMemory) -> None:
    relation = await first_relation_id(filled)
    tenant = await filled.tenant()
    async with filled.memory.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM relation WHERE id = :id"), {"id": relation})
        await append_changes(connection, tenant, [Change(kind=Kind.RELATION, id=relation, version=2, op="D")])
    await filled.sync()
    assert (await verify(filled)).equal


async def test_a_new_version_of_a_plan_has_steps_of_its_own_beside_those_of_the_old_version(
    filled: MirroredMemory,
) -> None:
    newer = PLAN | {"version": "2", "nodes": [{"id": "a", "op": "build"}], "edges": []}
    await filled.memory.remember(SourceKind.OBSERVATION, newer, proposed_type=MemoryType.PLAN_GRAPH)
    await filled.sync()
    assert (await verify(filled)).equal
    rows = await filled.cypher("MATCH (p:PlanGraph)-[:HAS_STEP]->(s) RETURN p.id AS id, count(s) AS steps")
    assert sorted(row["steps"] for row in rows) == [1, 3]


async def test_state_of_the_worker_that_was_edited_by_hand_does_not_stop_it(filled: MirroredMemory) -> None:
    ten = (await filled.tenant()).id
    for number, edited in enumerate(
        (
            "MATCH (c:SyncCheckpoint) SET c.gen = 'by hand'",
            "MATCH (c:SyncCheckpoint) SET c.gen = 9223372036854775807",
            "MATCH (c:SyncCheckpoint) SET c.nonce = 5, c.snapshot = 'by hand'",
            "CREATE (:SyncGeneration {ten: $ten, gen: 99})",
            "CREATE (:SyncGeneration {ten: $ten, gen: 'by hand'})",
        )
    ):
        await filled.write_cypher(edited, ten=ten)
        await filled.memory.observe(f"Person {number}", "works_at", "Acme")
        await filled.worker.repairer.repair(await filled.worker.checker.schema())  # as a scrub begins
        await filled.start_afresh()
        assert await filled.mirror_is_equal(), edited
