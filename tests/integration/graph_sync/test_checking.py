"""Whatever way the mirror differs, a check names it; a repair mends it; what is only on its way is no difference."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from fix_memory import until
from fix_mirror import PLAN, House, capture_every_kind
from sqlalchemy import text

from stratagraph.graph_sync import checking
from stratagraph.graph_sync.checking import Drift, Verification
from stratagraph.graph_sync.worker import SyncConfig
from stratagraph.store.feed.changes import Change, Kind, append_changes
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind

pytestmark = pytest.mark.neo4j

MATCH = "MATCH (n:Mirrored {id: $id}) "
BETWEEN = "MATCH ()-[r]->() WHERE r.id = $id "


@pytest.fixture
async def filled(house: House) -> House:
    await capture_every_kind(house.memory)
    await house.sync()
    return house


async def verify(house: House) -> Verification:
    return await house.worker.checker.verify(share=1.0, within_s=5.0)


async def named(house: House) -> set[tuple[Drift, Kind, UUID]]:
    return {(one.drift, one.kind, one.id) for one in (await verify(house)).differences}


async def repaired(house: House) -> Verification:
    found = await verify(house)
    assert await house.worker.checker.repair(found.differences) == len(found.differences)
    await house.sync()
    return await verify(house)


async def a_record(house: House, memory_type: MemoryType = MemoryType.SEMANTIC) -> UUID:
    async with house.memory.database.engine.begin() as connection:
        found: UUID = (
            await connection.execute(
                text("SELECT id FROM record WHERE type = :type AND state = 1 ORDER BY id LIMIT 1"),
                {"type": int(memory_type)},
            )
        ).scalar_one()
    return found


async def a_relation(house: House) -> UUID:
    async with house.memory.database.engine.begin() as connection:
        statement = text("SELECT id FROM relation WHERE ended_at IS NULL ORDER BY id LIMIT 1")
        found: UUID = (await connection.execute(statement)).scalar_one()
    return found


async def test_equal_stores_are_equal(filled: House) -> None:
    found = await verify(filled)
    assert found.equal
    assert found.settled
    assert found.rows == sum(await filled.source.counts())
    assert found.rows > 20


async def test_what_is_wrong_with_a_node_is_named_and_mended(filled: House) -> None:
    id_ = await a_record(filled)
    before = await filled.dump()
    for tampered, drift in (
        (MATCH + "DETACH DELETE n", Drift.MISSING),
        (MATCH + "REMOVE n:Memory", Drift.MISSING),
        (MATCH + "SET n.ver = 0", Drift.STALE),
        (MATCH + "SET n.ver = n.ver + 5", Drift.AHEAD),
        (MATCH + "SET n.d = n.d + 1", Drift.DIFFERENT),
        (MATCH + "SET n.name = 'by hand'", Drift.EDITED),
        (MATCH + "SET n.acl = 0", Drift.EDITED),
        (MATCH + "SET n:Admin", Drift.EDITED),
        (MATCH + "SET n.note = 'by hand'", Drift.EDITED),
    ):
        await filled.write_cypher(tampered, id=str(id_))
        found = await named(filled)
        assert (drift, Kind.RECORD, id_) in found, tampered
        assert {kind for _, kind, other in found if other != id_} <= {Kind.RELATION}, "only its edges went with it"
        assert (await repaired(filled)).equal, tampered
        assert await filled.dump() == before, tampered


async def test_what_is_wrong_with_a_relation_is_named_and_mended(filled: House) -> None:
    id_ = await a_relation(filled)
    before = await filled.dump()
    for tampered, drift in (
        (BETWEEN + "DELETE r", Drift.MISSING),
        (BETWEEN + "SET r.ver = 0", Drift.STALE),
        (BETWEEN + "SET r.ver = r.ver + 5", Drift.AHEAD),
        (BETWEEN + "SET r.d = r.d + 1", Drift.DIFFERENT),
        (BETWEEN + "SET r.w = 0.123", Drift.EDITED),
    ):
        await filled.write_cypher(tampered, id=str(id_))
        assert await named(filled) == {(drift, Kind.RELATION, id_)}, tampered
        assert (await repaired(filled)).equal, tampered
        assert await filled.dump() == before, tampered


async def test_a_plan_whose_steps_were_edited_is_named_and_drawn_again(filled: House) -> None:
    plan = await a_record(filled, MemoryType.PLAN_GRAPH)
    before = await filled.dump()
    await filled.write_cypher("MATCH (:PlanStep {op: 'build'})-[l:PRECEDES]->() DELETE l")
    assert await named(filled) == {(Drift.EDITED, Kind.RECORD, plan)}
    assert (await repaired(filled)).equal
    assert await filled.dump() == before


async def test_what_the_truth_never_had_is_an_orphan_and_goes_also_of_a_tenant_that_is_gone(filled: House) -> None:
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
        expected |= {(Drift.ORPHAN, Kind.RECORD, node), (Drift.ORPHAN, Kind.RELATION, relation)}
    assert await named(filled) == expected
    assert (await repaired(filled)).equal
    left = [item for item in await filled.dump() if "Tomb" not in item]
    assert left == before


async def test_what_is_on_its_way_is_no_difference_where_somebody_applies_it(filled: House) -> None:
    running = asyncio.create_task(filled.worker.run())
    try:
        for number in range(20):
            await filled.memory.observe(f"Person {number}", "works_at", "Acme")
            found = await filled.worker.checker.verify(within_s=30.0)
            assert found.equal, found
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_without_a_worker_what_is_on_its_way_is_told_as_not_settled(filled: House) -> None:
    kept = await filled.memory.observe("Bob", "works_at", "Acme")
    found = await filled.worker.checker.verify(within_s=0.1)
    assert not found.equal
    assert not found.settled
    assert kept.primary.id in {one.id for one in found.differences}


async def test_a_mirror_written_under_another_level_of_names_differs(filled: House) -> None:
    stricter = House(filled.memory, filled.mirror, SyncConfig(names_up_to=Sensitivity.PUBLIC))
    found = await verify(stricter)
    assert {one.drift for one in found.differences} == {Drift.DIFFERENT}
    await filled.worker.release()
    assert (await repaired(stricter)).equal
    assert not [item for item in await filled.dump() if '"name"' in item and "Tool" not in item]


async def test_buckets_of_every_size_find_the_same(filled: House, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [await a_record(filled), await a_record(filled, MemoryType.EPISODIC)]
    for id_ in ids:
        await filled.write_cypher(MATCH + "SET n.ver = 0", id=str(id_))
    for size in (1, 2, 3, 7, 1_000):
        monkeypatch.setattr(checking, "BUCKET", dict.fromkeys(Kind, size))
        assert await named(filled) == {(Drift.STALE, Kind.RECORD, id_) for id_ in ids}


async def test_the_running_check_finds_and_mends_by_itself(filled: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stratagraph.graph_sync.maintenance.CHECK_S", 0.0)
    before = await filled.dump()
    id_, relation = await a_record(filled), await a_relation(filled)
    await filled.write_cypher(MATCH + "SET n.ver = 0", id=str(id_))
    await filled.write_cypher(BETWEEN + "DELETE r", id=str(relation))
    await filled.worker.release()
    running = asyncio.create_task(filled.another_worker().run())
    try:

        async def mended() -> bool:
            return await filled.dump() == before

        await until(mended)

        async def told() -> bool:
            async with filled.memory.database.engine.begin() as connection:
                row = (await connection.execute(text("SELECT drift, last_drift FROM mirror_leader"))).one()
            both = [row.drift, row.last_drift or {}]
            return any(one.get("stale") == 1 for one in both) and any(one.get("missing") == 1 for one in both)

        await until(told)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_tenants_check_sees_only_that_tenant(filled: House) -> None:
    acme = (await filled.tenant()).id
    await filled.write_cypher(
        "CREATE (:Mirrored:Memory {ten: 4711, id: $id, gen: 1, ver: 3, d: 1, acl: 8})", id=str(UUID(int=9))
    )
    assert (await filled.worker.checker.verify(acme, within_s=1.0)).equal
    assert not (await filled.worker.checker.verify(4711, within_s=1.0)).equal


async def test_a_relation_deleted_by_itself_leaves_the_mirror(filled: House) -> None:
    relation = await a_relation(filled)
    tenant = await filled.tenant()
    async with filled.memory.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM relation WHERE id = :id"), {"id": relation})
        await append_changes(connection, tenant, [Change(kind=Kind.RELATION, id=relation, version=2, op="D")])
    await filled.sync()
    assert (await verify(filled)).equal


async def test_a_plans_new_version_is_drawn_beside_the_old_and_both_are_right(filled: House) -> None:
    newer = PLAN | {"version": "2", "nodes": [{"id": "a", "op": "build"}], "edges": []}
    await filled.memory.remember(SourceKind.OBSERVATION, newer, proposed_type=MemoryType.PLAN_GRAPH)
    await filled.sync()
    assert (await verify(filled)).equal
    rows = await filled.cypher("MATCH (p:PlanGraph)-[:HAS_STEP]->(s) RETURN p.id AS id, count(s) AS steps")
    assert sorted(row["steps"] for row in rows) == [1, 3]
