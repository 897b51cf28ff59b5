"""Graph queries run a constant number of statements, whatever fields are selected on their records."""

from __future__ import annotations

import random
from uuid import UUID

import pytest
from fix_api import services_of
from fix_graphs import create_tenant, random_record, readable_by_all, write_graph
from fix_memory import Memory

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.records.inserting import NewRelation

RECORD = "{ id name text payload relations { predicate } auditLog { action } }"
DOCUMENTS = {
    "explainPath": (
        "{ explainPath(from: $id, to: $to, k: 9, maxHops: 2)"
        f" {{ ... on PathExplanation {{ paths {{ weight nodes {RECORD} }} }} }} }}"
    ),
    "impact": f"{{ impact(id: $id) {{ ... on Impact {{ record {RECORD} nodes {{ record {RECORD} }} }} }} }}",
    "relatedEntities": (
        f"{{ relatedEntities(id: $id) {{ ... on RelatedEntities {{ entities {{ entity {RECORD} }} }} }} }}"
    ),
    "expand": (
        f"{{ expand(id: $id) {{ ... on Expansion {{ neighbours {{ record {RECORD} }} relations {{ predicate }} }} }} }}"
    ),
}


async def write_connected_pair(memory: Memory, memories: int) -> tuple[UUID, UUID]:
    """Write two entities that `memories` records refer to; return their ids."""
    tenant, rng = await create_tenant(memory, "acme"), random.Random(memories)
    one, other, *events = [
        readable_by_all(random_record(rng, tenant, type_=MemoryType.EPISODIC if number > 1 else MemoryType.ENTITY))
        for number in range(memories + 2)
    ]
    relations = [
        NewRelation(source=event.id, target=entity.id, predicate="mentions_entity", weight=0.5)
        for event in events
        for entity in (one, other)
    ]
    await write_graph(memory, tenant, [one, other, *events], relations)
    return one.id, other.id


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_the_number_of_statements_does_not_grow_with_the_answer(memory: Memory, name: str) -> None:
    services = services_of(memory)
    variables = "$id: ID!, $to: ID!" if "$to" in DOCUMENTS[name] else "$id: ID!"

    async def statements(start: UUID, goal: UUID) -> int:
        before = memory.database.statements
        result = await build_schema().execute(
            f"query({variables}) {DOCUMENTS[name]}",
            variable_values={"id": str(start), "to": str(goal)} if "$to" in variables else {"id": str(start)},
            context_value=Context(memory.trust, services),
        )
        assert result.errors is None
        assert result.data is not None
        assert result.data[name]
        return memory.database.statements - before

    few = await statements(*await write_connected_pair(memory, 2))
    assert await statements(*await write_connected_pair(memory, 30)) <= few
