from datetime import datetime
from typing import Optional

from pydantic import Field, JsonValue

from .base_model import BaseModel
from .enums import (
    ChangeKind,
    CitationStyle,
    EvidenceKind,
    MemoryType,
    ObjectKind,
    Outcome,
    PlanLinkKind,
    RecordState,
    RevisionPolicy,
    Sensitivity,
    SourceKind,
    TaskState,
    ValidityMode,
)


class AgentTurnInput(BaseModel):
    """A message of a conversation."""

    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    ref: str | None = None
    "Reference by which later captures may name it; may be empty."
    role: str
    "Who speaks, such as user, assistant or a name."
    speaker: str | None = None
    "Name of who speaks, where the role is not a name."
    text: str
    "What was said."
    threadId: str | None = None
    "Thread to whose open episode it belongs."


class AmendInput(BaseModel):
    """Replace a record by a new one with some members of its payload changed, as `supersede` does with a whole payload. An entity or a working record is changed in place."""

    changes: JsonValue
    "What changes in the payload, as a JSON merge patch (RFC 7396): members that are not named stay, null removes one, an object is patched member by member, and any other value, a list too, takes the place of the whole member. It is applied to the payload that the record has when it is changed."
    evidence: list[JsonValue] | None = None
    "Sources of the change, added to those that the payload has. Required for a SEMANTIC record, unless `changes` has `evidence`; optional for others. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json."
    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class CaptureMemoriesInput(BaseModel):
    """A batch of captures, stored in one transaction: all of them or none."""

    items: list["CaptureMemoryInput"]
    "The captures, 1 to 1,000, processed in this order."


class CaptureMemoryInput(BaseModel):
    """One capture: something to remember."""

    content: JsonValue
    "The content, a JSON object of at most 1,048,576 bytes with `context`. Its keys by source kind:\nEVENT {event_kind?, ref?, summary?, thread_id?};\nTOOL_OUTPUT {tool_name, args, result, thread_id?, call_id?, depends_on?: [call_id], error?};\nAGENT_TURN {role, text, thread_id?};\nOBSERVATION {subject, predicate, object, validity?, conditions?, evidence?, revision_policy?};\nWORKING_STATE {thread_id, state: planning | executing | blocked | waiting | done, next_actions?,\nopen_questions?, context_summary?, active_constraints?}, later only what changes, null to clear;\nOUTCOME {thread_id | record_id, outcome_status: success | failure | partial, reason?};\nEPISODE a whole episodic payload.\nAn OBSERVATION with the proposedType ENTITY, COMPETENCE or PLAN_GRAPH has a payload of that type as its content.\nAny other key is kept. The JSON Schema of each kind is at /schemas/NAME.json, such as /schemas/tool_output.json."
    context: JsonValue | None = None
    "What the content names and refers to, a JSON object:\nmentions: [name | {name, type?, identifiers?: [{namespace, value}], aliases?}];\nreferences: [record id or ref | {ref, predicate?}];\nartifacts: [artifact URI]; labels: [string]. Its JSON Schema is at /schemas/context.json."
    idempotencyKey: str | None = None
    "Key of at most 256 characters. A repeated request with the same key writes nothing and returns the result of the first."
    proposedType: MemoryType | None = None
    "Type of the record, where the source kind allows more than one; see `content`."
    reasonToRemember: str | None = None
    "Reason, at most 10,000 characters; kept in the audit log."
    scope: str | None = None
    "Scope of the record, at most 256 characters. Default: the credential's only scope, or unscoped for a credential of all scopes."
    sensitivity: Sensitivity | None = None
    "Sensitivity of the record. Default: LOW, or the credential's ceiling if lower."
    source: str
    "Agent, tool or program that reports the content, 1 to 256 characters."
    sourceKind: SourceKind
    "Kind of source; decides the type of the record."
    summary: str | None = None
    "Summary, at most 10,000 characters. Becomes the record's name; in a search its words weigh more than those of the content."
    tags: list[str] | None = None
    "At most 64 labels of 1 to 256 characters each."
    timestamp: datetime | None = None
    "Instant at which the content happened. Default: now."


class ChangeFilter(BaseModel):
    """Which changes to tell of. A field left out does not restrict them. Of a record that is gone only its scope and id are compared, so that no change to GONE is missed."""

    ids: list[str] | None = None
    "Only these records, relations from or to them, and these runs; UUIDs."
    kinds: list[ChangeKind] | None = None
    "Only changes of these kinds. Without GONE, a reader keeps what is deleted."
    scopes: list[str] | None = None
    "Only records, relations and runs of these scopes; an empty text for unscoped."
    tags: list[str] | None = None
    "Only records that have all these tags, and relations that start from them."
    threadId: str | None = None
    "Only the events, episodes and working states of this thread."
    types: list[MemoryType] | None = None
    "Only records of these types, and relations that start from them."


