"""Episodic payloads: events in time, append-only and never edited."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from stratagraph.store.model.payloads.base import Instant, Name, Part, PartWithNulls, Payload


class TimelineEvent(Part):
    t: Instant
    event_kind: Name
    ref: str
    summary: str | None = None
    content: dict[str, Any] | None = None  # captured fields other than those above


class ToolNode(PartWithNulls):
    NULLABLE: ClassVar[tuple[str, ...]] = ("args", "result")
    id: Name
    tool: Name
    args: Any = None
    result: Any = None
    timestamp: Instant | None = None
    depends_on: list[str] | None = None


class EnvironmentSnapshot(Part):
    os: str | None = None
    os_version: str | None = None
    tool_versions: dict[str, str] | None = None
    working_directory: str | None = None
    context: dict[str, Any] | None = None


class EpisodicPayload(Payload):
    kind: Literal["episodic"]
    timeline: list[TimelineEvent]
    tool_graph: list[ToolNode] | None = None
    environment: EnvironmentSnapshot | None = None
    outcome: Literal["success", "failure", "partial"] | None = None
    outcome_reason: str | None = None
    artifacts: list[str] | None = None
    tool_graph_ref: str | None = None

    @field_validator("timeline")
    @classmethod
    def in_order_of_time(cls, events: list[TimelineEvent]) -> list[TimelineEvent]:
        return sorted(events, key=lambda event: event.t)

    @model_validator(mode="after")
    def tool_calls_form_a_dag(self) -> Self:
        """Raise ValueError if the dependencies between the tool calls of this record form a cycle.

        Dependencies on calls of other records are not checked.
        """
        nodes = self.tool_graph or []
        ids = [node.id for node in nodes]
        if len(set(ids)) != len(ids):
            repeated = next(id_ for id_ in ids if ids.count(id_) > 1)
            raise ValueError(f"tool_graph: two calls have the id {repeated!r}; give each its own")
        known = set(ids)
        steps = [(earlier, node.id) for node in nodes for earlier in node.depends_on or () if earlier in known]
        if not steps:
            return self
        import networkx as nx  # the import takes 0.3 s, and most processes never need it

        graph: nx.DiGraph[str] = nx.DiGraph(steps)
        if not nx.is_directed_acyclic_graph(graph):
            loop = " -> ".join(edge[0] for edge in nx.find_cycle(graph))
            raise ValueError(f"tool_graph: the calls depend on each other in a circle: {loop}; remove one depends_on")
        return self
