"""Measure the GraphQL layer: the answer of a retrieval, against the same dictionaries built in plain Python."""

from __future__ import annotations

import asyncio
import gc
import statistics
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import process_time
from types import SimpleNamespace
from typing import Annotated, Any, cast
from uuid import uuid4

import typer
from harness import Bound, machine, report, summary, trust
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.types import ExecutionResult

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import Schema, build_schema
from stratagraph.graphql.services import Services
from stratagraph.graphql.types.retrieve import RetrieveGraphSuccess
from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.candidates import Why
from stratagraph.memory.retrieve.question import AskedWords
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.records import MemoryRecord, Relation

LIMIT = 1.5  # times the plain dictionaries
NODES, EDGES = 100, 300
# Fifteen fields of each node and of each edge, which has only seven, so that some are asked for twice.
DOCUMENT = """query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename
  ... on RetrieveGraphSuccess { nodes { root hop score record {
    id type sensitivity confidence salience state scope tags createdAt updatedAt name text } }
  edges { id predicate inverse sourceId targetId weight createdAt kind: __typename
    a: id b: predicate c: inverse d: sourceId e: targetId f: weight g: createdAt } } } }"""
NO_FIELDS = "query($input: RetrieveGraphInput!) { retrieveGraph(input: $input) { __typename } }"


@dataclass
class FixedRetrieve:
    """Answers every retrieval with the same records, so that only the GraphQL layer is measured."""

    found: Retrieved

    async def retrieve(self, *_: object) -> Retrieved:
        return self.found


def answer() -> Retrieved:
    """Return an answer of NODES records and EDGES relations."""
    now = datetime.now(UTC)
    records = [
        MemoryRecord(
            id=uuid4(),
            tenant="bench",
            type=list(MemoryType)[number % len(MemoryType)],
            scope="team/alpha",
            sensitivity=Sensitivity.LOW,
            state=RecordState.ACTIVE,
            confidence=0.8,
            salience=0.5,
            tags=("one", "two"),
            created_at=now - timedelta(seconds=number),
            occurred_at=now,
            updated_at=now,
            version=1,
            name=f"record {number}",
            text=f"what record {number} says",
        )
        for number in range(NODES)
    ]
    return Retrieved(
        id=uuid4(),
        roots=(records[0].id,),
        nodes=tuple(Node(record=one, root=False, hop=1, score=0.5, strength=0.5, why=Why()) for one in records),
        edges=tuple(
            Relation(
                id=uuid4(),
                source=records[number % NODES].id,
                target=records[(number + 7) % NODES].id,
                predicate="depends_on",
                weight=0.5,
                created_at=now,
            )
            for number in range(EDGES)
        ),
        selection=None,
        asked=AskedWords(bytes(32), "a question"),
        candidates=1,
        reached=(),
        hubs=(),
        engine="sql",
        fallback=None,
        mirror_lag_seconds=None,
        vector_fallback=None,
        rendering=None,
        citations=(),
        nothing_known=False,
        times=(),
        at=None,
        composed=None,
        parts=(),
    )


def plain(success: RetrieveGraphSuccess) -> dict[str, Any]:
    """Build what DOCUMENT returns, as one would by hand."""
    nodes = [
        {
            "root": node.root,
            "hop": node.hop,
            "score": node.score,
            "record": {
                "id": record.id,
                "type": record.type.name,
                "sensitivity": record.sensitivity.name,
                "confidence": record.confidence,
                "salience": record.salience,
                "state": record.state.name,
                "scope": record.scope,
                "tags": list(record.tags),
                "createdAt": rfc3339(record.created_at),
                "updatedAt": rfc3339(record.updated_at),
                "name": record.name,
                "text": record.text,
            },
        }
        for node in success.nodes
        for record in (node.record,)
    ]
    edges = [
        {
            "id": edge.id,
            "predicate": edge.predicate,
            "inverse": edge.inverse,
            "sourceId": edge.source_id,
            "targetId": edge.target_id,
            "weight": edge.weight,
            "createdAt": rfc3339(edge.created_at),
            "kind": "Relation",
            "a": edge.id,
            "b": edge.predicate,
            "c": edge.inverse,
            "d": edge.source_id,
            "e": edge.target_id,
            "f": edge.weight,
            "g": rfc3339(edge.created_at),
        }
        for edge in success.edges
    ]
    return {"retrieveGraph": {"__typename": "RetrieveGraphSuccess", "nodes": nodes, "edges": edges}}


async def _measure(rounds: int) -> dict[str, list[float]]:
    """Return what each case took, in milliseconds of processor time; the cases run in turn."""
    found = answer()
    context = Context(trust(), cast(Services, SimpleNamespace(retrieve=FixedRetrieve(found))))
    success = RetrieveGraphSuccess.of(found, context)
    schema, stock = build_schema(), build_schema()
    stock.execution_context_class = StrawberryGraphQLCoreExecutionContext
    variables = {"input": {"taskDescriptor": "anything"}}

    async def whole(executed: Schema, document: str) -> object:
        result = await executed.execute(document, variables, context_value=context)
        assert isinstance(result, ExecutionResult)
        assert result.errors is None, result.errors
        return result.data

    async def by_hand() -> object:
        return plain(success)

    async def converted() -> object:
        return RetrieveGraphSuccess.of(found, context)

    cases: dict[str, Callable[[], Awaitable[object]]] = {
        "operation": lambda: whole(schema, DOCUMENT),
        "operation without fields": lambda: whole(schema, NO_FIELDS),
        "operation, stock executor": lambda: whole(stock, DOCUMENT),
        "plain Python": by_hand,
        "objects of the schema": converted,
    }
    expected = plain(success)
    for name in ("operation", "operation, stock executor"):
        assert await cases[name]() == expected
    took: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            gc.collect()
            began = process_time()
            await case()
            took[name].append((process_time() - began) * 1_000)
    return took


def main(rounds: Annotated[int, typer.Option(help="Runs of each case.")] = 100) -> None:
    """Measure the GraphQL layer on an answer of 100 records and 300 relations with 15 fields each.

    What the fields add to an operation that selects none of them is compared with building the same dictionaries from
    the same objects by hand, in processor time. Bound: 1.5 times as long. The operation as a whole, the same by the
    stock executor, and making the objects of the schema from the service's answer are shown beside it.
    """
    took = asyncio.run(_measure(rounds))
    medians = {name: statistics.median(times) for name, times in took.items()}
    fields, stock = (
        medians[name] - medians["operation without fields"] for name in ("operation", "operation, stock executor")
    )
    figures = {
        "processor_ms": {name: summary(times) for name, times in took.items()},
        "fields_over_plain": round(fields / medians["plain Python"], 3),
        "fields_over_plain_by_the_stock_executor": round(stock / medians["plain Python"], 3),
    }
    bound = Bound(name="fields over plain Python", value=round(fields / medians["plain Python"], 3), limit=LIMIT)
    report("completion", figures, bounds=[bound], machine=machine(None))


if __name__ == "__main__":
    typer.run(main)