class CompetenceInput(BaseModel):
    """How something is done. Lessons are given with `learnLesson`."""

    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    failureModes: list[str] | None = None
    "How it is known to fail."
    fallbacks: list[str] | None = None
    "What to do where it fails."
    performance: Optional["SkillPerformanceInput"] = None
    "Statistics of its executions."
    recipe: list["RecipeStepInput"]
    "The steps, in order."
    requiredTools: list[str] | None = None
    "Tools that it needs, beside those of its steps."
    skillName: str
    "Name of the skill; its versions share it."
    triggers: list["SkillTriggerInput"]
    "When the skill applies."
    version: str | None = None
    "Label of the version."


class ContestInput(BaseModel):
    """Put a record in doubt. Give one of `because`, `contestingId` and `evidence`."""

    because: Optional["ContestReasonInput"] = None
    "What puts it in doubt, in place of the two fields above."
    contestingId: str | None = None
    "Id of the record that contradicts it. That record is put in doubt as well, unless it is an episode."
    evidence: list[JsonValue] | None = None
    "Required without a `contestingId` or `because`, for every type. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json."
    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class ContestReasonInput(BaseModel):
    """What puts a record in doubt: exactly one of these."""

    evidence: list["EvidenceInput"] | None = None
    "Sources that contradict it, 1 to 200."
    recordId: str | None = None
    "Id of the record that contradicts it, which is put in doubt as well, unless it is an episode."


class ContextInput(BaseModel):
    """What the content names and refers to."""

    artifacts: list[str] | None = None
    "URIs of artifacts, each sha256:…."
    labels: list[str] | None = None
    "Topics of the content."
    mentions: list["MentionInput"] | None = None
    "Names in the content, at most 256."
    references: list["ReferenceInput"] | None = None
    "Records that the content refers to, at most 256."


class CreditLessonsInput(BaseModel):
    """Credit the lessons of one playbook as helpful, or those in this credential's latest playbooks. Give `playbookId` or `windowSeconds`."""

    lessonIds: list[str] | None = None
    "Those lessons of the playbook that helped, some of its `lessonIds`; null for all of them. Needs `playbookId`."
    playbookId: str | None = None
    "`playbookId` of a playbook that this credential got: just its lessons are credited."
    windowSeconds: int | None = None
    "How far back playbooks are credited, in seconds, from 1 to 604,800. Default without a `playbookId`: 300."


