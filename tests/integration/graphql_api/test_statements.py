"""Lists are read in a constant number of count_statements, whatever fields are selected on their items."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from fix_api import services_of
from fix_graphs import create_tenant, random_record, readable_by_all, write_graph
from fix_memory import Memory
from graphql import GraphQLError, get_operation_ast, parse

from stratagraph.graphql.context import Context
from stratagraph.graphql.limits.costs import FIELD
from stratagraph.graphql.limits.estimate import estimate
from stratagraph.graphql.masking import coded
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.records.lookup import MAX_RELATIONS
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable
from stratagraph.store.records.inserting import NewRelation

EVERYTHING = """{ records(first: 100) { nodes {
  id name text payload typed { __typename } interpretation lifecycle { pinned }
  provenance { sources { ref record { id } } }
  relations { predicate inverse source { id } target { name } } auditLog { action } } } }"""
GRAPH = """{ retrieveGraph(input: {taskDescriptor: "message", rootLimit: 50, nodeLimit: 100}) {
  ... on RetrieveGraphSuccess { nodes { record { name payload relations { predicate } auditLog { action } } }
  edges { source { typed { __typename } } target { id } } } } }"""
ITEM = "{ id name relationPage(first: 3) { nodes { id } } relations { id } }"
LISTS = f"""{{ records(filter: {{types: [EPISODIC], tags: {{all: []}}, namePrefix: "user"}}, order: OCCURRED_DESC) {{
    totalCount nodes {ITEM} }}
  named: records(order: NAME_ASC) {{ nodes {ITEM} }}
  past: records(asOf: "2026-06-01T12:00:01Z") {{ nodes {ITEM} }}
  disputes {{ nodes {{ parties {ITEM} }} }}
  tagsInUse {{ nodes {{ name }} }} predicatesInUse {{ nodes {{ name }} }} }}"""


async def count_statements(memory: Memory, document: str) -> int:
    services = services_of(memory)
    await memory.retrieve.log.flush()
    before = memory.database.statements
    result = await build_schema().execute(document, context_value=Context(memory.trust, services))
    assert result.errors is None
    return memory.database.statements - before


@pytest.mark.parametrize("document", [EVERYTHING, GRAPH, LISTS], ids=["records", "retrieveGraph", "lists"])
@pytest.mark.usefixtures("log_at_rest")
async def test_the_number_of_statements_does_not_grow_with_the_list(memory: Memory, document: str) -> None:
    async def grow(number: int) -> None:
        await memory.turn(f"message {number}", thread=f"t{number}")
        await memory.remember(SourceKind.OUTCOME, {"thread_id": f"t{number}", "outcome_status": "success"})

    for number in range(2):  # two messages that may say the same, so that their texts are compared
        await grow(number)
    # Lists that are read at the same moment share their further statements, and on a busy machine fewer of them do.
    few = max([await count_statements(memory, document) for _ in range(3)])
    for number in range(2, 12):
        await grow(number)
    assert min([await count_statements(memory, document) for _ in range(3)]) <= few


def test_every_error_has_a_code_and_internal_errors_are_masked() -> None:
    ours = coded(GraphQLError("x", original_error=InvalidInput("tags: too many", path=["tags"])))
    assert ours.extensions == {
        "code": "INVALID_INPUT",
        "retryable": False,
        "path": ["tags"],
        "retryAfter": None,
        "problems": [{"code": "INVALID_INPUT", "message": "tags: too many", "path": ["tags"]}],
    }
    away = coded(GraphQLError("x", original_error=StoreUnavailable()))
    assert (away.extensions or {})["retryable"] is True
    syntax = coded(GraphQLError("Syntax Error: Expected Name."))
    assert syntax.message.startswith("Syntax Error")
    secret = coded(GraphQLError("the row is (4711, 'secret')", original_error=RuntimeError("(4711, 'secret')")))
    assert "secret" not in secret.message
    assert (secret.extensions or {})["code"] == "INTERNAL"


async def test_the_cost_of_a_page_is_about_what_is_read_for_it(memory: Memory) -> None:
    """Of records that all have as many relations as are shown, for which the cost must suffice."""
    tenant, rng = await create_tenant(memory, "acme"), random.Random(1)
    records = [readable_by_all(random_record(rng, tenant, type_=MemoryType.ENTITY)) for _ in range(MAX_RELATIONS + 1)]
    relations = [
        NewRelation(source=one.id, target=other.id, predicate="knows", weight=0.5)
        for one, other in combinations(records, 2)
    ]
    await write_graph(memory, tenant, records, relations)
    schema, statements = build_schema(), list[int]()
    for first in (10, 50, 100):
        document = f"{{ records(first: {first}) {{ nodes {{ payload relations {{ id }} }} }} }}"
        parsed = parse(document)
        operation = get_operation_ast(parsed)
        assert operation is not None
        statements.append(await count_statements(memory, document))
        found = await schema.execute(document, context_value=Context(memory.trust, services_of(memory)))
        assert found.data is not None
        nodes = found.data["records"]["nodes"]
        read = len(nodes) + sum(len(node["relations"]) for node in nodes)
        assert read == first * (1 + MAX_RELATIONS)
        cost = estimate(schema._schema, parsed, operation, {})
        assert FIELD * read <= cost <= 10 + 4 * FIELD * read
    assert max(statements) <= statements[0]
