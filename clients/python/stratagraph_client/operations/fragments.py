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
    entityId: Optional[str]
    candidateIds: list[str]


class ReceiptFieldsChanges(BaseModel):
    effect: ChangeEffect
    record: "ReceiptFieldsChangesRecord"


class ReceiptFieldsChangesRecord(BaseModel):
    id: str
    name: Optional[str]


class ReceiptFieldsTextReading(BaseModel):
    state: ReadingState
    attempts: int
    nextTryAt: Optional[datetime]


class ReceiptFieldsWarnings(BaseModel):
    code: WarningCode
    message: str
    path: list[str]


class RecordFields(BaseModel):
    id: str
    type_: MemoryType = Field(alias="type")
    state: RecordState
    version: int
    name: Optional[str]
    text: Optional[str]
    payload: Optional[JsonValue]
    scope: str
    sensitivity: Sensitivity
    tags: list[str]
    salience: float
    confidence: float
    conditions: Optional[JsonValue]
    redacted: bool
    createdAt: datetime
    updatedAt: datetime
    occurredAt: Optional[datetime]
    validFrom: Optional[datetime]
    validTo: Optional[datetime]


class RelationFields(BaseModel):
    id: str
    predicate: str
    inverse: str
    sourceId: str
    targetId: str
    weight: float
    createdAt: datetime


class CapturedFields(BaseModel):
    primaryRecord: "CapturedFieldsPrimaryRecord"
    createdRecords: list["CapturedFieldsCreatedRecords"]
    edges: list["CapturedFieldsEdges"]
    receipt: "CapturedFieldsReceipt"
    replayed: bool


class CapturedFieldsPrimaryRecord(RecordFields):
    pass


class CapturedFieldsCreatedRecords(RecordFields):
    pass


class CapturedFieldsEdges(RelationFields):
    pass


class CapturedFieldsReceipt(ReceiptFields):
    pass


class ChangeFields(BaseModel):
    position: str
    kind: ChangeKind
    at: datetime
    recordId: str
    record: Optional["ChangeFieldsRecord"]
    relationId: Optional[str]
    relation: Optional["ChangeFieldsRelation"]
    run: Optional["ChangeFieldsRun"]
    cause: Optional["ChangeFieldsCause"]


class ChangeFieldsRecord(RecordFields):
    pass


class ChangeFieldsRelation(RelationFields):
    pass


class ChangeFieldsRun(BaseModel):
    id: str
    state: ConsolidationRunState
    scope: str
    sensitivity: Sensitivity


class ChangeFieldsCause(BaseModel):
    action: str
    actor: str
    rationale: Optional[str]
    runId: Optional[str]


class FreshnessFields(BaseModel):
    engine: Engine
    fallback: Optional[str]
    mirrorLagSeconds: Optional[float]


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
    endCursor: Optional[str]


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
    record: "RevisedFieldsRecord"
    records: list["RevisedFieldsRecords"]
    edges: list["RevisedFieldsEdges"]
    receipt: "RevisedFieldsReceipt"
    queued: int
    replayed: bool


class RevisedFieldsRecord(RecordFields):
    pass


class RevisedFieldsRecords(RecordFields):
    pass


class RevisedFieldsEdges(RelationFields):
    pass


class RevisedFieldsReceipt(ReceiptFields):
    pass


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
    stages: list["RunFieldsStages"]
    groups: list["RunFieldsGroups"]


class RunFieldsStages(StageFields):
    pass


class RunFieldsGroups(BaseModel):
    scope: str
    sensitivity: Sensitivity
    episodes: int
    setAside: int
    undoneAt: Optional[datetime]
    undoneBy: Optional[str]
    canUndo: bool
    stages: list["RunFieldsGroupsStages"]


class RunFieldsGroupsStages(StageFields):
    pass


class TypedFields(BaseModel):
    typed: Optional[
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
    ]


class TypedFieldsTypedCompetence(BaseModel):
    typename__: Literal["Competence"] = Field(alias="__typename")
    skillName: str
    triggers: list["TypedFieldsTypedCompetenceTriggers"]
    recipe: list["TypedFieldsTypedCompetenceRecipe"]
    requiredTools: Optional[list[str]]
    failureModes: Optional[list[str]]
    fallbacks: Optional[list[str]]
    performance: Optional["TypedFieldsTypedCompetencePerformance"]
    skillVersion: Optional[str]
    lesson: Optional["TypedFieldsTypedCompetenceLesson"]


class TypedFieldsTypedCompetenceTriggers(BaseModel):
    signal: str
    conditions: Optional[JsonValue]


class TypedFieldsTypedCompetenceRecipe(BaseModel):
    step: str
    tool: Optional[str]
    argsSchema: Optional[JsonValue]
    validation: Optional[str]


class TypedFieldsTypedCompetencePerformance(BaseModel):
    successCount: Optional[int]
    failureCount: Optional[int]
    successRate: Optional[float]
    avgLatencyMs: Optional[float]
    lastUsedAt: Optional[datetime]


