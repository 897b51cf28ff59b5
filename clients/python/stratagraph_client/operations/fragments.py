from datetime import datetime
from typing import Annotated, Literal, Optional, Union

from pydantic import Field, JsonValue

from .base_model import BaseModel
from .enums import (
    ChangeEffect,
    ChangeKind,
    ConsolidationRunState,
    Engine,
    EvidenceKind,
    MemoryType,
    MentionOutcome,
    ObjectKind,
    Outcome,
    PlanLinkKind,
    ReadingState,
    RecordState,
    RevisionPolicy,
    Sensitivity,
    TaskState,
    ValidityMode,
    WarningCode,
)


class ReceiptFields(BaseModel):
    candidateId: str
    sequence: str
    state: str
    mentions: list["ReceiptFieldsMentions"]
    changes: list["ReceiptFieldsChanges"]
    unindexedTerms: int
    textReading: Optional["ReceiptFieldsTextReading"]
    warnings: list["ReceiptFieldsWarnings"]


class ReceiptFieldsMentions(BaseModel):
    name: str
    outcome: MentionOutcome
    entityId: str | None
    candidateIds: list[str]


class ReceiptFieldsChanges(BaseModel):
    effect: ChangeEffect
    record: "ReceiptFieldsChangesRecord"


class ReceiptFieldsChangesRecord(BaseModel):
    id: str
    name: str | None


class ReceiptFieldsTextReading(BaseModel):
    state: ReadingState
    attempts: int
    nextTryAt: datetime | None


class ReceiptFieldsWarnings(BaseModel):
    code: WarningCode
    message: str
    path: list[str]


