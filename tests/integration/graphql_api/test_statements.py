"""Lists are read in a constant number of count_statements, whatever fields are selected on their items."""

from __future__ import annotations

import pytest
from fix_api import services_of
from fix_memory import Memory
from graphql import GraphQLError

from stratagraph.graphql.context import Context
from stratagraph.graphql.masking import coded
from stratagraph.graphql.schema import build_schema
from stratagraph.store.model.enums import SourceKind
from stratagraph.store.model.errors import InvalidInput, StoreUnavailable

EVERYTHING = """{ records(first: 100) { nodes {
  id name text payload interpretation lifecycle { pinned } provenance { sources { ref } }
  relations { predicate inverse } auditLog { action } } } }"""
GRAPH = """{ retrieveGraph(input: {taskDescriptor: "message", rootLimit: 50, nodeLimit: 100}) {
  ... on RetrieveGraphSuccess { nodes { record { name payload relations { predicate } auditLog { action } } } } } }"""


async def count_statements(memory: Memory, document: str) -> int:
    services = services_of(memory)
    await memory.retrieve.log.flush()
    before = memory.database.statements
    result = await build_schema().execute(document, context_value=Context(memory.trust, services))
    assert result.errors is None
    return memory.database.statements - before


@pytest.mark.parametrize("document", [EVERYTHING, GRAPH], ids=["records", "retrieveGraph"])
@pytest.mark.usefixtures("log_at_rest")
async def test_the_number_of_statements_does_not_grow_with_the_list(memory: Memory, document: str) -> None:
    async def grow(number: int) -> None:
        await memory.turn(f"message {number}", thread=f"t{number}")
        await memory.remember(SourceKind.OUTCOME, {"thread_id": f"t{number}", "outcome_status": "success"})

    await grow(0)
    few = await count_statements(memory, document)
    for number in range(1, 12):
        await grow(number)
    assert await count_statements(memory, document) == few


def test_every_error_has_a_code_and_internal_errors_are_masked() -> None:
    ours = coded(GraphQLError("x", original_error=InvalidInput("tags: too many", path=["tags"])))
    assert ours.extensions == {"code": "INVALID_INPUT", "retryable": False, "path": ["tags"]}
    away = coded(GraphQLError("x", original_error=StoreUnavailable()))
    assert (away.extensions or {})["retryable"] is True
    syntax = coded(GraphQLError("Syntax Error: Expected Name."))
    assert syntax.message.startswith("Syntax Error")
    secret = coded(GraphQLError("the row is (4711, 'secret')", original_error=RuntimeError("(4711, 'secret')")))
    assert "secret" not in secret.message
    assert (secret.extensions or {})["code"] == "INTERNAL"
