"""The payloads of records as typed objects, beside their JSON form, which also has what these do not know."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import strawberry

from stratagraph.graphql.part_types import shown_as, shown_part
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import MemoryType, Outcome, PlanLinkKind, RecordState
from stratagraph.graphql.types.payload_enums import EvidenceKind, RevisionPolicy, TaskState, ValidityMode
from stratagraph.memory.requests import contents
from stratagraph.memory.requests.evidence import kind_of, reference_of, time_of
from stratagraph.store.model.payloads import competence, entity, episodic, lesson, plan_graph, semantic, working


@shown_as(episodic.TimelineEvent, "An event of an episodic record.")
class TimelineEvent:
    t: datetime
    event_kind: str
    ref: str
    summary: str | None
    content: JSON | None


@shown_as(episodic.ToolNode, "A tool call of an episodic record.")
class ToolCall:
    id: str
    tool: str
    args: JSON | None
    result: JSON | None
    timestamp: datetime | None
    depends_on: list[str] | None


@shown_as(episodic.EnvironmentSnapshot, "Where an episode happened.")
class Environment:
    os: str | None
    os_version: str | None
    tool_versions: JSON | None
    working_directory: str | None
    context: JSON | None


@shown_as(episodic.EpisodicPayload, "What happened: the payload of an EPISODIC record, one event or a whole episode.")
class Episode:
    timeline: list[TimelineEvent]
    tool_graph: list[ToolCall] | None
    environment: Environment | None
    outcome: Outcome | None
    outcome_reason: str | None
    artifacts: list[str] | None
    tool_graph_ref: str | None


@shown_as(working.Constraint, "A constraint of a task.")
class TaskConstraint:
    type: str
    key: str
    value: JSON | None
    required: bool | None


@shown_as(working.WorkingPayload, "What is being done: the payload of a WORKING record.")
class WorkingState:
    thread_id: str
    state: TaskState
    active_constraints: list[TaskConstraint] | None
    next_actions: list[str] | None
    open_questions: list[str] | None
    context_summary: str | None


@shown_as(entity.Alias, "Another name of an entity.")
class EntityAlias:
    value: str
    kind: str | None
    locale: str | None


@shown_as(entity.Identifier, "An identifier of an entity.")
class EntityIdentifier:
    namespace: str
    value: str


@shown_as(entity.EntityPayload, "Who or what is named: the payload of an ENTITY record.")
class Entity:
    canonical_name: str
    primary_type: str | None
    types: list[str] | None
    aliases: list[EntityAlias] | None
    identifiers: list[EntityIdentifier] | None
    summary: str | None


@shown_as(semantic.Validity, "When, or under which conditions, a fact holds, as it was stated.")
class Validity:
    mode: ValidityMode
    conditions: JSON | None
    start: datetime | None
    end: datetime | None


@shown_as(semantic.Revision, "What revised a fact.")
class FactRevision:
    supersedes: strawberry.ID | None
    superseded_by: strawberry.ID | None
    status: RecordState | None


@shown_as(contents.EvidenceEntry, "A source that a fact was stated with, in either of its forms.")
class Evidence:
    kind: EvidenceKind | None
    ref: str | None
    timestamp: datetime | None
    hash: str | None


@shown_as(semantic.SemanticPayload, "What is true: the payload of a SEMANTIC record.")
class Fact:
    subject: str
    predicate: str
    object: JSON
    validity: Validity
    evidence: list[Evidence] | None
    revision_policy: RevisionPolicy | None
    revision: FactRevision | None


@shown_as(competence.Trigger, "When a skill applies.")
class SkillTrigger:
    signal: str
    conditions: JSON | None


@shown_as(competence.RecipeStep, "A step of a skill.")
class RecipeStep:
    step: str
    tool: str | None
    args_schema: JSON | None
    validation: str | None


@shown_as(competence.Performance, "Statistics of a skill.")
class SkillPerformance:
    success_count: int | None
    failure_count: int | None
    success_rate: float | None
    avg_latency_ms: float | None
    last_used_at: datetime | None


@shown_as(lesson.LessonBlock, "What a skill that is a lesson says of a mistake.")
class Lesson:
    task: str | None
    trigger: str | None
    mistake: str | None
    anti_pattern: str | None
    solution: str | None
    correct_pattern: str | None
    code_example: str | None
    domains: list[str] | None
    confidence: float | None
    source: str | None
    timestamp: datetime | None
    verified: bool | None
    verification_attempted: bool | None
    frequency: int | None
    retrievals: int | None
    helpful_retrievals: int | None
    last_retrieved_at: datetime | None


@shown_as(competence.CompetencePayload, "How something is done: the payload of a COMPETENCE record.")
class Competence:
    skill_name: str
    triggers: list[SkillTrigger]
    recipe: list[RecipeStep]
    required_tools: list[str] | None
    failure_modes: list[str] | None
    fallbacks: list[str] | None
    performance: SkillPerformance | None
    version: str | None
    lesson: Lesson | None


@shown_as(plan_graph.StepMetrics, "Statistics of a plan's step.")
class PlanNodeMetrics:
    execution_count: int | None
    failure_count: int | None


@shown_as(plan_graph.PlanNode, "A step of a plan.")
class PlanNode:
    id: str
    op: str
    params: JSON | None
    guards: JSON | None
    label: str | None
    metrics: PlanNodeMetrics | None


@shown_as(plan_graph.PlanEdge, "A dependency between two steps of a plan.")
class PlanEdge:
    source: str
    target: str
    kind: PlanLinkKind


@shown_as(plan_graph.PlanMetrics, "Statistics of a plan.")
class PlanPerformance:
    avg_latency_ms: float | None
    failure_rate: float | None
    execution_count: int | None
    last_executed_at: datetime | None


# The version may be null only so that it has the type of that of a skill: GraphQL refuses a document that selects both.
@shown_as(plan_graph.PlanGraphPayload, "Which actions solve something: the payload of a PLAN_GRAPH record.")
class Plan:
    plan_id: str
    version: str | None
    nodes: list[PlanNode]
    edges: list[PlanEdge]
    intent: str | None
    constraints: JSON | None
    inputs_schema: JSON | None
    outputs_schema: JSON | None
    metrics: PlanPerformance | None


TypedPayload = Annotated[
    Episode | WorkingState | Entity | Fact | Competence | Plan,
    strawberry.union("TypedPayload", description="The payload of a record, typed by the record's type."),
]
SHOWN: Mapping[MemoryType, type[Any]] = {
    MemoryType.EPISODIC: Episode,
    MemoryType.WORKING: WorkingState,
    MemoryType.ENTITY: Entity,
    MemoryType.SEMANTIC: Fact,
    MemoryType.COMPETENCE: Competence,
    MemoryType.PLAN_GRAPH: Plan,
}


def typed_payload(memory_type: MemoryType, payload: Mapping[str, Any] | None) -> TypedPayload | None:
    """Return a payload as its typed object; None where there is none, or where it lacks what its type needs."""
    if payload is None:
        return None
    if memory_type is MemoryType.SEMANTIC:
        payload = {**payload, "evidence": _evidence(payload.get("evidence"))}
    found: TypedPayload | None = shown_part(SHOWN[memory_type], payload)
    return found


def _evidence(stored: object) -> object:
    """Return stored evidence in the newer of its forms."""
    if not isinstance(stored, list):
        return stored
    return [
        {**one, "kind": kind_of(one), "ref": reference_of(one), "timestamp": time_of(one)}
        if isinstance(one, dict)
        else one
        for one in stored
    ]
