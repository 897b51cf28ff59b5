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
    execution_count: Count | None = Field(default=None, description="Number of executions, from 0.")
    failure_count: Count | None = Field(default=None, description="Number of executions that failed, from 0.")


class PlanNode(Part):
    id: Name = Field(description="Id of the step, unique within the plan.")
    op: Name = Field(description="What the step does; one word names a tool.")
    params: dict[str, Any] | None = Field(default=None, description="Parameters; tool names the tool.")
    guards: dict[str, Any] | None = Field(default=None, description="Conditions under which the step is taken.")
    label: str | None = Field(default=None, description="Caption in a drawing.")
    metrics: StepMetrics | None = Field(default=None, description="Statistics of the step, computed by the service.")


class PlanEdge(Part):
    source: str = Field(alias="from", description="Id of the step that comes first.")
    target: str = Field(alias="to", description="Id of the step that comes after it.")
    kind: Literal["data", "control"] = Field(
        description="Whether the later step uses the output of the first, or only waits for it."
    )


class PlanMetrics(Part):
    avg_latency_ms: Latency | None = Field(default=None, description="Mean duration in milliseconds.")
    failure_rate: Share | None = Field(default=None, description="Share of executions that failed, from 0 to 1.")
    execution_count: Count | None = Field(default=None, description="Number of executions, from 0.")
    last_executed_at: Instant | None = Field(default=None, description="Instant of the last execution.")


class PlanGraphPayload(Payload):
    kind: Literal["plan_graph"]
    plan_id: Name = Field(description="Name of the plan; its versions share it.")
    version: Name = Field(description="Label of the version.")
    nodes: list[PlanNode] = Field(description="The steps; at least one.")
    edges: list[PlanEdge] = Field(description="Dependencies between steps; they form no cycle.")
    intent: str | None = Field(default=None, description="What the plan is for.")
    constraints: Any = Field(
        default=None, description="Conditions under which the plan applies, as {key: value or [values]}."
    )
    inputs_schema: dict[str, Any] | None = Field(default=None, description="JSON Schema of the inputs.")
    outputs_schema: dict[str, Any] | None = Field(default=None, description="JSON Schema of the outputs.")
    metrics: PlanMetrics | None = Field(default=None, description="Statistics of its executions.")

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
