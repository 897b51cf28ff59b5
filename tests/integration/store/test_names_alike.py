"""Entities with names alike are found by an index of their group, at the cost of that group's names alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from fix_memory import Memory, trust_of
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.model.enums import MemoryType, SourceKind

INDEX = "record_group_name_ix"
MANY_NAMES = """
INSERT INTO record (tenant, id, type, scope, sensitivity, state, confidence, tags, name, text, payload, provenance,
  created_at, occurred_at, updated_at, version, row_version, terms, impacts)
SELECT :tenant, gen_random_uuid(), 3, :scope, :sensitivity, :state, 1, '{}', :name || ' ' || n, '', '{}', '{}', now(),
  now(), now(), 1, 1, '{}', '{}/1000000000'
FROM generate_series(1, :count) AS n
"""
CALL = """
SELECT other FROM find_entities_named_alike(:tenant, :scope, :sensitivity, ARRAY[CAST(:id AS uuid)], ARRAY[:name], 5)
"""
ROWS_READ = (
    "SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0) FROM pg_stat_xact_user_tables WHERE relname = 'record'"
)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for one in plan.get("Plans", ()):
        yield from nodes(one)


async def explained(connection: AsyncConnection, given: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the plan of the function's statement that reads the index, as the function plans it."""
    found = await connection.execute(
        text("SELECT prosrc, proconfig FROM pg_proc WHERE proname = 'find_entities_named_alike'")
    )
    source, config = found.one()
    for setting in config:
        name, value = setting.split("=", 1)
        if name != "search_path":
            await connection.execute(text(f"SET LOCAL {name} = {value}"))
    statement = re.search(r"RETURN QUERY(.*?);", source, re.DOTALL)
    assert statement is not None
    values = {
        "ids": f"ARRAY[CAST('{given['id']}' AS uuid)]",
        "names": f"ARRAY['{given['name']}']",
        "of_tenant": f"CAST({given['tenant']} AS bigint)",
        "of_scope": f"{given['scope']}",
        "of_sensitivity": f"{given['sensitivity']}",
        "most": "5",
    }
    query = re.sub(r"\b(ids|names|of_\w+|most)\b", lambda found: values[found[0]], statement[1]).replace("::", r"\:\:")
    plan = (await connection.execute(text(f"EXPLAIN (FORMAT JSON) {query}"))).scalar_one()[0]["Plan"]
    return next(node for node in nodes(plan) if node.get("Index Name", "").startswith("record"))


async def test_names_of_other_groups_are_not_read_to_find_names_alike(memory: Memory) -> None:
    """Neither names like it of other tenants, scopes, levels and states, nor others of its own group."""
    asked, other = [
        (await memory.remember(SourceKind.OBSERVATION, {"canonical_name": name}, proposed_type=MemoryType.ENTITY))
        for name in ("Kubernetes", "Kuberntes")
    ]
    rival = (await memory.directory.resolve(trust_of(tenant="rival"))).tenant.id
    async with memory.database.engine.begin() as connection:
        place = await connection.execute(
            text("SELECT tenant, scope, sensitivity FROM record WHERE id = :id"), {"id": asked.primary.id}
        )
        own = dict(place.mappings().one())
        given = own | {"id": asked.primary.id, "name": "Kubernetes"}
        await connection.execute(text("SET LOCAL session_replication_role = replica"))  # no scope, no keys
        alike = own | {"state": 1, "name": "Kubernetes", "count": 5000}
        for more in (
            {"tenant": rival, "count": 20000},
            {"scope": own["scope"] + 1000},
            {"sensitivity": own["sensitivity"] + 1},
            {"state": 3},
            {"name": "Zebra"},
        ):
            await connection.execute(text(MANY_NAMES), alike | more)
        await connection.execute(text("ANALYZE record"))
    async with memory.database.engine.begin() as connection:
        assert (await connection.execute(text(CALL), given)).scalars().all() == []  # of a transaction without a tenant
        await connection.execute(text(f"SELECT set_config('stratagraph.tenant', '{own['tenant']}', true)"))
        before = (await connection.execute(text(ROWS_READ))).scalar_one()
        found: list[UUID] = list((await connection.execute(text(CALL), given)).scalars())
        rows = (await connection.execute(text(ROWS_READ))).scalar_one() - before
        index = await explained(connection, given)
    assert found == [other.primary.id]
    assert rows <= 5
    assert index["Index Name"] == INDEX
    assert all(f"({column} = " in index["Index Cond"] for column in ("tenant", "scope", "sensitivity"))
    assert "name % " in index["Index Cond"]
