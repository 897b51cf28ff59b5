"""Contents, payloads, evidence and context as typed inputs, each beside its JSON form and converted to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import strawberry

from stratagraph.graphql.part_types import content_of, given_as, json_path
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import MemoryType, Outcome, PlanLinkKind, SourceKind
from stratagraph.graphql.types.payload_enums import EvidenceKind, RevisionPolicy, TaskState, ValidityMode
from stratagraph.memory.requests import contents
from stratagraph.store.model.payloads import competence, entity, episodic, plan_graph, semantic, working


def _extra() -> Any:
    return strawberry.field(
        default=strawberry.UNSET, description="Further keys of the JSON form, a JSON object; kept as they are."
    )


@given_as(contents.EvidenceEntry, "A source.")
class EvidenceInput:
    kind: EvidenceKind
    ref: str
    timestamp: datetime | None
    hash: str | None


@given_as(semantic.Validity, "When, or under which conditions, a fact holds.")
class ValidityInput:
    mode: ValidityMode
    conditions: JSON | None
    start: datetime | None
    end: datetime | None


@given_as(contents.ObservationContent, "A fact; it always holds unless `validity` or `conditions` say otherwise.")
class FactInput:
    subject: str
    predicate: str
    object: JSON
    object_type: str | None
    validity: ValidityInput | None
    conditions: JSON | None
    evidence: list[EvidenceInput] | None
    revision_policy: RevisionPolicy | None
    extra: JSON | None = _extra()


@given_as(contents.NoteContent, "A text that is to last, such as one that a user asked to remember.")
class NoteInput:
    text: str
    about: str | None
    extra: JSON | None = _extra()


@given_as(contents.EventContent, "Something that happened.")
class EventInput:
    event_kind: str | None
    ref: str | None
    summary: str | None
    text: str | None
    thread_id: str | None
    extra: JSON | None = _extra()


@given_as(contents.ToolOutputContent, "A call of a tool, and what it returned.")
class ToolOutputInput:
    tool_name: str
    args: JSON | None
    result: JSON | None
    call_id: str | None
    depends_on: list[str] | None
    error: JSON | None
    ref: str | None
    thread_id: str | None
    extra: JSON | None = _extra()


@given_as(contents.AgentTurnContent, "A message of a conversation.")
class AgentTurnInput:
    role: str
    text: str
    speaker: str | None
    ref: str | None
    thread_id: str | None
    extra: JSON | None = _extra()


@given_as(contents.OutcomeContent, "How an episode ended; give either `threadId` or `recordId`.")
class OutcomeInput:
    outcome_status: Outcome
    thread_id: str | None
    record_id: strawberry.ID | None
    reason: str | None


@given_as(working.Constraint, "A constraint of a task.")
class TaskConstraintInput:
    type: str
    key: str
    value: JSON | None
    required: bool | None


@given_as(working.WorkingUpdate, "The state of a task: the fields to set. A null removes one, what is left out stays.")
class WorkingStateInput:
    thread_id: str
    state: TaskState | None
    active_constraints: list[TaskConstraintInput] | None
    next_actions: list[str] | None
    open_questions: list[str] | None
    context_summary: str | None
    extra: JSON | None = _extra()


@given_as(episodic.TimelineEvent, "An event of an episode.")
class TimelineEventInput:
    t: datetime
    event_kind: str
    ref: str
    summary: str | None
    content: JSON | None


@given_as(episodic.ToolNode, "A tool call of an episode.")
class ToolCallInput:
    id: str
    tool: str
    args: JSON | None
    result: JSON | None
    timestamp: datetime | None
    depends_on: list[str] | None


@given_as(episodic.EnvironmentSnapshot, "Where an episode happened.")
class EnvironmentInput:
    os: str | None
    os_version: str | None
    tool_versions: JSON | None
    working_directory: str | None
    context: JSON | None


@given_as(contents.EpisodeContent, "A whole, finished episode, with at least one event or tool call.")
class EpisodeInput:
    timeline: list[TimelineEventInput] | None
    tool_graph: list[ToolCallInput] | None
    environment: EnvironmentInput | None
    outcome: Outcome | None
    outcome_reason: str | None
    artifacts: list[str] | None
    tool_graph_ref: str | None
    ref: str | None
    thread_id: str | None
    extra: JSON | None = _extra()


@given_as(entity.Alias, "Another name of an entity.")
class EntityAliasInput:
    value: str
    kind: str | None
    locale: str | None


@given_as(entity.Identifier, "An identifier of an entity.")
class EntityIdentifierInput:
    namespace: str
    value: str


@given_as(entity.EntityPayload, "Who or what is named.")
class EntityInput:
    canonical_name: str
    primary_type: str | None
    types: list[str] | None
    aliases: list[EntityAliasInput] | None
    identifiers: list[EntityIdentifierInput] | None
    summary: str | None
    extra: JSON | None = _extra()


@given_as(competence.Trigger, "When a skill applies.")
class SkillTriggerInput:
    signal: str
    conditions: JSON | None


@given_as(competence.RecipeStep, "A step of a skill.")
class RecipeStepInput:
    step: str
    tool: str | None
    args_schema: JSON | None
    validation: str | None


@given_as(competence.Performance, "Statistics of a skill.")
class SkillPerformanceInput:
    success_count: int | None
    failure_count: int | None
    success_rate: float | None
    avg_latency_ms: float | None
    last_used_at: datetime | None


@given_as(competence.CompetencePayload, "How something is done. Lessons are given with `learnLesson`.")
class CompetenceInput:
    skill_name: str
    triggers: list[SkillTriggerInput]
    recipe: list[RecipeStepInput]
    required_tools: list[str] | None
    failure_modes: list[str] | None
    fallbacks: list[str] | None
    performance: SkillPerformanceInput | None
    version: str | None
    extra: JSON | None = _extra()


@given_as(plan_graph.PlanNode, "A step of a plan.")
class PlanNodeInput:
    id: str
    op: str
    params: JSON | None
    guards: JSON | None
    label: str | None


@given_as(plan_graph.PlanEdge, "A dependency between two steps of a plan.")
class PlanEdgeInput:
    source: str
    target: str
    kind: PlanLinkKind


@given_as(plan_graph.PlanMetrics, "Statistics of a plan.")
class PlanPerformanceInput:
    avg_latency_ms: float | None
    failure_rate: float | None
    execution_count: int | None
    last_executed_at: datetime | None


@given_as(plan_graph.PlanGraphPayload, "Which actions solve something.")
class PlanInput:
    plan_id: str
    version: str
    nodes: list[PlanNodeInput]
    edges: list[PlanEdgeInput]
    intent: str | None
    constraints: JSON | None
    inputs_schema: JSON | None
    outputs_schema: JSON | None
    metrics: PlanPerformanceInput | None
    extra: JSON | None = _extra()


@given_as(contents.Mention, "A name in the content, and what is known of it.")
class MentionInput:
    name: str
    type: str | None
    identifiers: list[EntityIdentifierInput] | None
    aliases: list[str] | None


@given_as(contents.Reference, "Another record that the content refers to.")
class ReferenceInput:
    ref: str
    predicate: str | None


@given_as(contents.CaptureContext, "What the content names and refers to.")
class ContextInput:
    mentions: list[MentionInput] | None
    references: list[ReferenceInput] | None
    artifacts: list[str] | None
    labels: list[str] | None


def _one(description: str) -> Any:
    return strawberry.field(default=strawberry.UNSET, description=description)


@strawberry.input(one_of=True, description="What to remember: exactly one of these; it decides the type of the record.")
class MemoryInput:
    note: NoteInput | None = _one("A text that is to last; becomes a SEMANTIC record, a fact whose object is the text.")
    event: EventInput | None = _one("Something that happened; becomes an EPISODIC record.")
    tool_output: ToolOutputInput | None = _one("A call of a tool; becomes an EPISODIC record.")
    agent_turn: AgentTurnInput | None = _one("A message of a conversation; becomes an EPISODIC record.")
    fact: FactInput | None = _one("A fact that was observed; becomes a SEMANTIC record.")
    working_state: WorkingStateInput | None = _one("The state of a task; creates or changes a WORKING record.")
    outcome: OutcomeInput | None = _one("How an episode ended; closes it, and creates no record.")
    episode: EpisodeInput | None = _one("A whole episode; becomes one EPISODIC record.")
    entity: EntityInput | None = _one("Who or what is named; becomes an ENTITY record.")
    competence: CompetenceInput | None = _one("How something is done; becomes a COMPETENCE record.")
    plan: PlanInput | None = _one("Which actions solve something; becomes a PLAN_GRAPH record.")


@strawberry.input(one_of=True, description="The payload of a record: exactly one of these, that of the record's type.")
class PayloadInput:
    fact: FactInput | None = _one("Payload of a SEMANTIC record.")
    working_state: WorkingStateInput | None = _one("Payload of a WORKING record.")
    entity: EntityInput | None = _one("Payload of an ENTITY record.")
    competence: CompetenceInput | None = _one("Payload of a COMPETENCE record.")
    plan: PlanInput | None = _one("Payload of a PLAN_GRAPH record.")


# By the fields of MemoryInput and PayloadInput, as GraphQL spells them: the input type, and what it becomes.
KINDS: Mapping[str, tuple[type, SourceKind, MemoryType | None]] = {
    "note": (NoteInput, SourceKind.OBSERVATION, MemoryType.SEMANTIC),
    "event": (EventInput, SourceKind.EVENT, None),
    "toolOutput": (ToolOutputInput, SourceKind.TOOL_OUTPUT, None),
    "agentTurn": (AgentTurnInput, SourceKind.AGENT_TURN, None),
    "fact": (FactInput, SourceKind.OBSERVATION, MemoryType.SEMANTIC),
    "workingState": (WorkingStateInput, SourceKind.WORKING_STATE, MemoryType.WORKING),
    "outcome": (OutcomeInput, SourceKind.OUTCOME, None),
    "episode": (EpisodeInput, SourceKind.EPISODE, None),
    "entity": (EntityInput, SourceKind.OBSERVATION, MemoryType.ENTITY),
    "competence": (CompetenceInput, SourceKind.OBSERVATION, MemoryType.COMPETENCE),
    "plan": (PlanInput, SourceKind.OBSERVATION, MemoryType.PLAN_GRAPH),
}


def payload_given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a PayloadInput, as graphql-core gives it, with the `kind` of its type."""
    ((field, value),) = given.items()
    type_, _, memory_type = KINDS[field]
    assert memory_type is not None  # every payload is of a type
    return {"kind": memory_type.label, **content_of(type_, value)}


def evidence_given(given: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return the JSON form of a list of EvidenceInput, as graphql-core gives it."""
    return [content_of(EvidenceInput, one) for one in given or ()]


def renamed_payload(field: str, given: Mapping[str, Any], path: list[str]) -> list[str]:
    """Return the path in an input whose `field` is a PayloadInput of a path in the revision that it makes."""
    (kind,) = given
    match path:
        case ["payload", "kind"]:
            return [field, kind]
        case ["payload", *rest]:
            return [field, kind, *json_path(KINDS[kind][0], rest)]
        case ["evidence", *rest]:
            return ["evidence", *rest[:1], *json_path(EvidenceInput, rest[1:])]
    return path
