"""Which facts are compared depends on the records of their group alone."""

from __future__ import annotations

from uuid import UUID

from fix_memory import Memory
from sqlalchemy import text

from stratagraph.store.learning.duplicates import CANDIDATES, find_facts_of_one_object, ordered
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.enums import Sensitivity


async def test_which_of_many_facts_are_compared_does_not_depend_on_their_place_on_disk(memory: Memory) -> None:
    for number in range(CANDIDATES + 5):
        await memory.observe("Acme", f"does_{number}", "Rockets")
    found = await memory.rows("SELECT id, tenant, scope, sensitivity FROM record WHERE type = 4 ORDER BY id")
    group = Group(found[0]["tenant"], found[0]["scope"], Sensitivity(found[0]["sensitivity"]))
    asked = found[-1]["id"]

    async def alike() -> set[tuple[UUID, UUID]]:
        async with memory.database.engine.begin() as connection:
            return await find_facts_of_one_object(connection, group, [asked])

    first = {ordered(row["id"], asked) for row in found[:CANDIDATES]}
    assert await alike() == first
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("SET LOCAL session_replication_role = replica"))
        await connection.execute(text("CREATE TEMPORARY TABLE moved AS SELECT * FROM fact ORDER BY id DESC"))
        await connection.execute(text("DELETE FROM fact"))
        await connection.execute(text("INSERT INTO fact SELECT * FROM moved"))
    assert await alike() == first
