"""A rebuild writes the mirror again in place: readers always find every record, a rebuild of one tenant changes no
other, and an interrupted rebuild continues.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fix_memory import trust_of, until
from fix_mirror import MirroredMemory
from sqlalchemy import text

from stratagraph.graph_sync import rebuilding
from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.status import read_mirror_status
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.postgres.database import Role

pytestmark = pytest.mark.neo4j

FACTS = 12
GENERATIONS = "MATCH (n:Memory) RETURN n.ten AS ten, collect(DISTINCT n.gen) AS gens"


@pytest.fixture
async def filled(mirrored: MirroredMemory) -> MirroredMemory:
    for tenant in ("acme", "other"):
        for number in range(FACTS):
            await mirrored.memory.remember(
                SourceKind.OBSERVATION,
                {"subject": f"Person {number}", "predicate": "works_at", "object": "Acme"},
                trust=trust_of(tenant=tenant),
            )
    await mirrored.sync()
    return mirrored


async def generations(mirrored: MirroredMemory) -> dict[int, list[int]]:
    return {row["ten"]: sorted(row["gens"]) for row in await mirrored.cypher(GENERATIONS)}


async def freshness(mirrored: MirroredMemory) -> bool | None:
    found = await MirrorFreshness(mirrored.memory.database, "neo4j").of((await mirrored.tenant()).id)
    return found.whole if found is not None else None


class Stopped(Exception):
    """Raised to interrupt a rebuild, as a crash would."""


async def stop(_: int) -> None:
    raise Stopped


async def test_an_interrupted_rebuild_continues_where_it_stopped(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "PAGE", 5)
    total = sum(await filled.source.counts())
    await filled.worker.maintenance.begin_rebuild(None, reason="a test")
    done: list[int] = []

    async def stop_half_way(rows: int) -> None:
        done.append(rows)
        if rows >= total / 2:
            raise Stopped

    with pytest.raises(Stopped):
        await filled.worker.maintenance.run_once(on_page=stop_half_way)
    await filled.memory.observe("Late", "works_at", "Acme")
    await filled.worker.release()
    successor = MirroredMemory(filled.memory, filled.mirror, filled.config)
    resumed: list[int] = []

    async def page(rows: int) -> None:
        resumed.append(rows)

    assert (await successor.worker.maintenance.run_once(on_page=page)).rebuilt
    assert resumed[0] >= done[-1], "pages that were written are not written again"
    await successor.sync()
    assert await successor.mirror_is_equal()
    assert await successor.generation() == 2
    assert {gen for gens in (await generations(successor)).values() for gen in gens} == {2}


async def test_a_rebuild_of_one_tenant_changes_no_other(filled: MirroredMemory) -> None:
    acme = (await filled.tenant()).id
    before = [item for item in await filled.dump() if f'"ten": {acme},' not in item]
    stray = "CREATE (:Mirrored:Memory {ten: $ten, id: 'stray', gen: 1, ver: 1, d: 1, acl: 8})"
    await filled.write_cypher(stray, ten=acme)
    number = await filled.worker.maintenance.begin_rebuild(acme, reason="a test")
    assert (await filled.worker.maintenance.run_once()).rebuilt
    after = await generations(filled)
    assert after.pop(acme) == [number]
    assert list(after.values()) == [[1]]
    assert [item for item in await filled.dump() if f'"ten": {acme},' not in item] == before
    assert not any("stray" in item for item in await filled.dump())
    for tenant in ("acme", "other"):
        await filled.memory.observe("Late", "works_at", "Acme", trust=trust_of(tenant=tenant))
    assert (await filled.sync()).dead_letters == 0
    assert await filled.mirror_is_equal()
    assert (await generations(filled))[acme] == [number]
    assert not (await filled.start_afresh()).rebuilt


async def test_readers_find_every_record_during_a_rebuild(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "PAGE", 3)
    counts = await filled.mirror.counts()
    seen: list[Any] = []

    async def look(_: int) -> None:
        seen.append((await filled.mirror.counts(), await freshness(filled)))

    await filled.worker.maintenance.begin_rebuild(None, reason="a test")
    await filled.worker.maintenance.run_once(on_page=look)
    assert len(seen) > 10
    assert set(seen) == {(counts, True)}


async def test_a_mirror_is_not_complete_while_it_is_being_filled(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "PAGE", 3)
    assert await freshness(filled) is True
    await filled.write_cypher("MATCH (n) DETACH DELETE n")
    with pytest.raises(Stopped):
        await filled.worker.maintenance.run_once(on_page=stop)
    assert await freshness(filled) is False
    await filled.worker.maintenance.run_once()
    assert await freshness(filled) is True
    assert await filled.mirror_is_equal()


async def test_workers_apply_new_changes_during_a_rebuild(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "PAGE", 3)
    follower = MirroredMemory(filled.memory, filled.mirror, filled.config)
    await filled.worker.release()

    async def write_and_follow(_: int) -> None:
        kept = await filled.memory.observe("Late", "works_at", "Acme")
        await follower.worker.follow_once()
        assert await filled.node(kept.primary.id) is not None

    await follower.worker.follow_once()
    await filled.worker.maintenance.begin_rebuild(None, reason="a test")
    await filled.worker.maintenance.run_once(on_page=write_and_follow)
    await follower.worker.follow_once()
    assert await follower.mirror_is_equal()


async def test_a_rebuild_recorded_only_in_postgres_before_a_crash_is_carried_out(filled: MirroredMemory) -> None:
    await Generations(filled.memory.database, "neo4j").begin("refreshing", reason="a test", at_least=1)
    assert (await filled.start_afresh()).rebuilt
    assert await filled.generation() == 2
    assert await filled.mirror_is_equal()
    await Generations(filled.memory.database, "neo4j").begin("building", reason="a test", at_least=1)
    assert (await filled.start_afresh()).rebuilt
    assert await filled.mirror_is_equal()


async def test_a_leader_without_its_lease_stops_its_rebuild_and_the_next_leader_continues_it(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "PAGE", 3)
    monkeypatch.setattr("stratagraph.graph_sync.maintenance.LEASE_S", 0)  # it renews its lease after every page
    other = MirroredMemory(filled.memory, filled.mirror, filled.config)

    async def lose(_: int) -> None:
        await filled.run_sql("UPDATE mirror_leader SET lease_until = '-infinity'")
        assert await other.worker.maintenance.acquire_lease()

    await filled.worker.maintenance.begin_rebuild(None, reason="a test")
    with pytest.raises(MirrorUnavailable, match="Another worker"):
        await filled.worker.maintenance.run_once(on_page=lose)
    assert not (await filled.worker.maintenance.run_once()).leads
    assert (await other.worker.maintenance.run_once()).rebuilt
    await filled.sync()
    assert await filled.mirror_is_equal()


async def test_an_idle_worker_rebuilds_a_mirror_that_was_emptied(filled: MirroredMemory) -> None:
    await filled.worker.release()
    running = asyncio.create_task(filled.another_worker().run())
    try:
        await filled.write_cypher("MATCH (n) DETACH DELETE n")

        async def is_rebuilt() -> bool:
            return await filled.generation() == 2 and await filled.counts_are_equal()

        await until(is_rebuilt)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_the_mirror_info_node_states_how_fresh_the_mirror_is(filled: MirroredMemory) -> None:
    info = "MATCH (i:MirrorInfo) RETURN properties(i) AS p"
    status = (await filled.cypher(info))[0]["p"]
    assert (status["state"], status["changes_waiting"], status["generation"]) == ("in step", 0, 1)
    await filled.memory.observe("Late", "works_at", "Acme")
    await filled.worker.maintenance.publish_status()
    status = (await filled.cypher(info))[0]["p"]
    assert status["state"] == "behind"
    assert status["changes_waiting"] > 0
    assert status["as_of"] <= status["checked_at"]
    await filled.sync()
    assert (await filled.cypher(info))[0]["p"]["state"] == "in step"


async def test_workers_record_when_they_followed_and_maintained_the_mirror(filled: MirroredMemory) -> None:
    database = filled.memory.database
    status = await read_mirror_status(database, CONSUMER)
    assert (status.live_workers, status.is_building) == (1, False)
    assert status.followed_s is not None
    assert status.maintained_s is not None
    assert 0 <= status.followed_s < 60
    assert 0 <= status.maintained_s < 60
    async with database.background(Role.FEED) as connection:
        await connection.execute(text("UPDATE mirror_leader SET maintained_at = now() - interval '1 hour'"))
    assert ((await read_mirror_status(database, CONSUMER)).maintained_s or 0) >= 3_600
    await filled.sync()
    status = await read_mirror_status(database, CONSUMER)
    assert status.maintained_s is not None
    assert status.maintained_s < 60
    await filled.worker.release()
    assert (await read_mirror_status(database, CONSUMER)).live_workers == 0


async def test_tombstones_are_deleted_after_a_day_and_not_before(filled: MirroredMemory) -> None:
    fact = await filled.memory.observe("Gone", "works_at", "Acme")
    await filled.sync()
    await filled.delete(fact.primary.id)
    await filled.sync()
    count = "MATCH (n:Tomb) RETURN count(n) AS tombs"
    assert (await filled.cypher(count))[0]["tombs"] == 1
    assert await filled.mirror.delete_expired_tombstones(limit=100) == 0
    await filled.write_cypher("MATCH (n:Tomb) SET n.at = datetime() - duration('P2D')")
    assert await filled.mirror.delete_expired_tombstones(limit=100) == 1
    assert (await filled.cypher(count))[0]["tombs"] == 0
