"""The newest readable records: exactly those, in order, and in bounded work whatever hidden records lie between."""

from __future__ import annotations

import random
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from fix_memory import Memory
from fix_words import count_all_words
from sqlalchemy import text

from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.postgres.database import Bounds

SCOPES, RECORDS = 30, 1_500
# Ids are in the order of writing. A few scopes have most of the records, and a few instants are shared, so that ids
# decide the order.
FILL = """
INSERT INTO record SELECT (jsonb_populate_record(NULL::public.record, to_jsonb(r) || jsonb_build_object(
  'id', overlay(gen_random_uuid()::text PLACING lpad(to_hex(n * 4294967295 / %(records)s), 8, '0') FROM 1 FOR 8),
  'doc', 1000 + n, 'scope', (%(scopes)s::int[])[1 + floor(power(random(), 4) * %(most)s)::int],
  'sensitivity', floor(random() * %(levels)s)::int,
  'occurred_at', timestamptz '2026-01-01' + floor(random() * 300)::int * interval '1 hour'))).*
FROM (SELECT * FROM record LIMIT 1) r, generate_series(1, %(records)s::bigint) n
"""
EXPECTED = """
SELECT id FROM (
  SELECT id, occurred_at FROM record
  WHERE tenant = %(tenant)s AND sensitivity <= %(ceiling)s AND (%(scopes)s::int[] IS NULL OR scope = ANY(%(scopes)s))
    AND (%(below)s::uuid IS NULL OR id < %(below)s) ORDER BY {order} LIMIT %(window)s
) newest ORDER BY occurred_at DESC, id DESC
"""
SEARCHES = {
    False: "SELECT id FROM search_recent('{1,2,3,4,5,6}', now(), :window, :window)",
    True: "SELECT id FROM search_recent_at('{1,2,3,4,5,6}', now() + interval '1 day', :below, :window, :window)",
}

READ = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'record'"
LOOK_UP = r"SELECT payload FROM record WHERE tenant = $1 AND id = $2 AND sensitivity <= $3"


@pytest.fixture
async def scopes(memory: Memory, database_url: str) -> list[int]:
    """The numbers of the scopes of a tenant that has records in all of them, at all levels."""
    return await fill(memory, database_url, levels=5)


async def fill(memory: Memory, database_url: str, *, levels: int) -> list[int]:
    """Fill a tenant with records of `levels` levels in SCOPES scopes, and return the numbers of these."""
    await memory.turn("one of many", scope="project:0")
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    names = {f"project:{number}" for number in range(SCOPES)}
    numbers = sorted((await memory.directory.scopes(tenant, names, create=True)).values())
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("SET session_replication_role = replica")  # the rows that these refer to do not matter
        owner.execute(FILL, {"scopes": numbers, "most": SCOPES, "levels": levels, "records": RECORDS})
        owner.execute("ANALYZE record")
    return numbers


@pytest.mark.parametrize("ceiling", [Sensitivity.PUBLIC, Sensitivity.MEDIUM, Sensitivity.HYPER])
async def test_the_newest_readable_records_are_found_whatever_lies_between(
    memory: Memory, database_url: str, scopes: list[int], ceiling: Sensitivity
) -> None:
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    pick = random.Random(int(ceiling))
    compared = 0
    with psycopg.connect(database_url) as owner:
        for some in (None, scopes[:1], scopes[-1:], pick.sample(scopes, 4), scopes):
            bounds = Bounds(
                tenant=tenant.id, scopes=None if some is None else tuple(some), ceiling=int(ceiling), actor="tester"
            )
            for window in (1, 7, 60, 400):
                for below in (None, UUID(int=2**128 - 1), UUID(int=2**127)):
                    query = EXPECTED.format(order="occurred_at DESC, id DESC" if below is None else "id DESC")
                    values = {"tenant": tenant.id, "ceiling": int(ceiling), "scopes": some, "below": below}
                    expected = [row[0] for row in owner.execute(query, {**values, "window": window})]
                    async with memory.database.reading(bounds) as connection:
                        search = text(SEARCHES[below is not None])
                        found = (await connection.execute(search, {"window": window, "below": below})).scalars().all()
                    assert found == expected, (some, window, below)
                    compared += len(expected)
    assert compared > 1_000


@pytest.mark.parametrize("is_past", [False, True])
async def test_levels_without_records_are_not_looked_for_among_the_others(
    memory: Memory, database_url: str, is_past: bool
) -> None:
    """Of many records at one level, those are read that are found, whatever levels the caller may read besides."""
    scopes = await fill(memory, database_url, levels=1)
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    for some in (None, tuple(scopes[:3])):
        bounds = Bounds(tenant=tenant.id, scopes=some, ceiling=int(Sensitivity.HYPER), actor="tester")
        async with memory.database.reading(bounds) as connection:
            search = text(SEARCHES[is_past])
            found = await connection.execute(search, {"window": 10, "below": UUID(int=2**128 - 1)})
            assert len(found.all()) == 10
            read = await connection.execute(text(READ))
            assert 10 <= read.scalar_one() < 100, some


async def test_a_record_is_looked_up_by_its_id(memory: Memory, database_url: str) -> None:
    """Not by an index of levels or scopes, in which it would be looked for once for each of them."""
    await fill(memory, database_url, levels=1)
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    bounds = Bounds(tenant=tenant.id, scopes=None, ceiling=int(Sensitivity.HIGH), actor="tester")
    async with memory.database.reading(bounds) as connection:
        plan = "\n".join((await connection.execute(text(f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {LOOK_UP}"))).scalars())
    assert "Index Cond: ((tenant = $1) AND (id = $2))" in plan, plan


async def test_of_very_many_scopes_the_largest_are_searched(memory: Memory, scopes: list[int]) -> None:
    """5,000 scopes without records are not looked into one by one; those with counted records are searched."""
    memory.clock.forward(timedelta(days=1))
    newest = (await memory.turn("the newest of all", scope="project:0")).primary.id
    await count_all_words(memory.database)
    tenant = (await memory.directory.resolve(memory.trust)).tenant
    bounds = Bounds(
        tenant=tenant.id, scopes=(*scopes, *range(10**6, 10**6 + 5_000)), ceiling=int(Sensitivity.HYPER), actor="tester"
    )
    async with memory.database.reading(bounds) as connection:
        found = await connection.execute(text(SEARCHES[False]), {"window": 1})
        assert found.scalars().all() == [newest]
