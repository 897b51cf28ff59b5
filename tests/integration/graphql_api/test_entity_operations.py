"""`unmerge`, `predicates` and `setPredicate` over GraphQL."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fix_api import services_of
from fix_memory import Memory, trust_of

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.store.model.enums import Access, MemoryType, SourceKind
from stratagraph.store.model.trust import Trust


async def answer(memory: Memory, document: str, variables: dict[str, Any], trust: Trust | None = None) -> Any:
    services = services_of(memory)
    context = Context(trust or memory.trust, services)
    result = await build_schema().execute(document, variable_values=variables, context_value=context)
    assert result.errors is None
    assert result.data is not None
    return result.data


async def test_unmerge_restores_an_entity_and_refuses_one_that_was_not_merged(memory: Memory) -> None:
    ids: list[UUID] = []
    for name in ("Acme", "Acme Corp"):
        kept = await memory.remember(SourceKind.OBSERVATION, {"canonical_name": name}, proposed_type=MemoryType.ENTITY)
        ids.append(kept.primary.id)
    merge = 'mutation($ids: [ID!]!) { merge(input: {recordIds: $ids, rationale: "same"}) { __typename } }'
    await answer(memory, merge, {"ids": [str(id_) for id_ in ids]})
    undo = (
        'mutation($id: ID!) { unmerge(input: {recordId: $id, rationale: "not the same"}) {'
        " __typename ... on RevisionSuccess { record { id state } } ... on MemoryError { code path } } }"
    )
    done = (await answer(memory, undo, {"id": str(ids[1])}))["unmerge"]
    assert done == {"__typename": "RevisionSuccess", "record": {"id": str(ids[1]), "state": "ACTIVE"}}
    again = (await answer(memory, undo, {"id": str(ids[1])}))["unmerge"]
    assert again == {"__typename": "InvalidInput", "code": "INVALID_INPUT", "path": ["recordId"]}


async def test_an_administrator_registers_a_predicate_that_everybody_can_list(memory: Memory) -> None:
    document = (
        'mutation { setPredicate(input: {name: "Reports To", singleValued: true, objectKind: ENTITY}) {'
        " __typename ... on SetPredicateSuccess { predicate { name singleValued objectKind builtIn } }"
        " ... on MemoryError { code } } }"
    )
    writer = trust_of(access=Access.WRITE)
    refused = (await answer(memory, document, {}, writer))["setPredicate"]
    assert refused == {"__typename": "Forbidden", "code": "FORBIDDEN"}
    expected = {"name": "reports_to", "singleValued": True, "objectKind": "ENTITY", "builtIn": False}
    done = (await answer(memory, document, {}))["setPredicate"]
    assert done == {"__typename": "SetPredicateSuccess", "predicate": expected}
    listed = (await answer(memory, "{ predicates { name singleValued objectKind builtIn } }", {}, writer))["predicates"]
    assert expected in listed
    assert {"name": "age", "singleValued": True, "objectKind": "LITERAL", "builtIn": True} in listed
