"""While it is known that the mirror differs from Postgres, questions are answered from SQL and say why."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from fix_mirror import MirroredMemory, capture_every_kind

from stratagraph.graph_sync.worker import CONSUMER
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import AnsweredBy, Engines
from stratagraph.memory.explore.answers import Related
from stratagraph.memory.explore.service import Explore
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.mirror.scrubs import SMALL_DAMAGE, Scrubs
from stratagraph.store.mirror.status import read_mirror_status
from stratagraph.store.model.enums import Sensitivity

pytestmark = pytest.mark.neo4j

BY_NEO4J = AnsweredBy(engine="neo4j", mirror_lag_seconds=0.0)
REASON = "the mirror differs from PostgreSQL and is being repaired"


@pytest.fixture
async def filled(mirrored: MirroredMemory, monkeypatch: pytest.MonkeyPatch) -> MirroredMemory:
    monkeypatch.setattr("stratagraph.graph_sync.maintenance.ROUND_S", 0.0)
    await capture_every_kind(mirrored.memory)
    for number in range(SMALL_DAMAGE + 1):
        await mirrored.memory.observe("Zoe", "knows", f"friend {number}")
    await mirrored.sync()
    return mirrored


async def ask(filled: MirroredMemory) -> Related:
    memory = filled.memory
    engines = Engines(
        mirror=Neo4jEngine(filled.mirror, plans_up_to=Sensitivity.LOW),
        freshness=MirrorFreshness(memory.database, CONSUMER),
        preference="neo4j",
        deadline_s=30.0,
    )
    (zoe,) = await memory.lookup.entities(memory.trust, "Zoe", scope=None, first=1)
    explore = Explore(memory.database, memory.directory, memory.clock, engines)
    found = await explore.related(memory.trust, zoe.id, first=100)
    assert found is not None
    return found


async def scrub_round(filled: MirroredMemory) -> None:
    """Let the leader scrub, without applying any change, until a round is complete."""
    scrubs, began_at = Scrubs(filled.memory.database, CONSUMER), datetime.now(UTC)
    while True:
        await filled.worker.maintenance.run_once(check=True)
        report = await scrubs.report()
        if report is not None and report.last_checked_at is not None and report.last_checked_at > began_at:
            return


async def is_shown_as_damaged(filled: MirroredMemory) -> bool:
    """Return what the mirror says of itself; health and `sync status` read the other of the two."""
    (shown,) = await filled.cypher("MATCH (i:MirrorInfo) RETURN i.state = 'being repaired' AS found")
    status = await read_mirror_status(filled.memory.database, CONSUMER)
    assert status.is_damaged == shown["found"]
    return status.is_damaged


async def test_questions_are_answered_from_sql_while_damage_is_known(filled: MirroredMemory) -> None:
    whole = await ask(filled)
    assert whole.answered_by == BY_NEO4J
    await filled.write_cypher("MATCH (:Entity {name: 'Zoe'})-[r]-() WITH r ORDER BY r.id LIMIT 1 DELETE r")
    await scrub_round(filled)
    during = await ask(filled)
    assert (during.answered_by.engine, during.answered_by.fallback) == ("sql", REASON)
    assert during.entities == whole.entities
    assert await is_shown_as_damaged(filled)
    await filled.sync()  # applies the repair
    after = await ask(filled)
    assert (after.answered_by, after.entities) == (BY_NEO4J, whole.entities)
    assert not await is_shown_as_damaged(filled)

    await scrub_round(filled)
    await filled.write_cypher("MATCH (:Entity {name: 'Zoe'})-[r]-() DELETE r")
    await scrub_round(filled)
    await filled.sync()
    assert (await ask(filled)).answered_by.fallback == REASON, "so much was found that more may be damaged"
    await scrub_round(filled)
    await filled.sync()
    assert (await ask(filled)).answered_by == BY_NEO4J
    assert not await is_shown_as_damaged(filled)

    scrubs = Scrubs(filled.memory.database, CONSUMER)
    began_at = datetime.now(UTC)
    await scrubs.note_damage(1, beyond_scrub=True)
    await scrubs.note_no_damage(began_at=began_at)  # of a comparison that began before
    assert (await ask(filled)).answered_by.fallback == REASON
    await scrubs.note_no_damage(began_at=datetime.now(UTC))
    assert (await ask(filled)).answered_by == BY_NEO4J