class DeleteRecordInput(BaseModel):
    """Delete a record with its history. Its audit log is kept."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class EntityAliasInput(BaseModel):
    """Another name of an entity."""

    kind: str | None = None
    "Kind of the name, such as nickname."
    locale: str | None = None
    "Language of the name, such as de."
    value: str
    "The other name."


class EntityIdentifierInput(BaseModel):
    """An identifier of an entity."""

    namespace: str
    "Where the identifier is unique, such as email."
    value: str
    "The identifier itself."


class EntityInput(BaseModel):
    """Who or what is named."""

    aliases: list["EntityAliasInput"] | None = None
    "Other names."
    canonicalName: str
    "The name by which it is shown."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    identifiers: list["EntityIdentifierInput"] | None = None
    "Identifiers, each unique in its namespace."
    primaryType: str | None = None
    "Its type, such as Person; the list is open."
    summary: str | None = None
    "What it is, in a sentence."
    types: list[str] | None = None
    "Further types."


class EnvironmentInput(BaseModel):
    """Where an episode happened."""

    context: JsonValue | None = None
    "Anything else of the environment."
    os: str | None = None
    "Operating system."
    osVersion: str | None = None
    "Version of the operating system."
    toolVersions: JsonValue | None = None
    "Versions of tools, by name."
    workingDirectory: str | None = None
    "Directory in which it ran."


class EpisodeInput(BaseModel):
    """A whole, finished episode, with at least one event or tool call."""

    artifacts: list[str] | None = None
    "URIs of artifacts that belong to it."
    environment: Optional["EnvironmentInput"] = None
    "Where it happened."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    outcome: Outcome | None = None
    "How it ended; absent while that is not known."
    outcomeReason: str | None = None
    "Why it ended so."
    ref: str | None = None
    "Reference by which later captures may name it; may be empty."
    threadId: str | None = None
    "Thread that it was."
    timeline: list["TimelineEventInput"] | None = None
    "The events, in any order."
    toolGraph: list["ToolCallInput"] | None = None
    "The tool calls, and which of them depend on which."
    toolGraphRef: str | None = None
    "Reference of a tool graph that is kept elsewhere."


class EraseInput(BaseModel):
    """What to erase: exactly one of `target`, `recordId`, `entityId`, `scope` and `tenant`."""

    entityId: str | None = None
    "Id of the entity to erase, with every record linked to it. Needs admin access, the ceiling HYPER and all scopes."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key erases nothing and returns the first receipt."
    rationale: str
    "Reason, 1 to 10,000 characters. It is kept in the receipt, so it must not repeat what is erased."
    recordId: str | None = None
    "Id of the record to erase, with the records derived from it alone; an episode with its members. Needs write access."
    scope: str | None = None
    "Name of the scope whose records to erase. Needs admin access, the ceiling HYPER, and that scope or all scopes."
    target: Optional["EraseTargetInput"] = None
    "What to erase, in place of the four fields below."
    tenant: str | None = None
    "Name of the credential's own tenant, to erase with its keys and credentials. Needs admin access, the ceiling HYPER and all scopes."


class EraseTargetInput(BaseModel):
    """What to erase: exactly one of these."""

    entityId: str | None = None
    "Id of the entity, which is erased with every record linked to it. Needs admin access, the ceiling HYPER and all scopes."
    recordId: str | None = None
    "Id of the record, which is erased with the records derived from it alone; an episode with its members. Needs write access."
    scope: str | None = None
    "Name of the scope whose records are erased. Needs admin access, the ceiling HYPER, and that scope or all scopes."
    tenant: str | None = None
    "Name of the credential's own tenant, which is erased with its keys and credentials. Needs admin access, the ceiling HYPER and all scopes."


class EventInput(BaseModel):
    """Something that happened."""

    eventKind: str | None = None
    "Kind of the event, such as deployment."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    ref: str | None = None
    "Reference by which later captures may name it; may be empty."
    summary: str | None = None
    "What happened, a text; its words find the record."
    text: str | None = None
    "What was said or written, in place of a summary."
    threadId: str | None = None
    "Thread to whose open episode it belongs."


class EvidenceInput(BaseModel):
    """A source."""

    hash: str | None = None
    "Hash of the source's content, such as an artifact's."
    kind: EvidenceKind
    "Kind of the source."
    ref: str
    "Reference of the source: a record's id, or any other."
    timestamp: datetime | None = None
    "Instant at which the source arose."


class FactInput(BaseModel):
    """A fact; it always holds unless `validity` or `conditions` say otherwise."""

    conditions: JsonValue | None = None
    "Conditions under which it holds, as {key: value or [values]}."
    evidence: list["EvidenceInput"] | None = None
    "Its sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    object_: JsonValue = Field(alias="object")
    "The value, any JSON value but null; a text may name an entity."
    objectType: str | None = None
    "Type of the entity that the object names, such as Person."
    predicate: str
    "What is said, such as works_at."
    revisionPolicy: RevisionPolicy | None = None
    "What becomes of facts that contradict it: they are replaced, none may, or both are in dispute."
    subject: str
    "Whom or what the fact is about."
    validity: Optional["ValidityInput"] = None
    "When it holds; by default always."


class ForkInput(BaseModel):
    """Add a variant of a record for conditions under which the record does not hold."""

    conditions: JsonValue
    "Conditions under which the variant holds, {key: value or [values]}. They must exclude those of every other active fact of the subject and predicate."
    evidence: list[JsonValue] | None = None
    "Required for a SEMANTIC record, unless the payload has `evidence`; optional for others. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json."
    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    payload: JsonValue
    "The complete payload of the variant, in the canonical form of the record's type, whose JSON Schema is at /schemas/NAME.json."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class ForkRecordInput(BaseModel):
    """Add a variant of a record with a typed payload; `fork` takes it as JSON."""

    conditions: JsonValue
    "Conditions under which the variant holds, {key: value or [values]}. They must exclude those of every other active fact of the subject and predicate."
    evidence: list["EvidenceInput"] | None = None
    "At most 200 sources; required for a fact."
    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."
    variant: "PayloadInput"
    "The complete payload of the variant, of the record's type."


class InstantRange(BaseModel):
    """A part of time."""

    before: datetime | None = None
    "The instant before which it ends; null for all time since `from`."
    from_: datetime | None = Field(alias="from", default=None)
    "Its first instant; null for all time before `before`."


class LearnAgainInput(BaseModel):
    """Let learning read the episodes of an undone run again."""

    id: str
    "Id of the undone run, as `consolidationRuns` lists it, a UUID."


class LearnLessonInput(BaseModel):
    """A lesson from a mistake: what the task was, what went wrong, and what to do instead."""

    antiPattern: str | None = None
    "What to avoid in general, at most 2,000 characters."
    codeExample: str | None = None
    "Code that shows it, at most 10,000 characters."
    conditions: JsonValue | None = None
    "Conditions of its trigger, a JSON object, which `retrieveGraph` selects by."
    confidence: float | None = None
    "How sure the lesson is, from 0 to 1. Default: 0.7."
    correctPattern: str | None = None
    "What to do in general, at most 2,000 characters."
    domains: list[str] | None = None
    "Fields that it belongs to, at most 32, of 1 to 256 characters each."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    mistake: str | None = None
    "What went wrong, at most 2,000 characters."
    scope: str | None = None
    "Scope of the lesson, at most 256 characters. Default: the credential's only scope, or unscoped for a credential of all scopes."
    sensitivity: Sensitivity | None = None
    "Sensitivity of the lesson. Default: LOW, or the credential's ceiling if lower."
    solution: str
    "What to do, 1 to 2,000 characters."
    source: str | None = None
    "Where it comes from, such as `self_play`, at most 256 characters. Default: `lesson`."
    sourceChallengeHash: str | None = None
    "Hash of the challenge that taught it, at most 256 characters."
    tags: list[str] | None = None
    "At most 64 labels of 1 to 256 characters each."
    task: str
    "What was to be done, 1 to 1,900 characters. A lesson of the same scope and sensitivity with an equal task, ignoring case, accents and spacing, is merged with this one."
    timestamp: datetime | None = None
    "Instant at which it was learned. Default: now."
    trigger: str | None = None
    "When the lesson applies, at most 2,000 characters. Without an embedder, a question finds the lesson by these words. Default: the task."
    verified: bool | None = None
    "Whether it was verified. Stored as false without access admin; another caller then verifies it with `verifyLesson`. Default: false."


class MemoryInput(BaseModel):
    """What to remember: exactly one of these; it decides the type of the record."""

    agentTurn: Optional["AgentTurnInput"] = None
    "A message of a conversation; becomes an EPISODIC record."
    competence: Optional["CompetenceInput"] = None
    "How something is done; becomes a COMPETENCE record."
    entity: Optional["EntityInput"] = None
    "Who or what is named; becomes an ENTITY record."
    episode: Optional["EpisodeInput"] = None
    "A whole episode; becomes one EPISODIC record."
    event: Optional["EventInput"] = None
    "Something that happened; becomes an EPISODIC record."
    fact: Optional["FactInput"] = None
    "A fact that was observed; becomes a SEMANTIC record."
    note: Optional["NoteInput"] = None
    "A text that is to last; becomes a SEMANTIC record, a fact whose object is the text."
    outcome: Optional["OutcomeInput"] = None
    "How an episode ended; closes it, and creates no record."
    plan: Optional["PlanInput"] = None
    "Which actions solve something; becomes a PLAN_GRAPH record."
    toolOutput: Optional["ToolOutputInput"] = None
    "A call of a tool; becomes an EPISODIC record."
    workingState: Optional["WorkingStateInput"] = None
    "The state of a task; creates or changes a WORKING record."


class MentionInput(BaseModel):
    """A name in the content, and what is known of it."""

    aliases: list[str] | None = None
    "Other names of the entity."
    identifiers: list["EntityIdentifierInput"] | None = None
    "Identifiers of the entity."
    name: str
    "The name as the content gives it."
    type_: str | None = Field(alias="type", default=None)
    "Type of the entity, such as Person."


class MergeInput(BaseModel):
    """Merge records with the same content into one, with the sources and relations of all."""

    expectedVersion: int | None = None
    "For the first record. Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    merged: Optional["PayloadInput"] = None
    "The payload, typed; give either this or `payload`."
    payload: JsonValue | None = None
    "Payload of the merged record. Default: the payload of the leading record, for entities with the names and identifiers of all."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordIds: list[str]
    "Ids of the records to merge, 2 to 50, of one type and scope. Entities must also have one sensitivity, and are merged into the one with the most current facts, the first of several. Other records are replaced by a new one; the most sensitive leads, the first of several."


class NoteInput(BaseModel):
    """A text that is to last, such as one that a user asked to remember."""

    about: str | None = None
    "Name of whom or what it is about. Default: notes."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    text: str
    "What to remember, as a sentence that can be read alone."


class NumberRange(BaseModel):
    """A range of numbers from 0 to 1, its ends included."""

    least: float | None = None
    "The least number; null for 0."
    most: float | None = None
    "The greatest number; null for 1."


class OutcomeInput(BaseModel):
    """How an episode ended; give either `threadId` or `recordId`."""

    outcomeStatus: Outcome
    "How it ended."
    reason: str | None = None
    "Why it ended so."
    recordId: str | None = None
    "Id of the episode that it closes, a UUID."
    threadId: str | None = None
    "Thread whose episode it closes."


class PayloadInput(BaseModel):
    """The payload of a record: exactly one of these, that of the record's type."""

    competence: Optional["CompetenceInput"] = None
    "Payload of a COMPETENCE record."
    entity: Optional["EntityInput"] = None
    "Payload of an ENTITY record."
    fact: Optional["FactInput"] = None
    "Payload of a SEMANTIC record."
    plan: Optional["PlanInput"] = None
    "Payload of a PLAN_GRAPH record."
    workingState: Optional["WorkingStateInput"] = None
    "Payload of a WORKING record."


