"""After an upgrade, the job `rekey` gives names and facts of an earlier release the keys that captures compute now."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_memory import Memory, fresh_database, memory_of
from fix_upgrades import migrate_to
from psycopg.rows import dict_row

from stratagraph.memory.rekeying import rekey_batch
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import RecordState, Sensitivity
from stratagraph.store.postgres.database import Database
from stratagraph.store.postgres.migrating import migrate

ROWS = Path(__file__).parents[2] / "data" / "released_0010.sql"
NOW = datetime(2026, 6, 2, tzinfo=UTC)


@asynccontextmanager
async def upgraded_memory(postgres_url: str) -> AsyncIterator[tuple[Memory, str]]:
    """Yield a memory on a database that the release with schema 0010 filled and that was then migrated."""
    with fresh_database(postgres_url, None) as url:
        migrate_to(url, "0010")
        with psycopg.connect(url) as loading:
            loading.execute(ROWS.read_bytes())
        migrate(url)
        async with Database(url) as database:
            memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
            memory.clock.at = NOW
            yield memory, url


@pytest.fixture
async def upgraded(postgres_url: str) -> AsyncIterator[tuple[Memory, str]]:
    async with upgraded_memory(postgres_url) as opened:
        yield opened


async def rekey(memory: Memory, *, batch: int) -> int:
    """Run the job to its end; return the number of records that it read."""
    records = 0
    while (done := await rekey_batch(memory.database, memory.directory, now=memory.clock.now(), batch=batch)).more:
        assert done.set_aside == 0
        records += done.records
    return records


def rows(url: str, statement: str) -> list[dict[str, Any]]:
    with psycopg.connect(url, row_factory=dict_row) as connection:
        return connection.execute(statement).fetchall()


def state_of(url: str) -> dict[str, list[str]]:
    """Return what the store holds, without what a repetition of the job may make different: instants and new ids."""
    statements = {
        "records": "SELECT id, state, payload, sealed IS NULL AS plain, provenance, fact_key, slot_key, single_valued,"
        " version FROM record",
        "facts": "SELECT * FROM fact",
        "terms": "SELECT * FROM entity_term",
        "relations": "SELECT e.source, p.name, e.target FROM relation e JOIN predicate p ON p.id = e.predicate"
        " AND p.tenant = e.tenant WHERE e.ended_at IS NULL",
        "rekeying": "SELECT tenant FROM rekeying",
    }
    return {
        name: sorted(repr(sorted(row.items())) for row in rows(url, statement))
        for name, statement in statements.items()
    }


async def current_facts(memory: Memory) -> Counter[tuple[str, str, str, RecordState, int]]:
    """Return the current facts as (subject, predicate, object, state, number of sources), folded."""
    page = await memory.lookup.records(memory.trust, first=100)
    found: Counter[tuple[str, str, str, RecordState, int]] = Counter()
    for record in page.records:
        payload = record.payload or {}
        if record.type.label == "semantic" and record.state in (RecordState.ACTIVE, RecordState.CONTESTED):
            value = " ".join(str(payload["object"]).casefold().split())
            sources = len((record.provenance or {})["sources"])
            found[payload["subject"].casefold(), payload["predicate"].casefold(), value, record.state, sources] += 1
    return found


async def test_equal_facts_of_the_earlier_release_become_one_and_contradictory_ones_a_dispute(
    upgraded: tuple[Memory, str],
) -> None:
    memory, url = upgraded
    assert await rekey(memory, batch=7) > 20
    active, contested = RecordState.ACTIVE, RecordState.CONTESTED
    assert await current_facts(memory) == Counter(
        [
            ("acme", "located_in", "berlin", active, 3),
            ("ana müller", "works_at", "acme", active, 2),
            ("acme", "founded", "1999", active, 2),
            ("acme", "status", "active", active, 2),
            ("acme", "mood", "good", contested, 1),
            ("acme", "mood", "bad", contested, 1),
            ("ana müller", "lives_in", "paris", active, 1),
            ("ana müller", "prefers", "dark mode", active, 2),
            ("ana müller", "salary_band", "b7", active, 2),
        ]
    )
    assert rows(url, "SELECT * FROM rekeying") == []
    assert rows(url, "SELECT id FROM record WHERE type = 4 EXCEPT SELECT id FROM fact") == []


async def test_what_is_captured_after_the_upgrade_repeats_what_the_earlier_release_stored(
    upgraded: tuple[Memory, str],
) -> None:
    memory, _ = upgraded
    await rekey(memory, batch=100)
    before = sum((await current_facts(memory)).values())
    for subject, predicate, value in [
        ("ACME GmbH", "located-in", "BERLIN"),
        ("ana muller", "works at", "Acme"),
        ("acme", "founded", 1999),
        ("Acme", "Status", "ACTIVE"),
    ]:
        await memory.observe(subject, predicate, value)
    await memory.observe("Ana Müller", "salary_band", "B7", sensitivity=Sensitivity.HIGH)
    assert sum((await current_facts(memory)).values()) == before
    kept = await memory.observe("x", "knows", "y", context={"mentions": [{"name": "someone", "identifiers": [
        {"namespace": "EMAIL", "value": "ana@ACME.example"}]}]})  # fmt: skip
    linked = {edge.target for edge in (await memory.lookup.relations(memory.trust, [kept.primary.id]))[kept.primary.id]}
    ana = await memory.lookup.entities(memory.trust, "Ana Müller", scope=None, first=5)
    assert [entity.id for entity in ana if entity.id in linked] == [ana[0].id]


async def test_a_job_that_is_killed_at_random_points_ends_as_one_that_is_not(
    upgraded: tuple[Memory, str], postgres_url: str
) -> None:
    memory, url = upgraded
    async with upgraded_memory(postgres_url) as (other, other_url):
        await rekey(other, batch=5)
        expected = state_of(other_url)
    luck, kills, longest_s = random.Random(11), 0, 0.02
    while rows(url, "SELECT tenant FROM rekeying"):
        try:
            async with asyncio.timeout(luck.uniform(0.0, longest_s)):
                await rekey_batch(memory.database, memory.directory, now=memory.clock.now(), batch=5)
        except TimeoutError:
            kills += 1
            longest_s *= 1.1  # so that the test ends on a slow machine too
    assert kills >= 3
    assert state_of(url) == expected
    assert not (await rekey_batch(memory.database, memory.directory, now=memory.clock.now(), batch=50)).more
    assert state_of(url) == expected
