"""The closed vocabularies of the schema, with a description of every value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TypeVar

import strawberry
from strawberry.types.enum import has_enum_definition

from stratagraph.memory.lessons.windows import Window
from stratagraph.memory.plans.drawing import StepKind as PlanStepKind
from stratagraph.memory.plans.drawing import StepStatus as PlanStepStatus
from stratagraph.memory.requests.warnings import WarningCode
from stratagraph.memory.retrieve.rendering import CitationStyle
from stratagraph.memory.retrieve.weights import Signal
from stratagraph.memory.retrieve.why_not import Absence
from stratagraph.memory.revise.rules import Kind as RevisionKind
from stratagraph.memory.revise.rules import Need as EvidenceNeed
from stratagraph.store.learning.extraction import ReadingState
from stratagraph.store.model.enums import (
    AuditAction,
    Curve,
    DeletionPolicy,
    MemoryType,
    Outcome,
    RecordState,
    Sensitivity,
    SourceKind,
)
from stratagraph.store.records.listing import ListOrder

E = TypeVar("E", bound=Enum)


class Engine(Enum):
    SQL = "sql"
    NEO4J = "neo4j"


class PlanLinkKind(Enum):
    CONTROL = "control"
    DATA = "data"


class MentionOutcome(Enum):
    MATCHED = "matched"
    CREATED = "created"
    TAUGHT = "taught"
    AMBIGUOUS = "ambiguous"


class ChangeEffect(Enum):
    SUPERSEDED = "superseded"
    CONTESTED = "contested"
    REINFORCED = "reinforced"
    TRIMMED = "trimmed"
    REVISED = "revised"


class ErrorCode(Enum):
    INVALID_INPUT = "INVALID_INPUT"
    NOT_FOUND = "NOT_FOUND"
    FORBIDDEN = "FORBIDDEN"
    VERSION_CONFLICT = "VERSION_CONFLICT"
    EPISODIC_IMMUTABLE = "EPISODIC_IMMUTABLE"
    EVIDENCE_REQUIRED = "EVIDENCE_REQUIRED"
    CONDITIONS_OVERLAP = "CONDITIONS_OVERLAP"
    IDEMPOTENCY_MISMATCH = "IDEMPOTENCY_MISMATCH"
    DELETION_FORBIDDEN = "DELETION_FORBIDDEN"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    POSITION_EXPIRED = "POSITION_EXPIRED"
    UNAVAILABLE = "UNAVAILABLE"
    RATE_LIMITED = "RATE_LIMITED"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    ARTIFACT_DAMAGED = "ARTIFACT_DAMAGED"
    INTERNAL = "INTERNAL"


def _register(enum: type[E], description: str, values: Mapping[E, str], *, name: str | None = None) -> None:
    """Register `enum` with Strawberry and describe each of its values. Raises KeyError for a value left out.

    The enums of the domain are registered as they are, so their values cannot be `strawberry.enum_value`s.
    """
    described = {member.name: text for member, text in values.items()}
    strawberry.enum(enum, name=name, description=description)
    assert has_enum_definition(enum)
    for value in enum.__strawberry_definition__.values:
        value.description = described[value.name]


_register(
    MemoryType,
    "Type of a record: which question it answers.",
    {
        MemoryType.EPISODIC: "What happened: an event, a tool call, a message, or a whole episode.",
        MemoryType.WORKING: "What a thread is doing now: its state, next actions and open questions.",
        MemoryType.ENTITY: "A person or thing that other records name.",
        MemoryType.SEMANTIC: "What is true: a fact of subject, predicate and object.",
        MemoryType.COMPETENCE: "How to do something: a procedure with its triggers and steps.",
        MemoryType.PLAN_GRAPH: "A plan that solved a task: a directed acyclic graph of actions.",
    },
)
_register(
    Sensitivity,
    "Sensitivity of a record, in rising order. A caller reads records up to its ceiling in full; a record one level"
    " above is returned redacted; records further above are not visible.",
    {
        Sensitivity.PUBLIC: "The lowest level; visible in full to every caller.",
        Sensitivity.LOW: "The default for new records.",
        Sensitivity.MEDIUM: "Above LOW.",
        Sensitivity.HIGH: "Above MEDIUM.",
        Sensitivity.HYPER: "The highest level; no credential reads beyond it.",
    },
)
_register(
    Outcome,
    "How a task ended.",
    {
        Outcome.SUCCESS: "It was done.",
        Outcome.FAILURE: "It was not done.",
        Outcome.PARTIAL: "A part of it was done.",
    },
)
_register(
    MentionOutcome,
    "What became of a name in a capture.",
    {
        MentionOutcome.MATCHED: "It means an entity that existed and learned nothing new.",
        MentionOutcome.CREATED: "A new entity was created for it.",
        MentionOutcome.TAUGHT: "It means an entity that existed and learned names, identifiers, types or fields"
        " from it.",
        MentionOutcome.AMBIGUOUS: "Several entities fit equally well, or its identifier belongs to an entity that"
        " contradicts it; it was linked to none.",
    },
)
_register(
    WarningCode,
    "Code of a warning in a receipt.",
    {
        WarningCode.KEY_RESEMBLES_KNOWN: "A key was taken for one of the caller's own, and is like one that is read.",
        WarningCode.KEY_NOT_READ: "A key was neither read nor kept.",
        WarningCode.VALUE_NOT_USED: "A value was left out; the message says why.",
        WarningCode.REFERENCE_NOT_FOUND: "A reference names no record that the caller may read in full, or the capture"
        " itself; nothing was related.",
        WarningCode.CALL_NOT_FOUND: "A call depends on one that the thread's open episode does not have.",
        WarningCode.MENTION_NOT_LINKED: "A name was linked to no entity, since it may mean several or holds a secret.",
        WarningCode.RECORD_NOT_CREDITED: "A report names a record that it did not change.",
        WarningCode.SECRET_MASKED: "Secrets in the content were masked, and the record may have become more sensitive.",
    },
)
_register(
    ReadingState,
    "How far a language model has come with reading the text of a record.",
    {
        ReadingState.QUEUED: "It waits to be read, or is being read.",
        ReadingState.DONE: "It was read.",
        ReadingState.SET_ASIDE: "It could not be read, and is tried again at `nextTryAt`.",
    },
)
_register(
    ChangeEffect,
    "What a capture or a revision did to a stored record.",
    {
        ChangeEffect.SUPERSEDED: "Another record took its place; it is kept as history.",
        ChangeEffect.CONTESTED: "Its truth is in dispute until the contest is resolved.",
        ChangeEffect.REINFORCED: "It was observed again: it has more sources, and an active record more salience.",
        ChangeEffect.TRIMMED: "Its effective validity begins or ends at another instant than before.",
        ChangeEffect.REVISED: "Its content or its state was changed in another way.",
    },
)
_register(
    RecordState,
    "State of a record. ACTIVE and CONTESTED records are part of the current truth.",
    {
        RecordState.ACTIVE: "Part of the current truth.",
        RecordState.CONTESTED: "Part of the current truth, but in doubt: another record contests it, or no source of it"
        " is valid any more.",
        RecordState.SUPERSEDED: "Replaced by another record; salience 0, kept as history.",
        RecordState.RETRACTED: "Withdrawn without a replacement; salience 0, kept as history.",
    },
)
_register(
    SourceKind,
    "Kind of source of a capture. It decides the type of the record.",
    {
        SourceKind.EVENT: "Something happened; becomes an EPISODIC record.",
        SourceKind.TOOL_OUTPUT: "A tool was called; becomes an EPISODIC record with a node of the tool graph.",
        SourceKind.OBSERVATION: "A fact; becomes a SEMANTIC record, or a record of the proposed type.",
        SourceKind.OUTCOME: "How an episode ended; closes the episode and creates no record.",
        SourceKind.WORKING_STATE: "The state of a thread; creates or updates the thread's WORKING record.",
        SourceKind.AGENT_TURN: "A message of a conversation; becomes an EPISODIC record.",
        SourceKind.EPISODE: "A whole, finished episode; becomes one EPISODIC record.",
    },
)
_register(
    AuditAction,
    "What a change did to a record.",
    {
        AuditAction.CREATE: "It was stored.",
        AuditAction.APPEND: "An event was added to an episode.",
        AuditAction.CLOSE: "An episode was closed, or got its outcome.",
        AuditAction.REVISE: "Its content or its state was changed.",
        AuditAction.SUPERSEDE: "Another record took its place.",
        AuditAction.FORK: "A variant was added beside it.",
        AuditAction.MERGE: "It was merged with others.",
        AuditAction.CONTEST: "It was put in doubt.",
        AuditAction.RETRACT: "It was withdrawn.",
        AuditAction.REINFORCE: "Its salience was raised.",
        AuditAction.DECAY: "Its salience was lowered.",
        AuditAction.DELETE: "It was deleted.",
    },
)
_register(
    Signal,
    "What may make a record a candidate of a retrieval.",
    {
        Signal.WORDS: "Words of the task that the record has.",
        Signal.VECTORS: "Nearness to the task in meaning, of the record or of its neighbours in the thread.",
        Signal.THREAD: "Words of the task that its neighbours in the thread or related records have.",
        Signal.NAMES: "Names of the task.",
        Signal.TIME: "Times that the task names.",
        Signal.RECENCY: "How recent it is.",
    },
    name="RetrievalSignal",
)
_register(
    Curve,
    "Curve by which salience decays between two salience events.",
    {
        Curve.EXPONENTIAL: "Halves with every half-life.",
        Curve.LINEAR: "Falls in a straight line to one half at the half-life and to 0 at twice the half-life.",
        Curve.CUSTOM: "Follows a curve registered by name on the server.",
    },
    name="DecayCurve",
)
_register(
    DeletionPolicy,
    "Rule for how a record may be deleted. Erasing ignores it.",
    {
        DeletionPolicy.AUTO_PRUNE: "Pruned by a background job once its salience is below 0.001; may be deleted.",
        DeletionPolicy.MANUAL_ONLY: "Never pruned; may be deleted.",
        DeletionPolicy.NEVER: "Never pruned; deleting it is refused with DELETION_FORBIDDEN.",
    },
)
_register(
    Engine,
    "Engine that traversed the graph. Both return the same answer.",
    {
        Engine.SQL: "PostgreSQL, the store of record.",
        Engine.NEO4J: "The Neo4j mirror; every row was read again from PostgreSQL.",
    },
)
_register(
    PlanStepKind,
    "What a step of a drawn plan is.",
    {
        PlanStepKind.TOOL: "A step that uses a tool: its `params.tool`, or its `op` if that is one word.",
        PlanStepKind.ACTION: "A step whose operation is described in several words.",
        PlanStepKind.GROUP: "Several steps, shown as one because the plan is large.",
    },
    name="PlanStepKind",
)
_register(
    PlanStepStatus,
    "What is known of the executions of a plan's step.",
    {
        PlanStepStatus.UNTRIED: "Nothing has been learned of it.",
        PlanStepStatus.SUCCEEDED: "Every known execution succeeded.",
        PlanStepStatus.UNRELIABLE: "Some of the known executions failed.",
        PlanStepStatus.FAILED: "Every known execution failed.",
    },
    name="PlanStepStatus",
)
_register(
    Absence,
    "A reason for which a record is not in an answer.",
    {
        Absence.UNKNOWN_THEN: "It did not exist at the instant asked for.",
        Absence.SCOPE: "The request leaves its scope out.",
        Absence.SENSITIVITY: "It is above the request's ceiling.",
        Absence.STATE: "It is superseded or retracted.",
        Absence.VALIDITY: "It is a fact that no longer holds, or not yet.",
        Absence.TYPE: "The request leaves its type out of the roots.",
        Absence.SALIENCE: "Its salience is below the request's least.",
        Absence.PHRASE: "It does not have a phrase in double quotes word for word.",
        Absence.DUPLICATE: "It says the same as a newer record, or quotes an event, that stands for it.",
        Absence.NO_MATCH: "Neither its words nor its names match the task.",
        Absence.THREAD: "It is of a thread that the request leaves out, or says the question word for word.",
        Absence.NOT_RANKED: "It has words of the task, and too many records match them better.",
        Absence.STRENGTH: "It covers some of the task, and no record covers enough of it for an answer.",
        Absence.RANK: "It is ranked below the last root.",
        Absence.NOT_REACHED: "No relation that was followed leads to it.",
        Absence.LIMIT: "A limit on nodes, edges or hops cut the expansion.",
    },
    name="AbsenceReason",
)
_register(
    RevisionKind,
    "A revision, by its mutation.",
    {
        RevisionKind.SUPERSEDE: "Replace the whole payload.",
        RevisionKind.AMEND: "Change some members of the payload.",
        RevisionKind.FORK: "Add a variant for other conditions.",
        RevisionKind.CONTEST: "Put in doubt.",
        RevisionKind.RESOLVE_CONTEST: "Decide what is in doubt.",
        RevisionKind.RETRACT: "Withdraw without a replacement.",
        RevisionKind.MERGE: "Make one record of several.",
        RevisionKind.UNMERGE: "Take two entities apart that were made one.",
        RevisionKind.REJECT_DUPLICATE: "Note that two records are not the same.",
        RevisionKind.DELETE_RECORD: "Remove with its history.",
        RevisionKind.REINFORCE: "Raise the salience.",
        RevisionKind.PENALIZE: "Lower the salience.",
        RevisionKind.PIN: "Hold the salience, or let it decay again.",
        RevisionKind.VERIFY_LESSON: "Note whether the advice of a lesson was verified.",
        RevisionKind.REMOVE_LESSON: "Withdraw a lesson.",
    },
    name="RevisionKind",
)
_register(
    EvidenceNeed,
    "Whether a revision needs evidence.",
    {
        EvidenceNeed.NONE: "It takes none.",
        EvidenceNeed.OPTIONAL: "It takes evidence and needs none.",
        EvidenceNeed.WITHOUT_RECORD: "It needs evidence unless another record is the reason.",
        EvidenceNeed.REQUIRED: "It needs evidence, in `evidence` or in the payload, else EVIDENCE_REQUIRED.",
    },
    name="EvidenceNeed",
)
_register(
    CitationStyle,
    "How a line of a rendering names its record.",
    {
        CitationStyle.RECORD_ID: "By its id, `[01980d6e-…]`, which takes 26 tokens.",
        CitationStyle.NUMBER: "By a number, `[1]`, whose record is in `citations`.",
    },
    name="CitationStyle",
)
_register(
    Window,
    "How far back lessons are listed.",
    {
        Window.TODAY: "Since midnight, local time.",
        Window.WEEK: "Since the same local time seven days ago.",
        Window.ALL: "All of them.",
    },
    name="LessonWindow",
)
_register(
    ListOrder,
    "Order of a list of records; those of equal place are in the order of their ids.",
    {
        ListOrder.CREATED_DESC: "The newest first.",
        ListOrder.CREATED_ASC: "The oldest first.",
        ListOrder.UPDATED_DESC: "The last changed first.",
        ListOrder.UPDATED_ASC: "The last changed last.",
        ListOrder.OCCURRED_DESC: "The last that happened first.",
        ListOrder.OCCURRED_ASC: "The last that happened last.",
        ListOrder.SALIENCE_DESC: "The most salient first, at the instant of the first page.",
        ListOrder.SALIENCE_ASC: "The least salient first, at the instant of the first page.",
        ListOrder.NAME_ASC: "By name, ignoring case and accents; redacted records last.",
        ListOrder.NAME_DESC: "By name backwards; redacted records first.",
    },
    name="RecordOrder",
)
_register(
    PlanLinkKind,
    "Kind of dependency between two steps of a plan.",
    {
        PlanLinkKind.CONTROL: "The source step must finish before the target step starts.",
        PlanLinkKind.DATA: "The target step uses the output of the source step.",
    },
)
_register(
    ErrorCode,
    "Code of an error that a caller can act on.",
    {
        ErrorCode.INVALID_INPUT: "An input field is not valid; correct the field that `path` names.",
        ErrorCode.NOT_FOUND: "The record does not exist, or is not visible to the caller.",
        ErrorCode.FORBIDDEN: "The credential does not allow the operation.",
        ErrorCode.VERSION_CONFLICT: "The record has changed since it was read; read it again and decide again.",
        ErrorCode.EPISODIC_IMMUTABLE: "An episodic record cannot be edited; revise what was derived from it.",
        ErrorCode.EVIDENCE_REQUIRED: "The operation needs at least one source as evidence.",
        ErrorCode.CONDITIONS_OVERLAP: "Another active fact holds at the same time; make the conditions exclusive.",
        ErrorCode.IDEMPOTENCY_MISMATCH: "The idempotency key belongs to another request; choose a new key.",
        ErrorCode.DELETION_FORBIDDEN: "The record's deletion policy is NEVER.",
        ErrorCode.POSITION_EXPIRED: "The changes after the position are no longer kept; read the present state.",
        ErrorCode.LIMIT_EXCEEDED: "The request is over a size limit; send less.",
        ErrorCode.UNAVAILABLE: "The database cannot be reached or is too busy; retry with back-off.",
        ErrorCode.RATE_LIMITED: "The credential has used up its share; wait `retryAfter` seconds.",
        ErrorCode.DEADLINE_EXCEEDED: "The operation did not end in time and was stopped; ask for less, or try again.",
        ErrorCode.UNAUTHENTICATED: "No valid credential was sent.",
        ErrorCode.ARTIFACT_DAMAGED: "The stored bytes do not match their hash; upload the artifact again.",
        ErrorCode.INTERNAL: "A defect of the service; the server log has it under `extensions.reference`.",
    },
)


__all__ = [
    "Absence",
    "AuditAction",
    "CitationStyle",
    "Curve",
    "DeletionPolicy",
    "Engine",
    "ErrorCode",
    "EvidenceNeed",
    "ListOrder",
    "MemoryType",
    "Outcome",
    "PlanLinkKind",
    "PlanStepKind",
    "PlanStepStatus",
    "RecordState",
    "RevisionKind",
    "Sensitivity",
    "Signal",
    "SourceKind",
    "WarningCode",
    "Window",
]