class PenalizeInput(BaseModel):
    """Lower the salience of a record, but not below its floor."""

    amount: float
    "Amount to subtract from the salience; finite and at least 0."
    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class PinInput(BaseModel):
    """Pin or unpin a record. A pinned record keeps its present salience."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    pinned: bool
    "True to hold the salience at its present value; false to let it decay again from there."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class PlanEdgeInput(BaseModel):
    """A dependency between two steps of a plan."""

    kind: PlanLinkKind
    "Whether the later step uses the output of the first, or only waits for it."
    source: str
    "Id of the step that comes first."
    target: str
    "Id of the step that comes after it."


class PlanInput(BaseModel):
    """Which actions solve something."""

    constraints: JsonValue | None = None
    "Conditions under which the plan applies, as {key: value or [values]}."
    edges: list["PlanEdgeInput"]
    "Dependencies between steps; they form no cycle."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    inputsSchema: JsonValue | None = None
    "JSON Schema of the inputs."
    intent: str | None = None
    "What the plan is for."
    metrics: Optional["PlanPerformanceInput"] = None
    "Statistics of its executions."
    nodes: list["PlanNodeInput"]
    "The steps; at least one."
    outputsSchema: JsonValue | None = None
    "JSON Schema of the outputs."
    planId: str
    "Name of the plan; its versions share it."
    version: str
    "Label of the version."


class PlanNodeInput(BaseModel):
    """A step of a plan."""

    guards: JsonValue | None = None
    "Conditions under which the step is taken."
    id: str
    "Id of the step, unique within the plan."
    label: str | None = None
    "Caption in a drawing."
    op: str
    "What the step does; one word names a tool."
    params: JsonValue | None = None
    "Parameters; tool names the tool."


class PlanPerformanceInput(BaseModel):
    """Statistics of a plan."""

    avgLatencyMs: float | None = None
    "Mean duration in milliseconds."
    executionCount: int | None = None
    "Number of executions, from 0."
    failureRate: float | None = None
    "Share of executions that failed, from 0 to 1."
    lastExecutedAt: datetime | None = None
    "Instant of the last execution."


class ProcedureHandle(BaseModel):
    """A skill or plan by its name, and one of its versions."""

    name: str
    "The `skill_name` of the skill, or the `plan_id` of the plan."
    version: str | None = None
    "Label of the version; null for the newest current one, else the newest."


class RecipeStepInput(BaseModel):
    """A step of a skill."""

    argsSchema: JsonValue | None = None
    "JSON Schema of the tool's arguments."
    step: str
    "What to do."
    tool: str | None = None
    "Tool that the step uses."
    validation: str | None = None
    "How to tell that the step worked."


class RecordFilter(BaseModel):
    """Which records to list: those that fit all fields. A field left out or null does not restrict the list, and an empty list leaves nothing, but for `types` and `tags.all`."""

    confidence: Optional["NumberRange"] = None
    "Only records as certain as this."
    created: Optional["InstantRange"] = None
    "Only records that were stored then."
    ids: list[str] | None = None
    "Only records with these ids, at most 1,000."
    namePrefix: str | None = None
    "Only records whose name begins with this, ignoring case, accents and spacing. Redacted records are left out."
    occurred: Optional["InstantRange"] = None
    "Only records that happened then."
    predicate: str | None = None
    "Only facts with this predicate, in any spelling: `Works At` is `works_at`. Redacted records are left out."
    salience: Optional["NumberRange"] = None
    "Only records that matter as much as this, at the instant of the first page."
    scope: str | None = None
    "Only records of this scope; empty for unscoped."
    scopes: list[str] | None = None
    "Only records of these scopes, at most 100; an empty text is for unscoped records."
    slotOf: str | None = None
    "Only facts that are or were in the slot of this fact: those of its subject and predicate, in its scope and sensitivity, in any state. None where the caller may not read it in full, or it is no fact."
    source: str | None = None
    "Only records with a source of exactly this `ref` or `createdBy`. Redacted records are left out."
    states: list[RecordState] | None = None
    "Only records in these states. Redacted records are left out."
    subject: str | None = None
    "Only facts about this: the id of an entity, its name or an alias, or a text that is no entity. Redacted records are left out."
    tag: str | None = None
    "Only records that have this tag."
    tags: Optional["TagFilter"] = None
    "Only records with these tags."
    threadId: str | None = None
    "Only the events, the episodes and the working state of this thread. Redacted records are left out."
    types: list[MemoryType] | None = None
    "Only records of these types; empty for all."
    updated: Optional["InstantRange"] = None
    "Only records last changed then."
    updatedSince: datetime | None = None
    "Only records that were stored or changed at this instant or later."
    validAt: datetime | None = None
    "Of the facts, only those that held at this instant, superseded ones included and retracted ones not; redacted ones are not compared. Other records are listed as without it."


class RecordHandle(BaseModel):
    """The name by which a record was captured; exactly one of these."""

    plan: Optional["ProcedureHandle"] = None
    "Name and version of a plan."
    ref: str | None = None
    "The `ref` of an event."
    skill: Optional["ProcedureHandle"] = None
    "Name and version of a skill."
    working: str | None = None
    "The `thread_id` of a working state."


class ReferenceInput(BaseModel):
    """Another record that the content refers to."""

    predicate: str | None = None
    "Name of the relation to it. Default: references_record."
    ref: str
    "Id of the record, or the ref that it was captured with."


class ReinforceInput(BaseModel):
    """Raise the salience of a record by its reinforcement gain, to at most 1."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class RejectDuplicateInput(BaseModel):
    """Note that two records do not say the same."""

    expectedVersion: int | None = None
    "For the first record. Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordIds: list[str]
    "Ids of the two records, UUIDs. They must be of one type, scope and sensitivity."


