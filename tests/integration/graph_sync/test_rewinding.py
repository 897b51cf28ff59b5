"""An old copy of the mirror is rewound: only the changes since are applied to it, and it does not answer until then.

Copies are made and put back by Cypher here; tests/acceptance/test_mirror_copies.py does it with the server's files.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
from fix_mirror import MirroredMemory
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync import maintenance
from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.store.feed.snapshots import trim_snapshots
from stratagraph.store.mirror.dead_letters import DeadLetters
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.status import read_mirror_status
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.postgres.database import Role

pytestmark = pytest.mark.neo4j

FACTS = 6


@pytest.fixture
async def filled(mirrored: MirroredMemory) -> AsyncIterator[MirroredMemory]:
    for number in range(FACTS):
        await mirrored.memory.observe(f"Person {number}", "works_at", "Acme")
    await mirrored.sync()
    yield mirrored
    await mirrored.worker.release()


async def copy_of(mirrored: MirroredMemory) -> dict[str, Any]:
    """Return all nodes and relationships of the mirror, as a dump holds them."""
    nodes = "MATCH (n) RETURN collect({key: elementId(n), labels: labels(n), p: properties(n)}) AS found"
    edges = (
        "MATCH (a)-[r]->(b) RETURN collect({source: elementId(a), target: elementId(b), type: type(r),"
        " p: properties(r)}) AS found"
    )
    return {
        "nodes": (await mirrored.cypher(nodes))[0]["found"],
        "edges": (await mirrored.cypher(edges))[0]["found"],
    }


async def restore_copy(mirrored: MirroredMemory, copy: dict[str, Any]) -> None:
    await mirrored.write_cypher("MATCH (n) DETACH DELETE n")
    await mirrored.write_cypher(
        "UNWIND $nodes AS row CREATE (n:Copied) SET n = row.p, n.copied = row.key SET n:$(row.labels)",
        nodes=copy["nodes"],
    )
    await mirrored.write_cypher(
        "UNWIND $edges AS row MATCH (a:Copied {copied: row.source}), (b:Copied {copied: row.target})"
        " CREATE (a)-[r:$(row.type)]->(b) SET r = row.p",
        edges=copy["edges"],
    )
    await mirrored.write_cypher("MATCH (n:Copied) REMOVE n:Copied, n.copied")


async def put_back_after_more(mirrored: MirroredMemory, copy: dict[str, Any]) -> None:
    """Let the mirror receive a few changes, and put the copy back in its place."""
    for number in range(3):
        await mirrored.memory.observe(f"New {number}", "works_at", "Acme")
    await mirrored.sync()
    await restore_copy(mirrored, copy)
    assert not await mirrored.counts_are_equal()


async def logged(mirrored: MirroredMemory) -> int:
    """Return the number of changes in the log."""
    return await number(mirrored, "SELECT count(*) FROM sync_log")


async def number(mirrored: MirroredMemory, statement: str) -> int:
    async with mirrored.memory.database.engine.begin() as connection:
        return int((await connection.execute(text(statement))).scalar_one())


async def may_answer(mirrored: MirroredMemory) -> bool:
    found = await MirrorFreshness(mirrored.memory.database, CONSUMER).of((await mirrored.tenant()).id)
    assert found is not None
    return found.whole


async def test_an_old_copy_receives_the_changes_since_and_answers_when_it_has_them(filled: MirroredMemory) -> None:
    gone = await filled.memory.observe("Gone", "works_at", "Acme")
    await filled.sync()
    copy, before = await copy_of(filled), await logged(filled)
    await filled.delete(gone.primary.id)
    await put_back_after_more(filled, copy)
    since = await logged(filled) - before
    assert await filled.node(gone.primary.id) is not None
    await filled.worker.release()
    filled.worker = filled.another_worker()
    with capture_logs() as logs:
        assert (await filled.worker.maintenance.run_once()).rewound
        assert not await may_answer(filled)
        assert (await read_mirror_status(filled.memory.database, CONSUMER)).is_building
        assert not (await filled.worker.maintenance.run_once()).rewound, "it is rewound once"
        assert not await may_answer(filled)
        assert 0 < (await filled.worker.follow_once()).applied <= since
        assert not (await filled.worker.maintenance.run_once()).rebuilt
    assert await may_answer(filled)
    assert [line["changes"] for line in logs if "rew" in line["event"]] == [since, since]
    newest = await Generations(filled.memory.database, CONSUMER).newest()
    assert newest is not None
    assert (newest["generation"], newest["state"], newest["rewound_changes"]) == (1, "active", since)
    assert await filled.mirror_is_equal()


async def test_shards_of_different_ages_are_rewound_each_to_its_own_position(filled: MirroredMemory) -> None:
    earlier = await filled.checkpoint()
    before = await logged(filled)
    for name in ("New 1", "New 2"):
        await filled.memory.observe(name, "works_at", "Acme")
        await filled.sync()
    since = await logged(filled) - before
    half = "MATCH (c:SyncCheckpoint) WHERE c.k IN $keys SET c.snapshot = $snapshot, c.nonce = $nonce"
    keys = [f"neo4j:{cursor}" for cursor in range(8)]
    await filled.write_cypher(half, keys=keys, snapshot=earlier.snapshot, nonce=str(earlier.nonce))
    result = await filled.start_afresh()
    assert result.rewound
    assert result.applied < since
    assert await filled.mirror_is_equal()


async def test_a_copy_that_lacks_only_the_first_pages_of_a_window_is_rewound(filled: MirroredMemory) -> None:
    kept = await filled.memory.observe("New", "works_at", "Acme")
    await filled.worker.release()
    filled.worker = filled.another_worker()
    await filled.worker.maintenance.run_once()  # which stores the snapshot that ends the window
    await filled.run_sql(
        "UPDATE sync_cursor SET window_snapshot = (SELECT max(id) FROM sync_snapshot),"
        " window_seq = (SELECT max(seq) FROM sync_log) WHERE consumer = 'neo4j'"
    )
    assert (await filled.sync()).rewound
    assert await filled.node(kept.primary.id) is not None
    assert await filled.mirror_is_equal()


async def test_a_worker_that_did_not_notice_the_copy_writes_nothing_to_it(filled: MirroredMemory) -> None:
    copy = await copy_of(filled)
    await put_back_after_more(filled, copy)
    old = await filled.checkpoint()
    kept = await filled.memory.observe("Newest", "works_at", "Acme")
    with pytest.raises(MirrorUnavailable, match="an old copy"):
        await filled.worker.follow_once()
    assert await filled.node(kept.primary.id) is None
    assert await filled.checkpoint() == old
    assert (await filled.start_afresh()).rewound
    assert await filled.mirror_is_equal()


async def test_a_dead_letter_that_was_written_after_the_copy_is_written_to_the_copy_too(filled: MirroredMemory) -> None:
    await filled.write_cypher("CREATE (:Episodic {name: 'user: poison', poison: true})")
    await filled.write_cypher("CREATE CONSTRAINT poison FOR (n:Episodic) REQUIRE n.name IS UNIQUE")
    refused = await filled.memory.turn("poison")
    assert (await filled.sync()).dead_letters == 1
    await filled.write_cypher("DROP CONSTRAINT poison")
    await filled.write_cypher("MATCH (n {poison: true}) DETACH DELETE n")
    copy = await copy_of(filled)
    await DeadLetters(filled.memory.database, CONSUMER).retry(None)
    await filled.sync()
    assert await filled.node(refused.primary.id) is not None
    await restore_copy(filled, copy)
    assert (await filled.start_afresh()).rewound
    assert await filled.node(refused.primary.id) is not None
    assert await filled.mirror_is_equal()


async def test_a_copy_older_than_the_kept_log_is_rebuilt(filled: MirroredMemory) -> None:
    copy = await copy_of(filled)
    await put_back_after_more(filled, copy)
    await filled.run_sql("UPDATE sync_snapshot SET at = at - interval '25 hours'")
    async with filled.memory.database.background(Role.JOBS) as connection:
        await trim_snapshots(connection, limit=1_000)
    result = await filled.start_afresh()
    assert (result.rebuilt, result.rewound) == (True, False)
    newest = await Generations(filled.memory.database, CONSUMER).newest()
    assert newest is not None
    assert newest["reason"] == "the mirror is an older copy than the change log reaches back to"
    assert await filled.mirror_is_equal()


@pytest.mark.parametrize("of_tenant", [False, True])
@pytest.mark.parametrize("copied_during", [False, True])
async def test_a_copy_of_before_or_during_a_rebuild_is_rebuilt(
    filled: MirroredMemory, *, of_tenant: bool, copied_during: bool
) -> None:
    tenant = (await filled.tenant()).id if of_tenant else None
    copy = await copy_of(filled)
    await filled.worker.maintenance.begin_rebuild(tenant, reason="a test")
    if copied_during:
        copy = await copy_of(filled)
    await filled.sync()
    await put_back_after_more(filled, copy)
    result = await filled.start_afresh()
    assert (result.rebuilt, result.rewound) == (True, False)
    assert await filled.mirror_is_equal()


async def test_a_copy_that_lacks_more_changes_than_there_are_rows_is_rebuilt(
    filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "REWOUND_AT_LEAST", 1)
    await filled.run_sql("ANALYZE record, relation")
    copy = await copy_of(filled)
    tenant = (await filled.tenant()).id
    fact = (await filled.cypher("MATCH (n:Semantic) RETURN n.id AS id LIMIT 1"))[0]["id"]
    for _ in range(60):
        await filled.rewrite(UUID(fact), "occurred_at = occurred_at + interval '1 second'")
    assert sum(await filled.source.counts(tenant)) < 60
    await filled.sync()
    await restore_copy(filled, copy)
    assert (await filled.start_afresh()).rebuilt
    assert await filled.mirror_is_equal()


async def test_a_copy_of_a_history_that_postgres_lost_in_a_restore_is_rebuilt(filled: MirroredMemory) -> None:
    copy = await copy_of(filled)
    await put_back_after_more(filled, copy)
    snapshot = (await filled.checkpoint()).snapshot
    # A restored Postgres uses the numbers of the lost snapshots again, with other nonces.
    await filled.run_sql("UPDATE sync_snapshot SET nonce = gen_random_uuid() WHERE id = :id", id=snapshot)
    result = await filled.start_afresh()
    assert (result.rebuilt, result.rewound) == (True, False)
    newest = await Generations(filled.memory.database, CONSUMER).newest()
    assert newest is not None
    assert newest["reason"] == "the mirror belongs to another history of the database"
    assert await filled.mirror_is_equal()
