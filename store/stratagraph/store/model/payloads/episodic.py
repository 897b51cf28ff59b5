"""Episodic payloads: events in time, append-only and never edited."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from stratagraph.store.model.payloads.base import Instant, Name, Part, PartWithNulls, Payload


class TimelineEvent(Part):
    t: Instant = Field(description="Instant of the event.")
    event_kind: Name = Field(description="Kind of the event, such as tool_output.")
    ref: str = Field(description="Reference of the event, a record's id or the caller's own; may be empty.")
    summary: str | None = Field(default=None, description="What happened, in a sentence.")
    content: dict[str, Any] | None = Field(default=None, description="Captured fields other than those above.")


class ToolNode(PartWithNulls):
    NULLABLE: ClassVar[tuple[str, ...]] = ("args", "result")
    id: Name = Field(description="Id of the call, unique within the episode.")
    tool: Name = Field(description="Name of the tool.")
    args: Any = Field(default=None, description="Arguments of the call; null differs from absent.")
    result: Any = Field(default=None, description="Result of the call; null differs from absent.")
    timestamp: Instant | None = Field(default=None, description="Instant of the call.")
    depends_on: list[str] | None = Field(default=None, description="Ids of the calls whose results it used.")


class EnvironmentSnapshot(Part):
    os: str | None = Field(default=None, description="Operating system.")
    os_version: str | None = Field(default=None, description="Version of the operating system.")
    tool_versions: dict[str, str] | None = Field(default=None, description="Versions of tools, by name.")
    working_directory: str | None = Field(default=None, description="Directory in which it ran.")
    context: dict[str, Any] | None = Field(default=None, description="Anything else of the environment.")


class EpisodicPayload(Payload):
    kind: Literal["episodic"]
    timeline: list[TimelineEvent] = Field(description="The events, in order of time.")
    tool_graph: list[ToolNode] | None = Field(
        default=None, description="The tool calls, and which of them depend on which."
    )
    environment: EnvironmentSnapshot | None = Field(default=None, description="Where it happened.")
    outcome: Literal["success", "failure", "partial"] | None = Field(
        default=None, description="How it ended; absent while that is not known."
    )
    outcome_reason: str | None = Field(default=None, description="Why it ended so.")
    artifacts: list[str] | None = Field(default=None, description="URIs of artifacts that belong to it.")
    tool_graph_ref: str | None = Field(default=None, description="Reference of a tool graph that is kept elsewhere.")

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