class RecordFields(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    state: RecordState
    version: int
    name: str | None
    text: str | None
    payload: JsonValue | None
    scope: str
    sensitivity: Sensitivity
    tags: list[str]
    salience: float
    confidence: float
    conditions: JsonValue | None
    redacted: bool
    createdAt: datetime
    updatedAt: datetime
    occurredAt: datetime | None
    validFrom: datetime | None
    validTo: datetime | None


class RelationFields(BaseModel):
    id: str
    predicate: str
    inverse: str
    sourceId: str
    targetId: str
    weight: float
    createdAt: datetime


class CapturedFields(BaseModel):
    primaryRecord: "RecordFields"
    createdRecords: list["RecordFields"]
    edges: list["RelationFields"]
    receipt: "ReceiptFields"
    replayed: bool


class ChangeFields(BaseModel):
    position: str
    kind: ChangeKind
    at: datetime
    recordId: str
    record: Optional["RecordFields"]
    relationId: str | None
    relation: Optional["RelationFields"]
    run: Optional["ChangeFieldsRun"]
    cause: Optional["ChangeFieldsCause"]


class ChangeFieldsRun(BaseModel):
    id: str
    state: ConsolidationRunState
    scope: str
    sensitivity: Sensitivity


class ChangeFieldsCause(BaseModel):
    action: str
    actor: str
    rationale: str | None
    runId: str | None


class FreshnessFields(BaseModel):
    engine: Engine
    fallback: str | None
    mirrorLagSeconds: float | None


class ItemFields(BaseModel):
    id: str
    version: int
    scope: str
    sensitivity: Sensitivity
    updatedAt: datetime
    payload: JsonValue | None


class LabelFields(BaseModel):
    nodes: list["LabelFieldsNodes"]
    pageInfo: "LabelFieldsPageInfo"
    complete: bool
    looked: int


class LabelFieldsNodes(BaseModel):
    name: str
    uses: int


class LabelFieldsPageInfo(BaseModel):
    hasNextPage: bool
    endCursor: str | None


class LogFields(BaseModel):
    id: str
    createdAt: datetime
    payload: JsonValue | None
    lifecycle: Optional["LogFieldsLifecycle"]


class LogFieldsLifecycle(BaseModel):
    pinned: bool


class OutcomeFields(BaseModel):
    retrievalId: str
    outcome: Outcome
    reinforcedIds: list[str]
    penalizedIds: list[str]
    skippedIds: list[str]
    sequence: str
    replayed: bool


class PredicateFields(BaseModel):
    name: str
    singleValued: bool
    objectKind: ObjectKind
    builtIn: bool


class RevisedFields(BaseModel):
    record: "RecordFields"
    records: list["RecordFields"]
    edges: list["RelationFields"]
    receipt: "ReceiptFields"
    queued: int
    replayed: bool


class StageFields(BaseModel):
    name: str
    inputs: int
    outputs: int
    merges: int
    seconds: float
    cost: list["StageFieldsCost"]
    skips: list["StageFieldsSkips"]


class StageFieldsCost(BaseModel):
    unit: str
    amount: float


class StageFieldsSkips(BaseModel):
    reason: str
    count: int


class RunFields(BaseModel):
    id: str
    state: ConsolidationRunState
    beganAt: datetime
    updatedAt: datetime
    episodes: int
    setAside: int
    stages: list["StageFields"]
    groups: list["RunFieldsGroups"]


class RunFieldsGroups(BaseModel):
    scope: str
    sensitivity: Sensitivity
    episodes: int
    setAside: int
    undoneAt: datetime | None
    undoneBy: str | None
    canUndo: bool
    stages: list["StageFields"]


class TypedFields(BaseModel):
    typed: (
        Annotated[
            Union[
                "TypedFieldsTypedCompetence",
                "TypedFieldsTypedEntity",
                "TypedFieldsTypedEpisode",
                "TypedFieldsTypedFact",
                "TypedFieldsTypedPlan",
                "TypedFieldsTypedWorkingState",
            ],
            Field(discriminator="typename__"),
        ]
        | None
    )


class TypedFieldsTypedCompetence(BaseModel):
    typename__: Literal["Competence"] = Field(alias="__typename")
    skillName: str
    triggers: list["TypedFieldsTypedCompetenceTriggers"]
    recipe: list["TypedFieldsTypedCompetenceRecipe"]
    requiredTools: list[str] | None
    failureModes: list[str] | None
    fallbacks: list[str] | None
    performance: Optional["TypedFieldsTypedCompetencePerformance"]
    skillVersion: str | None
    lesson: Optional["TypedFieldsTypedCompetenceLesson"]


class TypedFieldsTypedCompetenceTriggers(BaseModel):
    signal: str
    conditions: JsonValue | None


class TypedFieldsTypedCompetenceRecipe(BaseModel):
    step: str
    tool: str | None
    argsSchema: JsonValue | None
    validation: str | None


class TypedFieldsTypedCompetencePerformance(BaseModel):
    successCount: int | None
    failureCount: int | None
    successRate: float | None
    avgLatencyMs: float | None
    lastUsedAt: datetime | None


class TypedFieldsTypedCompetenceLesson(BaseModel):
    task: str | None
    trigger: str | None
    mistake: str | None
    antiPattern: str | None
    solution: str | None
    correctPattern: str | None
    codeExample: str | None
    domains: list[str] | None
    confidence: float | None
    source: str | None
    timestamp: datetime | None
    verified: bool | None
    verificationAttempted: bool | None
    frequency: int | None
    retrievals: int | None
    helpfulRetrievals: int | None
    lastRetrievedAt: datetime | None


class TypedFieldsTypedEntity(BaseModel):
    typename__: Literal["Entity"] = Field(alias="__typename")
    canonicalName: str
    primaryType: str | None
    types: list[str] | None
    aliases: list["TypedFieldsTypedEntityAliases"] | None
    identifiers: list["TypedFieldsTypedEntityIdentifiers"] | None
    summary: str | None


class TypedFieldsTypedEntityAliases(BaseModel):
    value: str
    kind: str | None
    locale: str | None


class TypedFieldsTypedEntityIdentifiers(BaseModel):
    namespace: str
    value: str


class TypedFieldsTypedEpisode(BaseModel):
    typename__: Literal["Episode"] = Field(alias="__typename")
    timeline: list["TypedFieldsTypedEpisodeTimeline"]
    toolGraph: list["TypedFieldsTypedEpisodeToolGraph"] | None
    environment: Optional["TypedFieldsTypedEpisodeEnvironment"]
    outcome: Outcome | None
    outcomeReason: str | None
    artifacts: list[str] | None
    toolGraphRef: str | None


class TypedFieldsTypedEpisodeTimeline(BaseModel):
    t: datetime
    eventKind: str
    ref: str
    summary: str | None
    content: JsonValue | None


class TypedFieldsTypedEpisodeToolGraph(BaseModel):
    id: str
    tool: str
    args: JsonValue | None
    result: JsonValue | None
    timestamp: datetime | None
    dependsOn: list[str] | None


class TypedFieldsTypedEpisodeEnvironment(BaseModel):
    os: str | None
    osVersion: str | None
    toolVersions: JsonValue | None
    workingDirectory: str | None
    context: JsonValue | None


class TypedFieldsTypedFact(BaseModel):
    typename__: Literal["Fact"] = Field(alias="__typename")
    subject: str
    predicate: str
    object_: JsonValue = Field(alias="object")
    validity: "TypedFieldsTypedFactValidity"
    evidence: list["TypedFieldsTypedFactEvidence"] | None
    revisionPolicy: RevisionPolicy | None
    revision: Optional["TypedFieldsTypedFactRevision"]


class TypedFieldsTypedFactValidity(BaseModel):
    mode: ValidityMode
    conditions: JsonValue | None
    start: datetime | None
    end: datetime | None


class TypedFieldsTypedFactEvidence(BaseModel):
    kind: EvidenceKind | None
    ref: str | None
    timestamp: datetime | None
    hash: str | None


class TypedFieldsTypedFactRevision(BaseModel):
    supersedes: str | None
    supersededBy: str | None
    status: RecordState | None


class TypedFieldsTypedPlan(BaseModel):
    typename__: Literal["Plan"] = Field(alias="__typename")
    planId: str
    planVersion: str | None
    intent: str | None
    nodes: list["TypedFieldsTypedPlanNodes"]
    edges: list["TypedFieldsTypedPlanEdges"]
    constraints: JsonValue | None
    inputsSchema: JsonValue | None
    outputsSchema: JsonValue | None
    metrics: Optional["TypedFieldsTypedPlanMetrics"]


class TypedFieldsTypedPlanNodes(BaseModel):
    id: str
    op: str
    params: JsonValue | None
    guards: JsonValue | None
    label: str | None
    metrics: Optional["TypedFieldsTypedPlanNodesMetrics"]


class TypedFieldsTypedPlanNodesMetrics(BaseModel):
    executionCount: int | None
    failureCount: int | None


class TypedFieldsTypedPlanEdges(BaseModel):
    source: str
    target: str
    kind: PlanLinkKind


class TypedFieldsTypedPlanMetrics(BaseModel):
    avgLatencyMs: float | None
    failureRate: float | None
    executionCount: int | None
    lastExecutedAt: datetime | None


class TypedFieldsTypedWorkingState(BaseModel):
    typename__: Literal["WorkingState"] = Field(alias="__typename")
    threadId: str
    taskState: TaskState
    activeConstraints: list["TypedFieldsTypedWorkingStateActiveConstraints"] | None
    nextActions: list[str] | None
    openQuestions: list[str] | None
    contextSummary: str | None


class TypedFieldsTypedWorkingStateActiveConstraints(BaseModel):
    type_: str = Field(alias="type")
    key: str
    value: JsonValue | None
    required: bool | None
