"""The layout of a plan: its steps in columns, and its longest chain of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stratagraph.store.model.records import MemoryRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a plan: the operation `op`, such as deploy, with its parameters and guards.

    `rank` is the number of edges of the longest path that leads to the step: its column in a layout, from 0.
    """

    id: str
    op: str
    params: Any
    guards: Any
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLayout:
    """A plan prepared for layout: its steps in topological order, and the ids of the longest chain of steps."""

    record: MemoryRecord
    payload: dict[str, Any]
    steps: tuple[Step, ...]
    critical_path: tuple[str, ...]


def lay_out_plan(record: MemoryRecord, payload: dict[str, Any]) -> PlanLayout:
    """Return the layout of the plan `record`, computed from its `payload`."""
    import networkx as nx  # imported here: it takes a third of a second, and most processes lay out no plan

    graph: nx.DiGraph[str] = nx.DiGraph()
    nodes = {node["id"]: node for node in payload["nodes"]}
    graph.add_nodes_from(nodes)
    graph.add_edges_from((edge["from"], edge["to"]) for edge in payload["edges"])
    ranks = {id_: rank for rank, layer in enumerate(nx.topological_generations(graph)) for id_ in layer}
    return PlanLayout(
        record=record,
        payload=payload,
        steps=tuple(
            Step(
                id=id_,
                op=nodes[id_]["op"],
                params=nodes[id_].get("params"),
                guards=nodes[id_].get("guards"),
                rank=ranks[id_],
            )
            for id_ in nx.lexicographical_topological_sort(graph, key=lambda id_: f"{ranks[id_]:09}{id_}")
        ),
        critical_path=tuple(nx.dag_longest_path(graph)),
    )