class RememberAllInput(BaseModel):
    """Several things to remember, stored in one transaction: all of them or none."""

    items: list["RememberInput"]
    "The things to remember, 1 to 1,000, processed in this order."


class RememberInput(BaseModel):
    """Something to remember, with typed content; `captureMemory` takes it as JSON."""

    context: Optional["ContextInput"] = None
    "What the content names and refers to."
    idempotencyKey: str | None = None
    "Key of at most 256 characters. A repeated request with the same key writes nothing and returns the result of the first."
    memory: "MemoryInput"
    "The content, by its kind."
    reasonToRemember: str | None = None
    "Reason, at most 10,000 characters; kept in the audit log."
    scope: str | None = None
    "Scope of the record, at most 256 characters. Default: the credential's only scope, or unscoped for a credential of all scopes."
    sensitivity: Sensitivity | None = None
    "Sensitivity of the record. Default: LOW, or the credential's ceiling if lower."
    source: str
    "Agent, tool or program that reports the content, 1 to 256 characters."
    summary: str | None = None
    "Summary, at most 10,000 characters. Becomes the record's name; in a search its words weigh more than those of the content."
    tags: list[str] | None = None
    "At most 64 labels of 1 to 256 characters each."
    timestamp: datetime | None = None
    "Instant at which the content happened. Default: now."


