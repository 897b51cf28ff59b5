"""`stratagraph ask`: retrieve records for a question in plain words, and print them as a tree."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.text import Text
from rich.tree import Tree

from stratagraph.memory.qualifiers import qualifiers
from stratagraph.memory.retrieve.answer import Node, Retrieved
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.service.cli.options import Json, Tenant
from stratagraph.service.cli.output import people, print_json, with_runtime
from stratagraph.service.cli.past import instant
from stratagraph.service.cli.show import validity_json
from stratagraph.service.cli.tenants import reader_of
from stratagraph.service.runtime import Runtime
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.predicates import inverse
from stratagraph.store.model.records import Relation

NEIGHBOURS = 6  # printed below a root; the others are only counted


def ask(
    question: Annotated[str, typer.Argument(help="The task or question, in plain words.")],
    limit: Annotated[int, typer.Option(help="Number of records that answer the question, 1 to 100.")] = 5,
    hops: Annotated[int, typer.Option(help="Relations to follow from each of them, 0 to 6.")] = 1,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            help="Only this type: episodic, working, entity, semantic, competence or plan_graph. Repeat for more.",
        ),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="Answer from the records as they were at this instant, such as 2026-11-21T12:00:00Z."),
    ] = None,
    tenant: Tenant = "default",
    json: Json = False,
) -> None:
    """Print the records that answer a question, best first, with the records connected to each.

    Example: stratagraph ask "which plans deploy the login service?" --type plan_graph
    """
    request = RetrieveRequest(
        task_descriptor=question,
        memory_types=tuple(MemoryType.parse(name, path=["--type"]) for name in type_ or ()),
        root_limit=limit,
        node_limit=min(1_000, max(limit, limit * 10)),
        edge_limit=500,
        max_hops=hops,
        as_of=instant(as_of, "--as-of") if as_of is not None else None,
    )

    async def work(runtime: Runtime) -> Retrieved:
        return await runtime.retrieve.retrieve(await reader_of(runtime, tenant), request)

    found = with_runtime(work)
    if json:
        print_json(_as_json(found))
    else:
        people.print(_as_tree(question, found))


def _as_tree(question: str, found: Retrieved) -> Tree:
    tree = Tree(f"[bold]{escape(question)}[/]")
    nodes = {node.record.id: node for node in found.nodes}
    if not found.roots:
        tree.add("no record answers this question")
    for root in found.roots:
        branch = tree.add(_line(nodes[root], score=True))
        around = [edge for edge in found.edges if root in (edge.source, edge.target)]
        for edge in around[:NEIGHBOURS]:
            far = nodes[edge.target if edge.source == root else edge.source]
            word = edge.predicate if edge.source == root else inverse(edge.predicate)
            branch.add(Text.assemble((f"{word.replace('_', ' ')}  ", "dim"), _line(far, score=False)))
        if len(around) > NEIGHBOURS:
            branch.add(Text(f"and {len(around) - NEIGHBOURS} more", style="dim"))
    notes = []
    if found.reached:
        notes.append(f"limited by {', '.join(found.reached)}")
    if found.fallback:
        notes.append(f"answered in SQL: {found.fallback}")
    if notes:
        tree.add(Text("; ".join(notes), style="dim"))
    return tree


def _line(node: Node, *, score: bool) -> Text:
    record = node.record
    text = Text.assemble((f"{record.type.label} ", "cyan"), record.name or "(redacted)")
    if found := qualifiers(record):
        text.append(f" ({', '.join(found)})", style="yellow")
    text.append(f"  {record.occurred_at:%Y-%m-%d}", style="dim")
    if score:
        text.append(f"  {node.score:.2f}", style="dim")
    return text


def _as_json(found: Retrieved) -> dict[str, object]:
    return {
        "retrieval_id": found.id,
        "roots": found.roots,
        "nodes": [
            {
                "id": node.record.id,
                "type": node.record.type.label,
                "state": None if node.record.redacted else node.record.state.label,
                "name": node.record.name,
                "text": node.record.text,
                **validity_json(node.record),
                "hop": node.hop,
                "score": node.score,
                "salience": node.record.salience,
                "confidence": node.record.confidence,
                "occurred_at": rfc3339(node.record.occurred_at),
            }
            for node in found.nodes
        ],
        "edges": [_edge(edge) for edge in found.edges],
        "limits_reached": found.reached,
        "engine": found.engine,
    }


def _edge(edge: Relation) -> dict[str, object]:
    return {"predicate": edge.predicate, "source": edge.source, "target": edge.target, "weight": edge.weight}
