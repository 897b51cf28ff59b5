"""Plan graph payloads: actions as nodes and dependencies as edges of a directed acyclic graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.payloads.base import Count, Instant, Latency, Name, Part, Payload, Share

LEARNED_PLAN = "plan:"  # begins the id of a learned plan; its tools follow
COMPOSED_PLAN = "composed:"  # begins the id of a composed plan; its parts follow


class StepMetrics(Part):
    execution_count: Count | None = None
    failure_count: Count | None = None


class PlanNode(Part):
    id: Name
    op: Name
    params: dict[str, Any] | None = None
    guards: dict[str, Any] | None = None
    label: str | None = None
    metrics: StepMetrics | None = None


class PlanEdge(Part):
    source: str = Field(alias="from")
    target: str = Field(alias="to")
    kind: Literal["data", "control"]


class PlanMetrics(Part):
    avg_latency_ms: Latency | None = None
    failure_rate: Share | None = None
    execution_count: Count | None = None
    last_executed_at: Instant | None = None


class PlanGraphPayload(Payload):
    kind: Literal["plan_graph"]
    plan_id: Name
    version: Name
    nodes: list[PlanNode]
    edges: list[PlanEdge]
    intent: str | None = None
    constraints: Any = None
    inputs_schema: dict[str, Any] | None = None
    outputs_schema: dict[str, Any] | None = None
    metrics: PlanMetrics | None = None

    @field_validator("nodes")
    @classmethod
    def not_empty(cls, nodes: list[PlanNode]) -> list[PlanNode]:
        if not nodes:
            raise ValueError("must list at least one step, as {id, op}; a plan without steps cannot be carried out")
        return nodes

    @model_validator(mode="after")
    def edges_form_a_dag(self) -> Self:
        """Raise ValueError unless node ids are distinct, edges join known nodes, and edges form no cycle."""
        ids = {node.id for node in self.nodes}
        if len(ids) != len(self.nodes):
            listed = [node.id for node in self.nodes]
            repeated = next(id_ for id_ in listed if listed.count(id_) > 1)
            raise ValueError(f"nodes: two steps share an id, {shown(repeated)}; give each its own")
        for position, edge in enumerate(self.edges):
            for end, side in ((edge.source, "from"), (edge.target, "to")):
                if end not in ids:
                    raise ValueError(
                        f"edges.{position}.{side}: there is no node {end!r}; add it to nodes, or correct the edge"
                    )
        import networkx as nx  # the import takes 0.3 s, and most processes never need it

        graph: nx.DiGraph[str] = nx.DiGraph((edge.source, edge.target) for edge in self.edges)
        if not nx.is_directed_acyclic_graph(graph):
            loop = " -> ".join([*(edge[0] for edge in nx.find_cycle(graph)), nx.find_cycle(graph)[0][0]])
            raise ValueError(f"edges: the steps form a cycle: {loop}; a plan is a DAG, remove one of these edges")
        return self


def tool_of_step(step: Mapping[str, Any]) -> str | None:
    """Return the tool that a step of a plan uses: its `params.tool`, else its `op` if that is one word.

    Several words describe an action and name no tool; then the result is None.
    """
    tool = (step.get("params") or {}).get("tool")
    if isinstance(tool, str) and tool.strip():
        return tool.strip()
    op: str = step["op"]
    return op.strip() if len(op.split()) == 1 else None