class RemoveLessonInput(BaseModel):
    """Remove a lesson that is wrong. It is retracted, and stays as history."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the lesson, a UUID."


class ReportOutcomeInput(BaseModel):
    """What came of the task that a retrieval was for."""

    latencyMs: float | None = None
    "Duration of the task in milliseconds, from 0 to 10000000000, for the statistics of the procedures and plans used; null if unknown."
    outcome: Outcome
    "How the task ended."
    retrievalId: str
    "`retrievalId` of a retrieval by the same credential, a UUID. Its outcome can be reported once, within 7 days."
    steps: list["StepOutcomeInput"] | None = None
    "Outcomes of single steps of the plans used, at most 1,000, each step once."
    usedRecordIds: list[str]
    "Ids of the returned records that were used, at most 1,000; empty if none was."


class ReportOutcomesInput(BaseModel):
    """What came of several tasks; all is reported or nothing."""

    items: list["ReportOutcomeInput"]
    "The reports, 1 to 100, each on another retrieval. Errors name the item in `path`."


class ResolveContestInput(BaseModel):
    """End the contest of a record."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."
    winnerId: str | None = None
    "Id of the record that holds: the contested record or one that contests it. Null: none of them holds, and all are retracted."


class RetireLessonsInput(BaseModel):
    """Retire lessons that do not help."""

    fraction: float = 0.25
    "Part of the unhelpful lessons to retire, from 0 to 1, those of the least utility; rounded up, at each sensitivity by itself."
    minRetrievals: int = 5
    "Retrievals, from 1, from which a lesson counts as unhelpful if (helpful + 1) / (retrievals + 2) is below 0.35."
    scope: str | None = None
    "Scope of the lessons. Default: the credential's only scope, or unscoped for a credential of all scopes."