class TypedFieldsTypedCompetenceLesson(BaseModel):
    task: Optional[str]
    trigger: Optional[str]
    mistake: Optional[str]
    antiPattern: Optional[str]
    solution: Optional[str]
    correctPattern: Optional[str]
    codeExample: Optional[str]
    domains: Optional[list[str]]
    confidence: Optional[float]
    source: Optional[str]
    timestamp: Optional[datetime]
    verified: Optional[bool]
    verificationAttempted: Optional[bool]
    frequency: Optional[int]
    retrievals: Optional[int]
    helpfulRetrievals: Optional[int]
    lastRetrievedAt: Optional[datetime]


class TypedFieldsTypedEntity(BaseModel):
    typename__: Literal["Entity"] = Field(alias="__typename")
    canonicalName: str
    primaryType: Optional[str]
    types: Optional[list[str]]
    aliases: Optional[list["TypedFieldsTypedEntityAliases"]]
    identifiers: Optional[list["TypedFieldsTypedEntityIdentifiers"]]
    summary: Optional[str]


class TypedFieldsTypedEntityAliases(BaseModel):
    value: str
    kind: Optional[str]
    locale: Optional[str]


class TypedFieldsTypedEntityIdentifiers(BaseModel):
    namespace: str
    value: str


class TypedFieldsTypedEpisode(BaseModel):
    typename__: Literal["Episode"] = Field(alias="__typename")
    timeline: list["TypedFieldsTypedEpisodeTimeline"]
    toolGraph: Optional[list["TypedFieldsTypedEpisodeToolGraph"]]
    environment: Optional["TypedFieldsTypedEpisodeEnvironment"]
    outcome: Optional[Outcome]
    outcomeReason: Optional[str]
    artifacts: Optional[list[str]]
    toolGraphRef: Optional[str]


class TypedFieldsTypedEpisodeTimeline(BaseModel):
    t: datetime
    eventKind: str
    ref: str
    summary: Optional[str]
    content: Optional[JsonValue]


class TypedFieldsTypedEpisodeToolGraph(BaseModel):
    id: str
    tool: str
    args: Optional[JsonValue]
    result: Optional[JsonValue]
    timestamp: Optional[datetime]
    dependsOn: Optional[list[str]]


class TypedFieldsTypedEpisodeEnvironment(BaseModel):
    os: Optional[str]
    osVersion: Optional[str]
    toolVersions: Optional[JsonValue]
    workingDirectory: Optional[str]
    context: Optional[JsonValue]


class TypedFieldsTypedFact(BaseModel):
    typename__: Literal["Fact"] = Field(alias="__typename")
    subject: str
    predicate: str
    object_: JsonValue = Field(alias="object")
    validity: "TypedFieldsTypedFactValidity"
    evidence: Optional[list["TypedFieldsTypedFactEvidence"]]
    revisionPolicy: Optional[RevisionPolicy]
    revision: Optional["TypedFieldsTypedFactRevision"]


class TypedFieldsTypedFactValidity(BaseModel):
    mode: ValidityMode
    conditions: Optional[JsonValue]
    start: Optional[datetime]
    end: Optional[datetime]


class TypedFieldsTypedFactEvidence(BaseModel):
    kind: Optional[EvidenceKind]
    ref: Optional[str]
    timestamp: Optional[datetime]
    hash: Optional[str]


class TypedFieldsTypedFactRevision(BaseModel):
    supersedes: Optional[str]
    supersededBy: Optional[str]
    status: Optional[RecordState]


class TypedFieldsTypedPlan(BaseModel):
    typename__: Literal["Plan"] = Field(alias="__typename")
    planId: str
    planVersion: Optional[str]
    intent: Optional[str]
    nodes: list["TypedFieldsTypedPlanNodes"]
    edges: list["TypedFieldsTypedPlanEdges"]
    constraints: Optional[JsonValue]
    inputsSchema: Optional[JsonValue]
    outputsSchema: Optional[JsonValue]
    metrics: Optional["TypedFieldsTypedPlanMetrics"]


class TypedFieldsTypedPlanNodes(BaseModel):
    id: str
    op: str
    params: Optional[JsonValue]
    guards: Optional[JsonValue]
    label: Optional[str]
    metrics: Optional["TypedFieldsTypedPlanNodesMetrics"]


class TypedFieldsTypedPlanNodesMetrics(BaseModel):
    executionCount: Optional[int]
    failureCount: Optional[int]


class TypedFieldsTypedPlanEdges(BaseModel):
    source: str
    target: str
    kind: PlanLinkKind


class TypedFieldsTypedPlanMetrics(BaseModel):
    avgLatencyMs: Optional[float]
    failureRate: Optional[float]
    executionCount: Optional[int]
    lastExecutedAt: Optional[datetime]


class TypedFieldsTypedWorkingState(BaseModel):
    typename__: Literal["WorkingState"] = Field(alias="__typename")
    threadId: str
    taskState: TaskState
    activeConstraints: Optional[list["TypedFieldsTypedWorkingStateActiveConstraints"]]
    nextActions: Optional[list[str]]
    openQuestions: Optional[list[str]]
    contextSummary: Optional[str]


class TypedFieldsTypedWorkingStateActiveConstraints(BaseModel):
    type_: str = Field(alias="type")
    key: str
    value: Optional[JsonValue]
    required: Optional[bool]