class RetractInput(BaseModel):
    """Withdraw a record that was wrong, without a replacement."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class RetrieveGraphInput(BaseModel):
    """A task in words, and how many records around it to return."""

    asOf: datetime | None = None
    "A past instant. The answer is what it would have been then, salience and ranking included, as far as the records are visible to the caller both then and now. Entities are found by the names they have now."
    atLeastSequence: str | None = None
    "`sequence` of a receipt; the answer reflects at least that write. After writes at the same time, up to 32 of them, joined by points."
    citationStyle: CitationStyle | None = CitationStyle.RECORD_ID
    "How the lines of `rendering` name their records: by id, the default, or by a short number."
    context: JsonValue | None = None
    "Conditions that hold, as a JSON object; `selection` compares them with those of procedures and plans."
    edgeLimit: int | None = 100
    "Maximum number of relations to return, from 0 to 5,000; the default is 100."
    excludeThreadIds: list[str] | None = None
    "Threads whose records are left out, as the one in which the question was asked; at most 20."
    hopTypes: list[list[MemoryType]] | None = None
    "Types of the records that may be reached at each hop: the first list for the first hop from the roots, and so on, at most `maxHops` lists. An empty list, and a hop without one, is any type. A relation is followed at a hop only to records of its types; of a record with more than 100 relations in a direction, the 100 heaviest of all are looked at."
    maxHops: int | None = 1
    "Maximum distance of a node from its nearest root, in hops, from 0 to 6; the default is 1."
    maxSensitivity: Sensitivity | None = None
    "Ceiling to apply; at most the credential's own. Null for the credential's own."
    memoryTypes: list[MemoryType] | None = None
    "Types that roots may have; null or an empty list for any. Other nodes may have any type."
    minSalience: float | None = None
    "Salience that a returned record must have at least, from 0 to 1; null for any."
    minStrength: float | None = None
    "Strength that a root must have at least, from 0 to 1. Null leaves weak roots in, and makes the answer empty only if nothing fits; 0 returns whatever shares a word."
    nodeLimit: int | None = 25
    "Maximum number of nodes to return, roots included, from 1 to 1,000; the default is 25."
    rootLimit: int | None = 10
    "Maximum number of roots to return, from 1 to 100; the default is 10."
    scopes: list[str] | None = None
    "Scopes to search, besides unscoped records; each must be one of the credential's. Null for all of them."
    taskDescriptor: str
    "The task or question in plain words, 1 to 20,000 characters."
    tokenBudget: int | None = None
    "Maximum length of `rendering` in tokens, from 1 to 1,000,000; null for no rendering."
    validAt: datetime | None = None
    "An instant at which the facts of the answer must have held, instead of now: what held then, past and superseded facts included. Other records are found as without it. With `asOf`, of the facts that were current as of that instant."


class ReviseRecordsInput(BaseModel):
    """Several revisions, made in their order and in one transaction: all of them or none."""

    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. It is that of all items together."
    items: list["RevisionInput"]
    "The revisions, 1 to 100, without idempotency keys of their own. Each is made after the ones before it. Errors name the item in `path`."


class RevisionInput(BaseModel):
    """One revision: exactly one of these fields, the input of its mutation."""

    amend: Optional["AmendInput"] = None
    "As `amend`."
    contest: Optional["ContestInput"] = None
    "As `contest`."
    fork: Optional["ForkInput"] = None
    "As `fork`."
    merge: Optional["MergeInput"] = None
    "As `merge`."
    penalize: Optional["PenalizeInput"] = None
    "As `penalize`."
    pin: Optional["PinInput"] = None
    "As `pin`."
    reinforce: Optional["ReinforceInput"] = None
    "As `reinforce`."
    rejectDuplicate: Optional["RejectDuplicateInput"] = None
    "As `rejectDuplicate`."
    removeLesson: Optional["RemoveLessonInput"] = None
    "As `removeLesson`."
    resolveContest: Optional["ResolveContestInput"] = None
    "As `resolveContest`."
    retract: Optional["RetractInput"] = None
    "As `retract`."
    supersede: Optional["SupersedeInput"] = None
    "As `supersede`."
    unmerge: Optional["UnmergeInput"] = None
    "As `unmerge`."
    verifyLesson: Optional["VerifyLessonInput"] = None
    "As `verifyLesson`."


class SetPredicateInput(BaseModel):
    """Register a predicate of facts for the tenant."""

    name: str
    "The predicate, from 1 to 200 characters; `Works At` is the same as `works_at`. Replaces a built-in entry."
    objectKind: ObjectKind = ObjectKind.ANY
    "What its objects are."
    singleValued: bool = False
    "Whether a subject has one value of it at a time, so that a new value supersedes the one before. Applies to subjects that have no fact with it yet."


class SkillPerformanceInput(BaseModel):
    """Statistics of a skill."""

    avgLatencyMs: float | None = None
    "Mean duration in milliseconds."
    failureCount: int | None = None
    "Number of executions that failed, from 0."
    lastUsedAt: datetime | None = None
    "Instant of the last execution."
    successCount: int | None = None
    "Number of executions that succeeded, from 0."
    successRate: float | None = None
    "Share of executions that succeeded, from 0 to 1."


class SkillTriggerInput(BaseModel):
    """When a skill applies."""

    conditions: JsonValue | None = None
    "Conditions under which it applies, as {key: value or [values]}."
    signal: str
    "Words of the situation in which the skill applies."


class StepOutcomeInput(BaseModel):
    """The outcome of one step of a plan."""

    outcome: Outcome
    "How the step ended."
    recordId: str
    "Id of the PLAN_GRAPH record, a UUID; one of `usedRecordIds`."
    stepId: str
    "Id of the step in the plan."


class SupersedeInput(BaseModel):
    """Replace a record by a new one with another payload. An entity or a working record is changed in place."""

    evidence: list[JsonValue] | None = None
    "Required for a SEMANTIC record, unless the payload has `evidence`; optional for others. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json."
    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    payload: JsonValue
    "The complete new payload, in the canonical form of the record's type, whose JSON Schema is at /schemas/NAME.json, such as /schemas/semantic.json."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."


class SupersedeRecordInput(BaseModel):
    """Replace a record by a new one with a typed payload; `supersede` takes it as JSON."""

    evidence: list["EvidenceInput"] | None = None
    "At most 200 sources; required for a fact."
    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the record to change, a UUID."
    replacement: "PayloadInput"
    "The complete new payload, of the record's type. Of an entity, what is left out stays, and a null removes an optional field."


class TagFilter(BaseModel):
    """Which tags a record must have."""

    all: list[str] | None = None
    "Tags all of which it has."
    any: list[str] | None = None
    "Tags of which it has at least one."


class TaskConstraintInput(BaseModel):
    """A constraint of a task."""

    key: str
    "What is constrained."
    required: bool | None = None
    "Whether it must be kept."
    type_: str = Field(alias="type")
    "Type of the constraint, such as deadline."
    value: JsonValue | None = None
    "The value it must have; null differs from absent."


class TimelineEventInput(BaseModel):
    """An event of an episode."""

    content: JsonValue | None = None
    "Captured fields other than those above."
    eventKind: str
    "Kind of the event, such as tool_output."
    ref: str
    "Reference of the event, a record's id or the caller's own; may be empty."
    summary: str | None = None
    "What happened, in a sentence."
    t: datetime
    "Instant of the event."


class ToolCallInput(BaseModel):
    """A tool call of an episode."""

    args: JsonValue | None = None
    "Arguments of the call; null differs from absent."
    dependsOn: list[str] | None = None
    "Ids of the calls whose results it used."
    id: str
    "Id of the call, unique within the episode."
    result: JsonValue | None = None
    "Result of the call; null differs from absent."
    timestamp: datetime | None = None
    "Instant of the call."
    tool: str
    "Name of the tool."


class ToolOutputInput(BaseModel):
    """A call of a tool, and what it returned."""

    args: JsonValue | None = None
    "Arguments of the call; null differs from absent."
    callId: str | None = None
    "Id of the call, which later calls may depend on."
    dependsOn: list[str] | None = None
    "Ids of the calls whose results it used."
    error: JsonValue | None = None
    "True, or the error, where the call failed."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    ref: str | None = None
    "Reference by which later captures may name it; may be empty."
    result: JsonValue | None = None
    "Result of the call; null differs from absent."
    threadId: str | None = None
    "Thread to whose open episode it belongs."
    toolName: str
    "Name of the tool."


class UndoRunInput(BaseModel):
    """Undo a run of learning."""

    id: str
    "Id of the run, as `consolidationRuns` lists it, a UUID."
    rationale: str
    "The reason, from 1 to 10,000 characters, which the audit log of each record keeps."


class UnmergeInput(BaseModel):
    """Undo the merge of an entity into another one."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the entity that was merged into another one, a UUID. Merges into one entity are undone in the reverse order."


class ValidityInput(BaseModel):
    """When, or under which conditions, a fact holds."""

    conditions: JsonValue | None = None
    "Conditions under which it holds, as {key: value or [values]}."
    end: datetime | None = None
    "Instant before which it holds, later than start; absent for no bound."
    mode: ValidityMode
    "Whether the fact always holds, under conditions, or in a time."
    start: datetime | None = None
    "Instant from which it holds; absent for no bound."


class VerifyLessonInput(BaseModel):
    """Note whether a lesson was verified. Who wrote its advice needs access admin to say so."""

    expectedVersion: int | None = None
    "Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version."
    idempotencyKey: str | None = None
    "Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first."
    rationale: str
    "Reason, 1 to 10,000 characters; kept in the audit log."
    recordId: str
    "Id of the lesson, a UUID."
    verified: bool = True
    "True if it was verified; false if that was tried and failed."


class WorkingStateInput(BaseModel):
    """The state of a task: the fields to set. A null removes one, what is left out stays."""

    activeConstraints: list["TaskConstraintInput"] | None = None
    "Constraints that hold now."
    contextSummary: str | None = None
    "What was done so far, in a few sentences."
    extra: JsonValue | None = None
    "Further keys of the JSON form, a JSON object; kept as they are."
    nextActions: list[str] | None = None
    "What to do next, in order."
    openQuestions: list[str] | None = None
    "What is not known yet."
    state: TaskState | None = None
    "State of the task; the first update of a thread must name it."
    threadId: str
    "Name of the thread."
