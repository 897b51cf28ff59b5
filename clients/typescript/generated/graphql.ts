/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** A reason for which a record is not in an answer. */
export type AbsenceReason =
  /** It says the same as a newer record, or quotes an event, that stands for it. */
  | 'DUPLICATE'
  /** A limit on nodes, edges or hops cut the expansion. */
  | 'LIMIT'
  /** It has words of the task, and too many records match them better. */
  | 'NOT_RANKED'
  /** No relation that was followed leads to it. */
  | 'NOT_REACHED'
  /** Neither its words nor its names match the task. */
  | 'NO_MATCH'
  /** It does not have a phrase in double quotes word for word. */
  | 'PHRASE'
  /** It is ranked below the last root. */
  | 'RANK'
  /** Its salience is below the request's least. */
  | 'SALIENCE'
  /** The request leaves its scope out. */
  | 'SCOPE'
  /** It is above the request's ceiling. */
  | 'SENSITIVITY'
  /** It is superseded or retracted. */
  | 'STATE'
  /** It covers some of the task, and no record covers enough of it for an answer. */
  | 'STRENGTH'
  /** It is of a thread that the request leaves out, or says the question word for word. */
  | 'THREAD'
  /** The request leaves its type out of the roots. */
  | 'TYPE'
  /** It did not exist at the instant asked for. */
  | 'UNKNOWN_THEN'
  /** It is a fact that no longer holds, or not yet. */
  | 'VALIDITY';

/** A message of a conversation. */
export type AgentTurnInput = {
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** Reference by which later captures may name it; may be empty. */
  ref?: string | null | undefined;
  /** Who speaks, such as user, assistant or a name. */
  role: string;
  /** Name of who speaks, where the role is not a name. */
  speaker?: string | null | undefined;
  /** What was said. */
  text: string;
  /** Thread to whose open episode it belongs. */
  threadId?: string | null | undefined;
};

/** Replace a record by a new one with some members of its payload changed, as `supersede` does with a whole payload. An entity or a working record is changed in place. */
export type AmendInput = {
  /** What changes in the payload, as a JSON merge patch (RFC 7396): members that are not named stay, null removes one, an object is patched member by member, and any other value, a list too, takes the place of the whole member. It is applied to the payload that the record has when it is changed. */
  changes: unknown;
  /** Sources of the change, added to those that the payload has. Required for a SEMANTIC record, unless `changes` has `evidence`; optional for others. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json. */
  evidence?: Array<unknown> | null | undefined;
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** A batch of captures, stored in one transaction: all of them or none. */
export type CaptureMemoriesInput = {
  /** The captures, 1 to 1,000, processed in this order. */
  items: Array<CaptureMemoryInput>;
};

/** One capture: something to remember. */
export type CaptureMemoryInput = {
  /**
   * The content, a JSON object of at most 1,048,576 bytes with `context`. Its keys by source kind:
   * EVENT {event_kind?, ref?, summary?, thread_id?};
   * TOOL_OUTPUT {tool_name, args, result, thread_id?, call_id?, depends_on?: [call_id], error?};
   * AGENT_TURN {role, text, thread_id?};
   * OBSERVATION {subject, predicate, object, validity?, conditions?, evidence?, revision_policy?};
   * WORKING_STATE {thread_id, state: planning | executing | blocked | waiting | done, next_actions?,
   * open_questions?, context_summary?, active_constraints?}, later only what changes, null to clear;
   * OUTCOME {thread_id | record_id, outcome_status: success | failure | partial, reason?};
   * EPISODE a whole episodic payload.
   * An OBSERVATION with the proposedType ENTITY, COMPETENCE or PLAN_GRAPH has a payload of that type as its content.
   * Any other key is kept. The JSON Schema of each kind is at /schemas/NAME.json, such as /schemas/tool_output.json.
   */
  content: unknown;
  /**
   * What the content names and refers to, a JSON object:
   * mentions: [name | {name, type?, identifiers?: [{namespace, value}], aliases?}];
   * references: [record id or ref | {ref, predicate?}];
   * artifacts: [artifact URI]; labels: [string]. Its JSON Schema is at /schemas/context.json.
   */
  context?: unknown;
  /** Key of at most 256 characters. A repeated request with the same key writes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Type of the record, where the source kind allows more than one; see `content`. */
  proposedType?: MemoryType | null | undefined;
  /** Reason, at most 10,000 characters; kept in the audit log. */
  reasonToRemember?: string | null | undefined;
  /** Scope of the record, at most 256 characters. Default: the credential's only scope, or unscoped for a credential of all scopes. */
  scope?: string | null | undefined;
  /** Sensitivity of the record. Default: LOW, or the credential's ceiling if lower. */
  sensitivity?: Sensitivity | null | undefined;
  /** Agent, tool or program that reports the content, 1 to 256 characters. */
  source: string;
  /** Kind of source; decides the type of the record. */
  sourceKind: SourceKind;
  /** Summary, at most 10,000 characters. Becomes the record's name; in a search its words weigh more than those of the content. */
  summary?: string | null | undefined;
  /** At most 64 labels of 1 to 256 characters each. */
  tags?: Array<string> | null | undefined;
  /** Instant at which the content happened. Default: now. */
  timestamp?: string | null | undefined;
};

/** What a capture or a revision did to a stored record. */
export type ChangeEffect =
  /** Its truth is in dispute until the contest is resolved. */
  | 'CONTESTED'
  /** It was observed again: it has more sources, and an active record more salience. */
  | 'REINFORCED'
  /** Its content or its state was changed in another way. */
  | 'REVISED'
  /** Another record took its place; it is kept as history. */
  | 'SUPERSEDED'
  /** Its effective validity begins or ends at another instant than before. */
  | 'TRIMMED';

/** Which changes to tell of. A field left out does not restrict them. Of a record that is gone only its scope and id are compared, so that no change to GONE is missed. */
export type ChangeFilter = {
  /** Only these records, relations from or to them, and these runs; UUIDs. */
  ids?: Array<string | number> | null | undefined;
  /** Only changes of these kinds. Without GONE, a reader keeps what is deleted. */
  kinds?: Array<ChangeKind> | null | undefined;
  /** Only records, relations and runs of these scopes; an empty text for unscoped. */
  scopes?: Array<string> | null | undefined;
  /** Only records that have all these tags, and relations that start from them. */
  tags?: Array<string> | null | undefined;
  /** Only the events, episodes and working states of this thread. */
  threadId?: string | null | undefined;
  /** Only records of these types, and relations that start from them. */
  types?: Array<MemoryType> | null | undefined;
};

/** What happened. */
export type ChangeKind =
  /** A record was stored. */
  | 'CREATED'
  /** A record that the caller could see was deleted, pruned or erased, or was made more sensitive than the caller may see. Its relations are gone with it. */
  | 'GONE'
  /** A relation was stored. */
  | 'RELATED'
  /** A run of learning has begun, finished or been undone in a group of records. */
  | 'RUN'
  /** A record has another state, such as SUPERSEDED. */
  | 'STATE'
  /** A relation was ended or deleted. */
  | 'UNRELATED'
  /** A record was changed, and its state was not, or is not shown because it is redacted. */
  | 'UPDATED';

/** How a line of a rendering names its record. */
export type CitationStyle =
  /** By a number, `[1]`, whose record is in `citations`. */
  | 'NUMBER'
  /** By its id, `[01980d6e-…]`, which takes 26 tokens. */
  | 'RECORD_ID';

/** How something is done. Lessons are given with `learnLesson`. */
export type CompetenceInput = {
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** How it is known to fail. */
  failureModes?: Array<string> | null | undefined;
  /** What to do where it fails. */
  fallbacks?: Array<string> | null | undefined;
  /** Statistics of its executions. */
  performance?: SkillPerformanceInput | null | undefined;
  /** The steps, in order. */
  recipe: Array<RecipeStepInput>;
  /** Tools that it needs, beside those of its steps. */
  requiredTools?: Array<string> | null | undefined;
  /** Name of the skill; its versions share it. */
  skillName: string;
  /** When the skill applies. */
  triggers: Array<SkillTriggerInput>;
  /** Label of the version. */
  version?: string | null | undefined;
};

/** How far a run has come in the groups that the caller may read. */
export type ConsolidationRunState =
  /** It has learned from all episodes that were due. */
  | 'FINISHED'
  /** It is running, or was stopped and will be resumed. */
  | 'RUNNING'
  /** It was undone. */
  | 'UNDONE';

/** Put a record in doubt. Give one of `because`, `contestingId` and `evidence`. */
export type ContestInput = {
  /** What puts it in doubt, in place of the two fields above. */
  because?: ContestReasonInput | null | undefined;
  /** Id of the record that contradicts it. That record is put in doubt as well, unless it is an episode. */
  contestingId?: string | number | null | undefined;
  /** Required without a `contestingId` or `because`, for every type. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json. */
  evidence?: Array<unknown> | null | undefined;
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** What puts a record in doubt: exactly one of these. */
export type ContestReasonInput =
  {   /** Sources that contradict it, 1 to 200. */
  evidence: Array<EvidenceInput>; recordId?: never; }
  |  { evidence?: never;   /** Id of the record that contradicts it, which is put in doubt as well, unless it is an episode. */
  recordId: string | number; };

/** What the content names and refers to. */
export type ContextInput = {
  /** URIs of artifacts, each sha256:…. */
  artifacts?: Array<string> | null | undefined;
  /** Topics of the content. */
  labels?: Array<string> | null | undefined;
  /** Names in the content, at most 256. */
  mentions?: Array<MentionInput> | null | undefined;
  /** Records that the content refers to, at most 256. */
  references?: Array<ReferenceInput> | null | undefined;
};

/** Credit the lessons of one playbook as helpful, or those in this credential's latest playbooks. Give `playbookId` or `windowSeconds`. */
export type CreditLessonsInput = {
  /** Those lessons of the playbook that helped, some of its `lessonIds`; null for all of them. Needs `playbookId`. */
  lessonIds?: Array<string | number> | null | undefined;
  /** `playbookId` of a playbook that this credential got: just its lessons are credited. */
  playbookId?: string | number | null | undefined;
  /** How far back playbooks are credited, in seconds, from 1 to 604,800. Default without a `playbookId`: 300. */
  windowSeconds?: number | null | undefined;
};

/** Curve by which salience decays between two salience events. */
export type DecayCurve =
  /** Follows a curve registered by name on the server. */
  | 'CUSTOM'
  /** Halves with every half-life. */
  | 'EXPONENTIAL'
  /** Falls in a straight line to one half at the half-life and to 0 at twice the half-life. */
  | 'LINEAR';

/** Delete a record with its history. Its audit log is kept. */
export type DeleteRecordInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** Rule for how a record may be deleted. Erasing ignores it. */
export type DeletionPolicy =
  /** Pruned by a background job once its salience is below 0.001; may be deleted. */
  | 'AUTO_PRUNE'
  /** Never pruned; may be deleted. */
  | 'MANUAL_ONLY'
  /** Never pruned; deleting it is refused with DELETION_FORBIDDEN. */
  | 'NEVER';

/** Engine that traversed the graph. Both return the same answer. */
export type Engine =
  /** The Neo4j mirror; every row was read again from PostgreSQL. */
  | 'NEO4J'
  /** PostgreSQL, the store of record. */
  | 'SQL';

/** Another name of an entity. */
export type EntityAliasInput = {
  /** Kind of the name, such as nickname. */
  kind?: string | null | undefined;
  /** Language of the name, such as de. */
  locale?: string | null | undefined;
  /** The other name. */
  value: string;
};

/** An identifier of an entity. */
export type EntityIdentifierInput = {
  /** Where the identifier is unique, such as email. */
  namespace: string;
  /** The identifier itself. */
  value: string;
};

/** Who or what is named. */
export type EntityInput = {
  /** Other names. */
  aliases?: Array<EntityAliasInput> | null | undefined;
  /** The name by which it is shown. */
  canonicalName: string;
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** Identifiers, each unique in its namespace. */
  identifiers?: Array<EntityIdentifierInput> | null | undefined;
  /** Its type, such as Person; the list is open. */
  primaryType?: string | null | undefined;
  /** What it is, in a sentence. */
  summary?: string | null | undefined;
  /** Further types. */
  types?: Array<string> | null | undefined;
};

/** Where an episode happened. */
export type EnvironmentInput = {
  /** Anything else of the environment. */
  context?: unknown;
  /** Operating system. */
  os?: string | null | undefined;
  /** Version of the operating system. */
  osVersion?: string | null | undefined;
  /** Versions of tools, by name. */
  toolVersions?: unknown;
  /** Directory in which it ran. */
  workingDirectory?: string | null | undefined;
};

/** A whole, finished episode, with at least one event or tool call. */
export type EpisodeInput = {
  /** URIs of artifacts that belong to it. */
  artifacts?: Array<string> | null | undefined;
  /** Where it happened. */
  environment?: EnvironmentInput | null | undefined;
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** How it ended; absent while that is not known. */
  outcome?: Outcome | null | undefined;
  /** Why it ended so. */
  outcomeReason?: string | null | undefined;
  /** Reference by which later captures may name it; may be empty. */
  ref?: string | null | undefined;
  /** Thread that it was. */
  threadId?: string | null | undefined;
  /** The events, in any order. */
  timeline?: Array<TimelineEventInput> | null | undefined;
  /** The tool calls, and which of them depend on which. */
  toolGraph?: Array<ToolCallInput> | null | undefined;
  /** Reference of a tool graph that is kept elsewhere. */
  toolGraphRef?: string | null | undefined;
};

/** What to erase: exactly one of `target`, `recordId`, `entityId`, `scope` and `tenant`. */
export type EraseInput = {
  /** Id of the entity to erase, with every record linked to it. Needs admin access, the ceiling HYPER and all scopes. */
  entityId?: string | number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key erases nothing and returns the first receipt. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters. It is kept in the receipt, so it must not repeat what is erased. */
  rationale: string;
  /** Id of the record to erase, with the records derived from it alone; an episode with its members. Needs write access. */
  recordId?: string | number | null | undefined;
  /** Name of the scope whose records to erase. Needs admin access, the ceiling HYPER, and that scope or all scopes. */
  scope?: string | null | undefined;
  /** What to erase, in place of the four fields below. */
  target?: EraseTargetInput | null | undefined;
  /** Name of the credential's own tenant, to erase with its keys and credentials. Needs admin access, the ceiling HYPER and all scopes. */
  tenant?: string | null | undefined;
};

/** What to erase: exactly one of these. */
export type EraseTargetInput =
  {   /** Id of the entity, which is erased with every record linked to it. Needs admin access, the ceiling HYPER and all scopes. */
  entityId: string | number; recordId?: never; scope?: never; tenant?: never; }
  |  { entityId?: never;   /** Id of the record, which is erased with the records derived from it alone; an episode with its members. Needs write access. */
  recordId: string | number; scope?: never; tenant?: never; }
  |  { entityId?: never; recordId?: never;   /** Name of the scope whose records are erased. Needs admin access, the ceiling HYPER, and that scope or all scopes. */
  scope: string; tenant?: never; }
  |  { entityId?: never; recordId?: never; scope?: never;   /** Name of the credential's own tenant, which is erased with its keys and credentials. Needs admin access, the ceiling HYPER and all scopes. */
  tenant: string; };

/** Code of an error that a caller can act on. */
export type ErrorCode =
  /** The stored bytes do not match their hash; upload the artifact again. */
  | 'ARTIFACT_DAMAGED'
  /** Another active fact holds at the same time; make the conditions exclusive. */
  | 'CONDITIONS_OVERLAP'
  /** The operation did not end in time and was stopped; ask for less, or try again. */
  | 'DEADLINE_EXCEEDED'
  /** The record's deletion policy is NEVER. */
  | 'DELETION_FORBIDDEN'
  /** An episodic record cannot be edited; revise what was derived from it. */
  | 'EPISODIC_IMMUTABLE'
  /** The operation needs at least one source as evidence. */
  | 'EVIDENCE_REQUIRED'
  /** The credential does not allow the operation. */
  | 'FORBIDDEN'
  /** The idempotency key belongs to another request; choose a new key. */
  | 'IDEMPOTENCY_MISMATCH'
  /** A defect of the service; the server log has it under `extensions.reference`. */
  | 'INTERNAL'
  /** An input field is not valid; correct the field that `path` names. */
  | 'INVALID_INPUT'
  /** The request is over a size limit; send less. */
  | 'LIMIT_EXCEEDED'
  /** The record does not exist, or is not visible to the caller. */
  | 'NOT_FOUND'
  /** The changes after the position are no longer kept; read the present state. */
  | 'POSITION_EXPIRED'
  /** The credential has used up its share; wait `retryAfter` seconds. */
  | 'RATE_LIMITED'
  /** No valid credential was sent. */
  | 'UNAUTHENTICATED'
  /** The database cannot be reached or is too busy; retry with back-off. */
  | 'UNAVAILABLE'
  /** The record has changed since it was read; read it again and decide again. */
  | 'VERSION_CONFLICT';

/** Something that happened. */
export type EventInput = {
  /** Kind of the event, such as deployment. */
  eventKind?: string | null | undefined;
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** Reference by which later captures may name it; may be empty. */
  ref?: string | null | undefined;
  /** What happened, a text; its words find the record. */
  summary?: string | null | undefined;
  /** What was said or written, in place of a summary. */
  text?: string | null | undefined;
  /** Thread to whose open episode it belongs. */
  threadId?: string | null | undefined;
};

/** A source. */
export type EvidenceInput = {
  /** Hash of the source's content, such as an artifact's. */
  hash?: string | null | undefined;
  /** Kind of the source. */
  kind: EvidenceKind;
  /** Reference of the source: a record's id, or any other. */
  ref: string;
  /** Instant at which the source arose. */
  timestamp?: string | null | undefined;
};

/** Kind of a source. */
export type EvidenceKind =
  /** A file or a document. */
  | 'ARTIFACT'
  /** Something that happened, such as a message. */
  | 'EVENT'
  /** A person who said so. */
  | 'HUMAN'
  /** A fact that was observed, such as a record. */
  | 'OBSERVATION'
  /** How a task ended. */
  | 'OUTCOME'
  /** A call of a tool. */
  | 'TOOL_CALL';

/** Whether a revision needs evidence. */
export type EvidenceNeed =
  /** It takes none. */
  | 'NONE'
  /** It takes evidence and needs none. */
  | 'OPTIONAL'
  /** It needs evidence, in `evidence` or in the payload, else EVIDENCE_REQUIRED. */
  | 'REQUIRED'
  /** It needs evidence unless another record is the reason. */
  | 'WITHOUT_RECORD';

/** A fact; it always holds unless `validity` or `conditions` say otherwise. */
export type FactInput = {
  /** Conditions under which it holds, as {key: value or [values]}. */
  conditions?: unknown;
  /** Its sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. */
  evidence?: Array<EvidenceInput> | null | undefined;
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** The value, any JSON value but null; a text may name an entity. */
  object: unknown;
  /** Type of the entity that the object names, such as Person. */
  objectType?: string | null | undefined;
  /** What is said, such as works_at. */
  predicate: string;
  /** What becomes of facts that contradict it: they are replaced, none may, or both are in dispute. */
  revisionPolicy?: RevisionPolicy | null | undefined;
  /** Whom or what the fact is about. */
  subject: string;
  /** When it holds; by default always. */
  validity?: ValidityInput | null | undefined;
};

/** Add a variant of a record for conditions under which the record does not hold. */
export type ForkInput = {
  /** Conditions under which the variant holds, {key: value or [values]}. They must exclude those of every other active fact of the subject and predicate. */
  conditions: unknown;
  /** Required for a SEMANTIC record, unless the payload has `evidence`; optional for others. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json. */
  evidence?: Array<unknown> | null | undefined;
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** The complete payload of the variant, in the canonical form of the record's type, whose JSON Schema is at /schemas/NAME.json. */
  payload: unknown;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** Add a variant of a record with a typed payload; `fork` takes it as JSON. */
export type ForkRecordInput = {
  /** Conditions under which the variant holds, {key: value or [values]}. They must exclude those of every other active fact of the subject and predicate. */
  conditions: unknown;
  /** At most 200 sources; required for a fact. */
  evidence?: Array<EvidenceInput> | null | undefined;
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
  /** The complete payload of the variant, of the record's type. */
  variant: PayloadInput;
};

/** A part of time. */
export type InstantRange = {
  /** The instant before which it ends; null for all time since `from`. */
  before?: string | null | undefined;
  /** Its first instant; null for all time before `before`. */
  from?: string | null | undefined;
};

/** Why undoing a run left a record as it is. */
export type KeptReason =
  /** Another record has taken its place, or its sources are no longer valid. */
  | 'DISPLACED'
  /** Its content or state was changed since. */
  | 'REVISED'
  /** Its salience was changed since, and stays; its content was restored. */
  | 'SALIENCE'
  /** An entity that other records name by now. */
  | 'USED';

/** Let learning read the episodes of an undone run again. */
export type LearnAgainInput = {
  /** Id of the undone run, as `consolidationRuns` lists it, a UUID. */
  id: string | number;
};

/** A lesson from a mistake: what the task was, what went wrong, and what to do instead. */
export type LearnLessonInput = {
  /** What to avoid in general, at most 2,000 characters. */
  antiPattern?: string | null | undefined;
  /** Code that shows it, at most 10,000 characters. */
  codeExample?: string | null | undefined;
  /** Conditions of its trigger, a JSON object, which `retrieveGraph` selects by. */
  conditions?: unknown;
  /** How sure the lesson is, from 0 to 1. Default: 0.7. */
  confidence?: number | null | undefined;
  /** What to do in general, at most 2,000 characters. */
  correctPattern?: string | null | undefined;
  /** Fields that it belongs to, at most 32, of 1 to 256 characters each. */
  domains?: Array<string> | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** What went wrong, at most 2,000 characters. */
  mistake?: string | null | undefined;
  /** Scope of the lesson, at most 256 characters. Default: the credential's only scope, or unscoped for a credential of all scopes. */
  scope?: string | null | undefined;
  /** Sensitivity of the lesson. Default: LOW, or the credential's ceiling if lower. */
  sensitivity?: Sensitivity | null | undefined;
  /** What to do, 1 to 2,000 characters. */
  solution: string;
  /** Where it comes from, such as `self_play`, at most 256 characters. Default: `lesson`. */
  source?: string | null | undefined;
  /** Hash of the challenge that taught it, at most 256 characters. */
  sourceChallengeHash?: string | null | undefined;
  /** At most 64 labels of 1 to 256 characters each. */
  tags?: Array<string> | null | undefined;
  /** What was to be done, 1 to 1,900 characters. A lesson of the same scope and sensitivity with an equal task, ignoring case, accents and spacing, is merged with this one. */
  task: string;
  /** Instant at which it was learned. Default: now. */
  timestamp?: string | null | undefined;
  /** When the lesson applies, at most 2,000 characters. Without an embedder, a question finds the lesson by these words. Default: the task. */
  trigger?: string | null | undefined;
  /** Whether it was verified. Stored as false without access admin; another caller then verifies it with `verifyLesson`. Default: false. */
  verified?: boolean | null | undefined;
};

/** How far back lessons are listed. */
export type LessonWindow =
  /** All of them. */
  | 'ALL'
  /** Since midnight, local time. */
  | 'TODAY'
  /** Since the same local time seven days ago. */
  | 'WEEK';

/** What to remember: exactly one of these; it decides the type of the record. */
export type MemoryInput =
  {   /** A message of a conversation; becomes an EPISODIC record. */
  agentTurn: AgentTurnInput; competence?: never; entity?: never; episode?: never; event?: never; fact?: never; outcome?: never; plan?: never; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never;   /** How something is done; becomes a COMPETENCE record. */
  competence: CompetenceInput; entity?: never; episode?: never; event?: never; fact?: never; outcome?: never; plan?: never; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never; competence?: never;   /** Who or what is named; becomes an ENTITY record. */
  entity: EntityInput; episode?: never; event?: never; fact?: never; outcome?: never; plan?: never; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never; competence?: never; entity?: never;   /** A whole episode; becomes one EPISODIC record. */
  episode: EpisodeInput; event?: never; fact?: never; outcome?: never; plan?: never; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never; competence?: never; entity?: never; episode?: never;   /** Something that happened; becomes an EPISODIC record. */
  event: EventInput; fact?: never; outcome?: never; plan?: never; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never; competence?: never; entity?: never; episode?: never; event?: never;   /** A fact that was observed; becomes a SEMANTIC record. */
  fact: FactInput; outcome?: never; plan?: never; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never; competence?: never; entity?: never; episode?: never; event?: never; fact?: never;   /** How an episode ended; closes it, and creates no record. */
  outcome: OutcomeInput; plan?: never; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never; competence?: never; entity?: never; episode?: never; event?: never; fact?: never; outcome?: never;   /** Which actions solve something; becomes a PLAN_GRAPH record. */
  plan: PlanInput; toolOutput?: never; workingState?: never; }
  |  { agentTurn?: never; competence?: never; entity?: never; episode?: never; event?: never; fact?: never; outcome?: never; plan?: never;   /** A call of a tool; becomes an EPISODIC record. */
  toolOutput: ToolOutputInput; workingState?: never; }
  |  { agentTurn?: never; competence?: never; entity?: never; episode?: never; event?: never; fact?: never; outcome?: never; plan?: never; toolOutput?: never;   /** The state of a task; creates or changes a WORKING record. */
  workingState: WorkingStateInput; };

/** Type of a record: which question it answers. */
export type MemoryType =
  /** How to do something: a procedure with its triggers and steps. */
  | 'COMPETENCE'
  /** A person or thing that other records name. */
  | 'ENTITY'
  /** What happened: an event, a tool call, a message, or a whole episode. */
  | 'EPISODIC'
  /** A plan that solved a task: a directed acyclic graph of actions. */
  | 'PLAN_GRAPH'
  /** What is true: a fact of subject, predicate and object. */
  | 'SEMANTIC'
  /** What a thread is doing now: its state, next actions and open questions. */
  | 'WORKING';

/** A name in the content, and what is known of it. */
export type MentionInput = {
  /** Other names of the entity. */
  aliases?: Array<string> | null | undefined;
  /** Identifiers of the entity. */
  identifiers?: Array<EntityIdentifierInput> | null | undefined;
  /** The name as the content gives it. */
  name: string;
  /** Type of the entity, such as Person. */
  type?: string | null | undefined;
};

/** What became of a name in a capture. */
export type MentionOutcome =
  /** Several entities fit equally well, or its identifier belongs to an entity that contradicts it; it was linked to none. */
  | 'AMBIGUOUS'
  /** A new entity was created for it. */
  | 'CREATED'
  /** It means an entity that existed and learned nothing new. */
  | 'MATCHED'
  /** It means an entity that existed and learned names, identifiers, types or fields from it. */
  | 'TAUGHT';

/** Merge records with the same content into one, with the sources and relations of all. */
export type MergeInput = {
  /** For the first record. Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** The payload, typed; give either this or `payload`. */
  merged?: PayloadInput | null | undefined;
  /** Payload of the merged record. Default: the payload of the leading record, for entities with the names and identifiers of all. */
  payload?: unknown;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Ids of the records to merge, 2 to 50, of one type and scope. Entities must also have one sensitivity, and are merged into the one with the most current facts, the first of several. Other records are replaced by a new one; the most sensitive leads, the first of several. */
  recordIds: Array<string | number>;
};

/** A range of numbers from 0 to 1, its ends included. */
export type NumberRange = {
  /** The least number; null for 0. */
  least?: number | null | undefined;
  /** The greatest number; null for 1. */
  most?: number | null | undefined;
};

/** What the objects of a predicate are. */
export type ObjectKind =
  /** Each object is judged by its form: a string is linked to an entity that has this name. */
  | 'ANY'
  /** Names of entities, which are created where they are unknown. */
  | 'ENTITY'
  /** Values that never name an entity. */
  | 'LITERAL';

/** How a task ended. */
export type Outcome =
  /** It was not done. */
  | 'FAILURE'
  /** A part of it was done. */
  | 'PARTIAL'
  /** It was done. */
  | 'SUCCESS';

/** How an episode ended; give either `threadId` or `recordId`. */
export type OutcomeInput = {
  /** How it ended. */
  outcomeStatus: Outcome;
  /** Why it ended so. */
  reason?: string | null | undefined;
  /** Id of the episode that it closes, a UUID. */
  recordId?: string | number | null | undefined;
  /** Thread whose episode it closes. */
  threadId?: string | null | undefined;
};

/** The payload of a record: exactly one of these, that of the record's type. */
export type PayloadInput =
  {   /** Payload of a COMPETENCE record. */
  competence: CompetenceInput; entity?: never; fact?: never; plan?: never; workingState?: never; }
  |  { competence?: never;   /** Payload of an ENTITY record. */
  entity: EntityInput; fact?: never; plan?: never; workingState?: never; }
  |  { competence?: never; entity?: never;   /** Payload of a SEMANTIC record. */
  fact: FactInput; plan?: never; workingState?: never; }
  |  { competence?: never; entity?: never; fact?: never;   /** Payload of a PLAN_GRAPH record. */
  plan: PlanInput; workingState?: never; }
  |  { competence?: never; entity?: never; fact?: never; plan?: never;   /** Payload of a WORKING record. */
  workingState: WorkingStateInput; };

/** Lower the salience of a record, but not below its floor. */
export type PenalizeInput = {
  /** Amount to subtract from the salience; finite and at least 0. */
  amount: number;
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** Pin or unpin a record. A pinned record keeps its present salience. */
export type PinInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** True to hold the salience at its present value; false to let it decay again from there. */
  pinned: boolean;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** A dependency between two steps of a plan. */
export type PlanEdgeInput = {
  /** Whether the later step uses the output of the first, or only waits for it. */
  kind: PlanLinkKind;
  /** Id of the step that comes first. */
  source: string;
  /** Id of the step that comes after it. */
  target: string;
};

/** Which actions solve something. */
export type PlanInput = {
  /** Conditions under which the plan applies, as {key: value or [values]}. */
  constraints?: unknown;
  /** Dependencies between steps; they form no cycle. */
  edges: Array<PlanEdgeInput>;
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** JSON Schema of the inputs. */
  inputsSchema?: unknown;
  /** What the plan is for. */
  intent?: string | null | undefined;
  /** Statistics of its executions. */
  metrics?: PlanPerformanceInput | null | undefined;
  /** The steps; at least one. */
  nodes: Array<PlanNodeInput>;
  /** JSON Schema of the outputs. */
  outputsSchema?: unknown;
  /** Name of the plan; its versions share it. */
  planId: string;
  /** Label of the version. */
  version: string;
};

/** Kind of dependency between two steps of a plan. */
export type PlanLinkKind =
  /** The source step must finish before the target step starts. */
  | 'CONTROL'
  /** The target step uses the output of the source step. */
  | 'DATA';

/** A step of a plan. */
export type PlanNodeInput = {
  /** Conditions under which the step is taken. */
  guards?: unknown;
  /** Id of the step, unique within the plan. */
  id: string;
  /** Caption in a drawing. */
  label?: string | null | undefined;
  /** What the step does; one word names a tool. */
  op: string;
  /** Parameters; tool names the tool. */
  params?: unknown;
};

/** Statistics of a plan. */
export type PlanPerformanceInput = {
  /** Mean duration in milliseconds. */
  avgLatencyMs?: number | null | undefined;
  /** Number of executions, from 0. */
  executionCount?: number | null | undefined;
  /** Share of executions that failed, from 0 to 1. */
  failureRate?: number | null | undefined;
  /** Instant of the last execution. */
  lastExecutedAt?: string | null | undefined;
};

/** What a step of a drawn plan is. */
export type PlanStepKind =
  /** A step whose operation is described in several words. */
  | 'ACTION'
  /** Several steps, shown as one because the plan is large. */
  | 'GROUP'
  /** A step that uses a tool: its `params.tool`, or its `op` if that is one word. */
  | 'TOOL';

/** What is known of the executions of a plan's step. */
export type PlanStepStatus =
  /** Every known execution failed. */
  | 'FAILED'
  /** Every known execution succeeded. */
  | 'SUCCEEDED'
  /** Some of the known executions failed. */
  | 'UNRELIABLE'
  /** Nothing has been learned of it. */
  | 'UNTRIED';

/** A skill or plan by its name, and one of its versions. */
export type ProcedureHandle = {
  /** The `skill_name` of the skill, or the `plan_id` of the plan. */
  name: string;
  /** Label of the version; null for the newest current one, else the newest. */
  version?: string | null | undefined;
};

/** How far a language model has come with reading the text of a record. */
export type ReadingState =
  /** It was read. */
  | 'DONE'
  /** It waits to be read, or is being read. */
  | 'QUEUED'
  /** It could not be read, and is tried again at `nextTryAt`. */
  | 'SET_ASIDE';

/** A step of a skill. */
export type RecipeStepInput = {
  /** JSON Schema of the tool's arguments. */
  argsSchema?: unknown;
  /** What to do. */
  step: string;
  /** Tool that the step uses. */
  tool?: string | null | undefined;
  /** How to tell that the step worked. */
  validation?: string | null | undefined;
};

/** Which records to list: those that fit all fields. A field left out or null does not restrict the list, and an empty list leaves nothing, but for `types` and `tags.all`. */
export type RecordFilter = {
  /** Only records as certain as this. */
  confidence?: NumberRange | null | undefined;
  /** Only records that were stored then. */
  created?: InstantRange | null | undefined;
  /** Only records with these ids, at most 1,000. */
  ids?: Array<string | number> | null | undefined;
  /** Only records whose name begins with this, ignoring case, accents and spacing. Redacted records are left out. */
  namePrefix?: string | null | undefined;
  /** Only records that happened then. */
  occurred?: InstantRange | null | undefined;
  /** Only facts with this predicate, in any spelling: `Works At` is `works_at`. Redacted records are left out. */
  predicate?: string | null | undefined;
  /** Only records that matter as much as this, at the instant of the first page. */
  salience?: NumberRange | null | undefined;
  /**
   * Only records of this scope; empty for unscoped.
   * @deprecated Since 0.1.0, use `scopes`.
   */
  scope?: string | null | undefined;
  /** Only records of these scopes, at most 100; an empty text is for unscoped records. */
  scopes?: Array<string> | null | undefined;
  /** Only facts that are or were in the slot of this fact: those of its subject and predicate, in its scope and sensitivity, in any state. None where the caller may not read it in full, or it is no fact. */
  slotOf?: string | number | null | undefined;
  /** Only records with a source of exactly this `ref` or `createdBy`. Redacted records are left out. */
  source?: string | null | undefined;
  /** Only records in these states. Redacted records are left out. */
  states?: Array<RecordState> | null | undefined;
  /** Only facts about this: the id of an entity, its name or an alias, or a text that is no entity. Redacted records are left out. */
  subject?: string | null | undefined;
  /**
   * Only records that have this tag.
   * @deprecated Since 0.1.0, use `tags`.
   */
  tag?: string | null | undefined;
  /** Only records with these tags. */
  tags?: TagFilter | null | undefined;
  /** Only the events, the episodes and the working state of this thread. Redacted records are left out. */
  threadId?: string | null | undefined;
  /** Only records of these types; empty for all. */
  types?: Array<MemoryType> | null | undefined;
  /** Only records last changed then. */
  updated?: InstantRange | null | undefined;
  /** Only records that were stored or changed at this instant or later. */
  updatedSince?: string | null | undefined;
  /** Of the facts, only those that held at this instant, superseded ones included and retracted ones not; redacted ones are not compared. Other records are listed as without it. */
  validAt?: string | null | undefined;
};

/** The name by which a record was captured; exactly one of these. */
export type RecordHandle =
  {   /** Name and version of a plan. */
  plan: ProcedureHandle; ref?: never; skill?: never; working?: never; }
  |  { plan?: never;   /** The `ref` of an event. */
  ref: string; skill?: never; working?: never; }
  |  { plan?: never; ref?: never;   /** Name and version of a skill. */
  skill: ProcedureHandle; working?: never; }
  |  { plan?: never; ref?: never; skill?: never;   /** The `thread_id` of a working state. */
  working: string; };

/** Order of a list of records; those of equal place are in the order of their ids. */
export type RecordOrder =
  /** The oldest first. */
  | 'CREATED_ASC'
  /** The newest first. */
  | 'CREATED_DESC'
  /** By name, ignoring case and accents; redacted records last. */
  | 'NAME_ASC'
  /** By name backwards; redacted records first. */
  | 'NAME_DESC'
  /** The last that happened last. */
  | 'OCCURRED_ASC'
  /** The last that happened first. */
  | 'OCCURRED_DESC'
  /** The least salient first, at the instant of the first page. */
  | 'SALIENCE_ASC'
  /** The most salient first, at the instant of the first page. */
  | 'SALIENCE_DESC'
  /** The last changed last. */
  | 'UPDATED_ASC'
  /** The last changed first. */
  | 'UPDATED_DESC';

/** State of a record. ACTIVE and CONTESTED records are part of the current truth. */
export type RecordState =
  /** Part of the current truth. */
  | 'ACTIVE'
  /** Part of the current truth, but in doubt: another record contests it, or no source of it is valid any more. */
  | 'CONTESTED'
  /** Withdrawn without a replacement; salience 0, kept as history. */
  | 'RETRACTED'
  /** Replaced by another record; salience 0, kept as history. */
  | 'SUPERSEDED';

/** Another record that the content refers to. */
export type ReferenceInput = {
  /** Name of the relation to it. Default: references_record. */
  predicate?: string | null | undefined;
  /** Id of the record, or the ref that it was captured with. */
  ref: string;
};

/** Raise the salience of a record by its reinforcement gain, to at most 1. */
export type ReinforceInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** Note that two records do not say the same. */
export type RejectDuplicateInput = {
  /** For the first record. Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Ids of the two records, UUIDs. They must be of one type, scope and sensitivity. */
  recordIds: Array<string | number>;
};

/** Several things to remember, stored in one transaction: all of them or none. */
export type RememberAllInput = {
  /** The things to remember, 1 to 1,000, processed in this order. */
  items: Array<RememberInput>;
};

/** Something to remember, with typed content; `captureMemory` takes it as JSON. */
export type RememberInput = {
  /** What the content names and refers to. */
  context?: ContextInput | null | undefined;
  /** Key of at most 256 characters. A repeated request with the same key writes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** The content, by its kind. */
  memory: MemoryInput;
  /** Reason, at most 10,000 characters; kept in the audit log. */
  reasonToRemember?: string | null | undefined;
  /** Scope of the record, at most 256 characters. Default: the credential's only scope, or unscoped for a credential of all scopes. */
  scope?: string | null | undefined;
  /** Sensitivity of the record. Default: LOW, or the credential's ceiling if lower. */
  sensitivity?: Sensitivity | null | undefined;
  /** Agent, tool or program that reports the content, 1 to 256 characters. */
  source: string;
  /** Summary, at most 10,000 characters. Becomes the record's name; in a search its words weigh more than those of the content. */
  summary?: string | null | undefined;
  /** At most 64 labels of 1 to 256 characters each. */
  tags?: Array<string> | null | undefined;
  /** Instant at which the content happened. Default: now. */
  timestamp?: string | null | undefined;
};

/** Remove a lesson that is wrong. It is retracted, and stays as history. */
export type RemoveLessonInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the lesson, a UUID. */
  recordId: string | number;
};

/** What came of the task that a retrieval was for. */
export type ReportOutcomeInput = {
  /** Duration of the task in milliseconds, from 0 to 10000000000, for the statistics of the procedures and plans used; null if unknown. */
  latencyMs?: number | null | undefined;
  /** How the task ended. */
  outcome: Outcome;
  /** `retrievalId` of a retrieval by the same credential, a UUID. Its outcome can be reported once, within 7 days. */
  retrievalId: string | number;
  /** Outcomes of single steps of the plans used, at most 1,000, each step once. */
  steps?: Array<StepOutcomeInput> | null | undefined;
  /** Ids of the returned records that were used, at most 1,000; empty if none was. */
  usedRecordIds: Array<string | number>;
};

/** What came of several tasks; all is reported or nothing. */
export type ReportOutcomesInput = {
  /** The reports, 1 to 100, each on another retrieval. Errors name the item in `path`. */
  items: Array<ReportOutcomeInput>;
};

/** End the contest of a record. */
export type ResolveContestInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
  /** Id of the record that holds: the contested record or one that contests it. Null: none of them holds, and all are retracted. */
  winnerId?: string | number | null | undefined;
};

/** Retire lessons that do not help. */
export type RetireLessonsInput = {
  /** Part of the unhelpful lessons to retire, from 0 to 1, those of the least utility; rounded up, at each sensitivity by itself. */
  fraction?: number;
  /** Retrievals, from 1, from which a lesson counts as unhelpful if (helpful + 1) / (retrievals + 2) is below 0.35. */
  minRetrievals?: number;
  /** Scope of the lessons. Default: the credential's only scope, or unscoped for a credential of all scopes. */
  scope?: string | null | undefined;
};

/** Withdraw a record that was wrong, without a replacement. */
export type RetractInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** A task in words, and how many records around it to return. */
export type RetrieveGraphInput = {
  /** A past instant. The answer is what it would have been then, salience and ranking included, as far as the records are visible to the caller both then and now. Entities are found by the names they have now. */
  asOf?: string | null | undefined;
  /** `sequence` of a receipt; the answer reflects at least that write. */
  atLeastSequence?: string | null | undefined;
  /** How the lines of `rendering` name their records: by id, the default, or by a short number. */
  citationStyle?: CitationStyle | null | undefined;
  /** Conditions that hold, as a JSON object; `selection` compares them with those of procedures and plans. */
  context?: unknown;
  /** Maximum number of relations to return, from 0 to 5,000; the default is 100. */
  edgeLimit?: number | null | undefined;
  /** Threads whose records are left out, as the one in which the question was asked; at most 20. */
  excludeThreadIds?: Array<string> | null | undefined;
  /** Types of the records that may be reached at each hop: the first list for the first hop from the roots, and so on, at most `maxHops` lists. An empty list, and a hop without one, is any type. A relation is followed at a hop only to records of its types; of a record with more than 100 relations in a direction, the 100 heaviest of all are looked at. */
  hopTypes?: Array<Array<MemoryType>> | null | undefined;
  /** Maximum distance of a node from its nearest root, in hops, from 0 to 6; the default is 1. */
  maxHops?: number | null | undefined;
  /** Ceiling to apply; at most the credential's own. Null for the credential's own. */
  maxSensitivity?: Sensitivity | null | undefined;
  /** Types that roots may have; null or an empty list for any. Other nodes may have any type. */
  memoryTypes?: Array<MemoryType> | null | undefined;
  /** Salience that a returned record must have at least, from 0 to 1; null for any. */
  minSalience?: number | null | undefined;
  /** Strength that a root must have at least, from 0 to 1. Null leaves weak roots in, and makes the answer empty only if nothing fits; 0 returns whatever shares a word. */
  minStrength?: number | null | undefined;
  /** Maximum number of nodes to return, roots included, from 1 to 1,000; the default is 25. */
  nodeLimit?: number | null | undefined;
  /** Maximum number of roots to return, from 1 to 100; the default is 10. */
  rootLimit?: number | null | undefined;
  /** Scopes to search, besides unscoped records; each must be one of the credential's. Null for all of them. */
  scopes?: Array<string> | null | undefined;
  /** The task or question in plain words, 1 to 20,000 characters. */
  taskDescriptor: string;
  /** Maximum length of `rendering` in tokens, from 1 to 1,000,000; null for no rendering. */
  tokenBudget?: number | null | undefined;
  /** An instant at which the facts of the answer must have held, instead of now: what held then, past and superseded facts included. Other records are found as without it. With `asOf`, of the facts that were current as of that instant. */
  validAt?: string | null | undefined;
};

/** Several revisions, made in their order and in one transaction: all of them or none. */
export type ReviseRecordsInput = {
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. It is that of all items together. */
  idempotencyKey?: string | null | undefined;
  /** The revisions, 1 to 100, without idempotency keys of their own. Each is made after the ones before it. Errors name the item in `path`. */
  items: Array<RevisionInput>;
};

/** One revision: exactly one of these fields, the input of its mutation. */
export type RevisionInput =
  {   /** As `amend`. */
  amend: AmendInput; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never;   /** As `contest`. */
  contest: ContestInput; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never;   /** As `fork`. */
  fork: ForkInput; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never;   /** As `merge`. */
  merge: MergeInput; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never;   /** As `penalize`. */
  penalize: PenalizeInput; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never;   /** As `pin`. */
  pin: PinInput; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never;   /** As `reinforce`. */
  reinforce: ReinforceInput; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never;   /** As `rejectDuplicate`. */
  rejectDuplicate: RejectDuplicateInput; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never;   /** As `removeLesson`. */
  removeLesson: RemoveLessonInput; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never;   /** As `resolveContest`. */
  resolveContest: ResolveContestInput; retract?: never; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never;   /** As `retract`. */
  retract: RetractInput; supersede?: never; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never;   /** As `supersede`. */
  supersede: SupersedeInput; unmerge?: never; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never;   /** As `unmerge`. */
  unmerge: UnmergeInput; verifyLesson?: never; }
  |  { amend?: never; contest?: never; fork?: never; merge?: never; penalize?: never; pin?: never; reinforce?: never; rejectDuplicate?: never; removeLesson?: never; resolveContest?: never; retract?: never; supersede?: never; unmerge?: never;   /** As `verifyLesson`. */
  verifyLesson: VerifyLessonInput; };

/** A revision, by its mutation. */
export type RevisionKind =
  /** Change some members of the payload. */
  | 'AMEND'
  /** Put in doubt. */
  | 'CONTEST'
  /** Remove with its history. */
  | 'DELETE_RECORD'
  /** Add a variant for other conditions. */
  | 'FORK'
  /** Make one record of several. */
  | 'MERGE'
  /** Lower the salience. */
  | 'PENALIZE'
  /** Hold the salience, or let it decay again. */
  | 'PIN'
  /** Raise the salience. */
  | 'REINFORCE'
  /** Note that two records are not the same. */
  | 'REJECT_DUPLICATE'
  /** Withdraw a lesson. */
  | 'REMOVE_LESSON'
  /** Decide what is in doubt. */
  | 'RESOLVE_CONTEST'
  /** Withdraw without a replacement. */
  | 'RETRACT'
  /** Replace the whole payload. */
  | 'SUPERSEDE'
  /** Take two entities apart that were made one. */
  | 'UNMERGE'
  /** Note whether the advice of a lesson was verified. */
  | 'VERIFY_LESSON';

/** What becomes of the facts that a new one contradicts. */
export type RevisionPolicy =
  /** They and the new one are in dispute. */
  | 'CONTEST'
  /** None may be there: the fact is refused with CONDITIONS_OVERLAP. */
  | 'FORK'
  /** They are superseded, or end where the new one begins. */
  | 'REPLACE';

/** Sensitivity of a record, in rising order. A caller reads records up to its ceiling in full; a record one level above is returned redacted; records further above are not visible. */
export type Sensitivity =
  /** Above MEDIUM. */
  | 'HIGH'
  /** The highest level; no credential reads beyond it. */
  | 'HYPER'
  /** The default for new records. */
  | 'LOW'
  /** Above LOW. */
  | 'MEDIUM'
  /** The lowest level; visible in full to every caller. */
  | 'PUBLIC';

/** Register a predicate of facts for the tenant. */
export type SetPredicateInput = {
  /** The predicate, from 1 to 200 characters; `Works At` is the same as `works_at`. Replaces a built-in entry. */
  name: string;
  /** What its objects are. */
  objectKind?: ObjectKind;
  /** Whether a subject has one value of it at a time, so that a new value supersedes the one before. Applies to subjects that have no fact with it yet. */
  singleValued?: boolean;
};

/** Statistics of a skill. */
export type SkillPerformanceInput = {
  /** Mean duration in milliseconds. */
  avgLatencyMs?: number | null | undefined;
  /** Number of executions that failed, from 0. */
  failureCount?: number | null | undefined;
  /** Instant of the last execution. */
  lastUsedAt?: string | null | undefined;
  /** Number of executions that succeeded, from 0. */
  successCount?: number | null | undefined;
  /** Share of executions that succeeded, from 0 to 1. */
  successRate?: number | null | undefined;
};

/** When a skill applies. */
export type SkillTriggerInput = {
  /** Conditions under which it applies, as {key: value or [values]}. */
  conditions?: unknown;
  /** Words of the situation in which the skill applies. */
  signal: string;
};

/** Kind of source of a capture. It decides the type of the record. */
export type SourceKind =
  /** A message of a conversation; becomes an EPISODIC record. */
  | 'AGENT_TURN'
  /** A whole, finished episode; becomes one EPISODIC record. */
  | 'EPISODE'
  /** Something happened; becomes an EPISODIC record. */
  | 'EVENT'
  /** A fact; becomes a SEMANTIC record, or a record of the proposed type. */
  | 'OBSERVATION'
  /** How an episode ended; closes the episode and creates no record. */
  | 'OUTCOME'
  /** A tool was called; becomes an EPISODIC record with a node of the tool graph. */
  | 'TOOL_OUTPUT'
  /** The state of a thread; creates or updates the thread's WORKING record. */
  | 'WORKING_STATE';

/** The outcome of one step of a plan. */
export type StepOutcomeInput = {
  /** How the step ended. */
  outcome: Outcome;
  /** Id of the PLAN_GRAPH record, a UUID; one of `usedRecordIds`. */
  recordId: string | number;
  /** Id of the step in the plan. */
  stepId: string;
};

/** Replace a record by a new one with another payload. An entity or a working record is changed in place. */
export type SupersedeInput = {
  /** Required for a SEMANTIC record, unless the payload has `evidence`; optional for others. At most 200 sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}. Where the reference is a record's id, the result is related to that record. The JSON Schema of one is at /schemas/evidence.json. */
  evidence?: Array<unknown> | null | undefined;
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** The complete new payload, in the canonical form of the record's type, whose JSON Schema is at /schemas/NAME.json, such as /schemas/semantic.json. */
  payload: unknown;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
};

/** Replace a record by a new one with a typed payload; `supersede` takes it as JSON. */
export type SupersedeRecordInput = {
  /** At most 200 sources; required for a fact. */
  evidence?: Array<EvidenceInput> | null | undefined;
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the record to change, a UUID. */
  recordId: string | number;
  /** The complete new payload, of the record's type. Of an entity, what is left out stays, and a null removes an optional field. */
  replacement: PayloadInput;
};

/** Which tags a record must have. */
export type TagFilter = {
  /** Tags all of which it has. */
  all?: Array<string> | null | undefined;
  /** Tags of which it has at least one. */
  any?: Array<string> | null | undefined;
};

/** A constraint of a task. */
export type TaskConstraintInput = {
  /** What is constrained. */
  key: string;
  /** Whether it must be kept. */
  required?: boolean | null | undefined;
  /** Type of the constraint, such as deadline. */
  type: string;
  /** The value it must have; null differs from absent. */
  value?: unknown;
};

/** State of a task. */
export type TaskState =
  /** Something keeps it from going on. */
  | 'BLOCKED'
  /** It is done, and its working record may be pruned. */
  | 'DONE'
  /** It is being done. */
  | 'EXECUTING'
  /** It is being planned. */
  | 'PLANNING'
  /** It waits for somebody or something. */
  | 'WAITING';

/** An event of an episode. */
export type TimelineEventInput = {
  /** Captured fields other than those above. */
  content?: unknown;
  /** Kind of the event, such as tool_output. */
  eventKind: string;
  /** Reference of the event, a record's id or the caller's own; may be empty. */
  ref: string;
  /** What happened, in a sentence. */
  summary?: string | null | undefined;
  /** Instant of the event. */
  t: string;
};

/** A tool call of an episode. */
export type ToolCallInput = {
  /** Arguments of the call; null differs from absent. */
  args?: unknown;
  /** Ids of the calls whose results it used. */
  dependsOn?: Array<string> | null | undefined;
  /** Id of the call, unique within the episode. */
  id: string;
  /** Result of the call; null differs from absent. */
  result?: unknown;
  /** Instant of the call. */
  timestamp?: string | null | undefined;
  /** Name of the tool. */
  tool: string;
};

/** A call of a tool, and what it returned. */
export type ToolOutputInput = {
  /** Arguments of the call; null differs from absent. */
  args?: unknown;
  /** Id of the call, which later calls may depend on. */
  callId?: string | null | undefined;
  /** Ids of the calls whose results it used. */
  dependsOn?: Array<string> | null | undefined;
  /** True, or the error, where the call failed. */
  error?: unknown;
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** Reference by which later captures may name it; may be empty. */
  ref?: string | null | undefined;
  /** Result of the call; null differs from absent. */
  result?: unknown;
  /** Thread to whose open episode it belongs. */
  threadId?: string | null | undefined;
  /** Name of the tool. */
  toolName: string;
};

/** Undo a run of learning. */
export type UndoRunInput = {
  /** Id of the run, as `consolidationRuns` lists it, a UUID. */
  id: string | number;
  /** The reason, from 1 to 10,000 characters, which the audit log of each record keeps. */
  rationale: string;
};

/** Undo the merge of an entity into another one. */
export type UnmergeInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the entity that was merged into another one, a UUID. Merges into one entity are undone in the reverse order. */
  recordId: string | number;
};

/** When, or under which conditions, a fact holds. */
export type ValidityInput = {
  /** Conditions under which it holds, as {key: value or [values]}. */
  conditions?: unknown;
  /** Instant before which it holds, later than start; absent for no bound. */
  end?: string | null | undefined;
  /** Whether the fact always holds, under conditions, or in a time. */
  mode: ValidityMode;
  /** Instant from which it holds; absent for no bound. */
  start?: string | null | undefined;
};

/** When a fact holds. */
export type ValidityMode =
  /** Under its conditions. */
  | 'CONDITIONAL'
  /** Always, as far as is known. */
  | 'GLOBAL'
  /** Between its start and its end. */
  | 'TIMEBOXED';

/** Note whether a lesson was verified. Who wrote its advice needs access admin to say so. */
export type VerifyLessonInput = {
  /** Version that the record must have, from 1; with another version the change is refused with VERSION_CONFLICT. Null for any version. */
  expectedVersion?: number | null | undefined;
  /** Key of 1 to 256 characters. A repeated request with the same key changes nothing and returns the result of the first. */
  idempotencyKey?: string | null | undefined;
  /** Reason, 1 to 10,000 characters; kept in the audit log. */
  rationale: string;
  /** Id of the lesson, a UUID. */
  recordId: string | number;
  /** True if it was verified; false if that was tried and failed. */
  verified?: boolean;
};

/** Code of a warning in a receipt. */
export type WarningCode =
  /** A call depends on one that the thread's open episode does not have. */
  | 'CALL_NOT_FOUND'
  /** A key was neither read nor kept. */
  | 'KEY_NOT_READ'
  /** A key was taken for one of the caller's own, and is like one that is read. */
  | 'KEY_RESEMBLES_KNOWN'
  /** A name was linked to no entity, since it may mean several or holds a secret. */
  | 'MENTION_NOT_LINKED'
  /** A report names a record that it did not change. */
  | 'RECORD_NOT_CREDITED'
  /** A reference names no record that the caller may read in full, or the capture itself; nothing was related. */
  | 'REFERENCE_NOT_FOUND'
  /** Secrets in the content were masked, and the record may have become more sensitive. */
  | 'SECRET_MASKED'
  /** A value was left out; the message says why. */
  | 'VALUE_NOT_USED';

/** The state of a task: the fields to set. A null removes one, what is left out stays. */
export type WorkingStateInput = {
  /** Constraints that hold now. */
  activeConstraints?: Array<TaskConstraintInput> | null | undefined;
  /** What was done so far, in a few sentences. */
  contextSummary?: string | null | undefined;
  /** Further keys of the JSON form, a JSON object; kept as they are. */
  extra?: unknown;
  /** What to do next, in order. */
  nextActions?: Array<string> | null | undefined;
  /** What is not known yet. */
  openQuestions?: Array<string> | null | undefined;
  /** State of the task; the first update of a thread must name it. */
  state?: TaskState | null | undefined;
  /** Name of the thread. */
  threadId: string;
};

export type RememberMutationVariables = Exact<{
  input: RememberInput;
}>;


export type RememberMutation = { remember:
    | { __typename: 'CaptureMemorySuccess', replayed: boolean, primaryRecord: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, createdRecords: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RememberAllMutationVariables = Exact<{
  input: RememberAllInput;
}>;


export type RememberAllMutation = { rememberAll:
    | { __typename: 'CaptureMemoriesSuccess', results: Array<{ replayed: boolean, primaryRecord: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, createdRecords: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }> }
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type CaptureMemoryMutationVariables = Exact<{
  input: CaptureMemoryInput;
}>;


export type CaptureMemoryMutation = { captureMemory:
    | { __typename: 'CaptureMemorySuccess', replayed: boolean, primaryRecord: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, createdRecords: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type CaptureMemoriesMutationVariables = Exact<{
  input: CaptureMemoriesInput;
}>;


export type CaptureMemoriesMutation = { captureMemories:
    | { __typename: 'CaptureMemoriesSuccess', results: Array<{ replayed: boolean, primaryRecord: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, createdRecords: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }> }
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type FailedCapturesQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type FailedCapturesQuery = { failedCaptures: { nodes: Array<{ candidateId: string, batchId: string, position: number, actor: string, sourceKind: SourceKind, scope: string | null, sensitivity: Sensitivity, stage: string, error: string, attempts: number, nextTryAt: string | null, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type RetryCaptureMutationVariables = Exact<{
  id: string | number;
}>;


export type RetryCaptureMutation = { retryCapture:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RetryCaptureSuccess', captures: Array<{ candidateId: string, sequence: string, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } | null }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type DropCaptureMutationVariables = Exact<{
  id: string | number;
}>;


export type DropCaptureMutation = { dropCapture:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DropCaptureSuccess', candidateIds: Array<string> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type CapturedFieldsFragment = { replayed: boolean, primaryRecord: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, createdRecords: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } };

export type ChangesQueryVariables = Exact<{
  after?: string | null | undefined;
  first?: number | null | undefined;
  filter?: ChangeFilter | null | undefined;
}>;


export type ChangesQuery = { changes: { nodes: Array<{ position: string, kind: ChangeKind, at: string, recordId: string, relationId: string | null, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } | null, relation: { id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string } | null, run: { id: string, state: ConsolidationRunState, scope: string, sensitivity: Sensitivity } | null, cause: { action: string, actor: string, rationale: string | null, runId: string | null } | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type ChangedSubscriptionVariables = Exact<{
  after?: string | null | undefined;
  filter?: ChangeFilter | null | undefined;
}>;


export type ChangedSubscription = { changed: { position: string, kind: ChangeKind, at: string, recordId: string, relationId: string | null, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } | null, relation: { id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string } | null, run: { id: string, state: ConsolidationRunState, scope: string, sensitivity: Sensitivity } | null, cause: { action: string, actor: string, rationale: string | null, runId: string | null } | null } };

export type ChangeFieldsFragment = { position: string, kind: ChangeKind, at: string, recordId: string, relationId: string | null, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } | null, relation: { id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string } | null, run: { id: string, state: ConsolidationRunState, scope: string, sensitivity: Sensitivity } | null, cause: { action: string, actor: string, rationale: string | null, runId: string | null } | null };

export type ExplainPathQueryVariables = Exact<{
  from: string | number;
  to: string | number;
  k?: number | null | undefined;
  maxHops?: number | null | undefined;
  asOf?: string | null | undefined;
  validAt?: string | null | undefined;
  atLeastSequence?: string | null | undefined;
}>;


export type ExplainPathQuery = { explainPath:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'PathExplanation', reached: Array<string>, hubs: Array<string>, paths: Array<{ sentence: string, weight: number, nodes: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, relations: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }> }>, freshness: { engine: Engine, fallback: string | null, mirrorLagSeconds: number | null } }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ImpactQueryVariables = Exact<{
  id: string | number;
  hops?: number | null | undefined;
  first?: number | null | undefined;
  asOf?: string | null | undefined;
  validAt?: string | null | undefined;
  atLeastSequence?: string | null | undefined;
}>;


export type ImpactQuery = { impact:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Impact', total: number, reached: Array<string>, hubs: Array<string>, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, counts: Array<{ hop: number, type: MemoryType, count: number }>, nodes: Array<{ hop: number, strength: number, viaId: string, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }>, freshness: { engine: Engine, fallback: string | null, mirrorLagSeconds: number | null } }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RelatedEntitiesQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  asOf?: string | null | undefined;
  validAt?: string | null | undefined;
  atLeastSequence?: string | null | undefined;
}>;


export type RelatedEntitiesQuery = { relatedEntities:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RelatedEntities', hasMore: boolean, reached: Array<string>, hubs: Array<string>, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, entities: Array<{ shared: number, weight: number, memoryIds: Array<string>, entity: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }>, freshness: { engine: Engine, fallback: string | null, mirrorLagSeconds: number | null } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ExpandQueryVariables = Exact<{
  id: string | number;
  loadedIds?: Array<string | number> | string | number | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  asOf?: string | null | undefined;
  validAt?: string | null | undefined;
  atLeastSequence?: string | null | undefined;
}>;


export type ExpandQuery = { expand:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Expansion', reached: Array<string>, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, neighbours: Array<{ weight: number, degree: number, more: number, hub: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }>, relations: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, between: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null }, freshness: { engine: Engine, fallback: string | null, mirrorLagSeconds: number | null } }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type FadingQueryVariables = Exact<{
  until: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type FadingQuery = { fading: { totalCount: number, nodes: Array<{ dueAt: string, awaitsLearning: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type EraseMutationVariables = Exact<{
  input: EraseInput;
}>;


export type EraseMutation = { erase:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EraseSuccess', replayed: boolean, receipt: { id: string, kind: string, actor: string, startedAt: string, at: string, salt: string | null, targetHash: string, hashes: Array<string>, digest: string, elsewhere: Array<string>, elsewhereComplete: boolean, counts: Array<{ name: string, count: number }> } }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RecordFieldsFragment = { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null };

export type RelationFieldsFragment = { id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string };

export type ReceiptFieldsFragment = { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> };

type ErrorFields_ConditionsOverlap_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_DeletionForbidden_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_EpisodicImmutable_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_EvidenceRequired_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_Forbidden_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_IdempotencyMismatch_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_InvalidInput_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_LimitExceeded_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_NotFound_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_RateLimited_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_Unavailable_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type ErrorFields_VersionConflict_Fragment = { code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

export type ErrorFieldsFragment =
  | ErrorFields_ConditionsOverlap_Fragment
  | ErrorFields_DeletionForbidden_Fragment
  | ErrorFields_EpisodicImmutable_Fragment
  | ErrorFields_EvidenceRequired_Fragment
  | ErrorFields_Forbidden_Fragment
  | ErrorFields_IdempotencyMismatch_Fragment
  | ErrorFields_InvalidInput_Fragment
  | ErrorFields_LimitExceeded_Fragment
  | ErrorFields_NotFound_Fragment
  | ErrorFields_RateLimited_Fragment
  | ErrorFields_Unavailable_Fragment
  | ErrorFields_VersionConflict_Fragment
;

export type FreshnessFieldsFragment = { engine: Engine, fallback: string | null, mirrorLagSeconds: number | null };

export type ConsolidationRunsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ConsolidationRunsQuery = { consolidationRuns: { nodes: Array<{ id: string, state: ConsolidationRunState, beganAt: string, updatedAt: string, episodes: number, setAside: number, stages: Array<{ name: string, inputs: number, outputs: number, merges: number, seconds: number, cost: Array<{ unit: string, amount: number }>, skips: Array<{ reason: string, count: number }> }>, groups: Array<{ scope: string, sensitivity: Sensitivity, episodes: number, setAside: number, undoneAt: string | null, undoneBy: string | null, canUndo: boolean, stages: Array<{ name: string, inputs: number, outputs: number, merges: number, seconds: number, cost: Array<{ unit: string, amount: number }>, skips: Array<{ reason: string, count: number }> }> }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type UndoRunMutationVariables = Exact<{
  input: UndoRunInput;
}>;


export type UndoRunMutation = { undoRun:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'UndoRunSuccess', undone: number, keptTotal: number, complete: boolean, run: { id: string, state: ConsolidationRunState, beganAt: string, updatedAt: string, episodes: number, setAside: number, stages: Array<{ name: string, inputs: number, outputs: number, merges: number, seconds: number, cost: Array<{ unit: string, amount: number }>, skips: Array<{ reason: string, count: number }> }>, groups: Array<{ scope: string, sensitivity: Sensitivity, episodes: number, setAside: number, undoneAt: string | null, undoneBy: string | null, canUndo: boolean, stages: Array<{ name: string, inputs: number, outputs: number, merges: number, seconds: number, cost: Array<{ unit: string, amount: number }>, skips: Array<{ reason: string, count: number }> }> }> }, kept: Array<{ reason: KeptReason, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type LearnAgainMutationVariables = Exact<{
  input: LearnAgainInput;
}>;


export type LearnAgainMutation = { learnAgain:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LearnAgainSuccess', episodes: number }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type DuplicateCandidatesQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type DuplicateCandidatesQuery = { duplicateCandidates: { nodes: Array<{ score: number, foundAt: string, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, evidence: Array<{ signal: string, bits: number }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type RejectDuplicateMutationVariables = Exact<{
  input: RejectDuplicateInput;
}>;


export type RejectDuplicateMutation = { rejectDuplicate:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type PredicatesQueryVariables = Exact<{ [key: string]: never; }>;


export type PredicatesQuery = { predicates: Array<{ name: string, singleValued: boolean, objectKind: ObjectKind, builtIn: boolean }> };

export type SetPredicateMutationVariables = Exact<{
  input: SetPredicateInput;
}>;


export type SetPredicateMutation = { setPredicate:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'SetPredicateSuccess', predicate: { name: string, singleValued: boolean, objectKind: ObjectKind, builtIn: boolean } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type PredicateFieldsFragment = { name: string, singleValued: boolean, objectKind: ObjectKind, builtIn: boolean };

export type RunFieldsFragment = { id: string, state: ConsolidationRunState, beganAt: string, updatedAt: string, episodes: number, setAside: number, stages: Array<{ name: string, inputs: number, outputs: number, merges: number, seconds: number, cost: Array<{ unit: string, amount: number }>, skips: Array<{ reason: string, count: number }> }>, groups: Array<{ scope: string, sensitivity: Sensitivity, episodes: number, setAside: number, undoneAt: string | null, undoneBy: string | null, canUndo: boolean, stages: Array<{ name: string, inputs: number, outputs: number, merges: number, seconds: number, cost: Array<{ unit: string, amount: number }>, skips: Array<{ reason: string, count: number }> }> }> };

export type StageFieldsFragment = { name: string, inputs: number, outputs: number, merges: number, seconds: number, cost: Array<{ unit: string, amount: number }>, skips: Array<{ reason: string, count: number }> };

export type LearnLessonMutationVariables = Exact<{
  input: LearnLessonInput;
}>;


export type LearnLessonMutation = { learnLesson:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LearnLessonSuccess', merged: boolean, retiredIds: Array<string>, replayed: boolean, lesson: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type VerifyLessonMutationVariables = Exact<{
  input: VerifyLessonInput;
}>;


export type VerifyLessonMutation = { verifyLesson:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RemoveLessonMutationVariables = Exact<{
  input: RemoveLessonInput;
}>;


export type RemoveLessonMutation = { removeLesson:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type CreditLessonsMutationVariables = Exact<{
  input: CreditLessonsInput;
}>;


export type CreditLessonsMutation = { creditLessons:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LessonsChanged', lessonIds: Array<string> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RetireLessonsMutationVariables = Exact<{
  input: RetireLessonsInput;
}>;


export type RetireLessonsMutation = { retireLessons:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LessonsChanged', lessonIds: Array<string> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type LessonPageQueryVariables = Exact<{
  query?: string | null | undefined;
  scope?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  window?: LessonWindow | null | undefined;
  timeZone?: string | null | undefined;
  source?: string | null | undefined;
  trigger?: string | null | undefined;
  asOf?: string | null | undefined;
}>;


export type LessonPageQuery = { lessonPage: { nodes: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type PlaybookQueryVariables = Exact<{
  query?: string | null | undefined;
  scope?: string | null | undefined;
  limit?: number | null | undefined;
  tokenBudget?: number | null | undefined;
  recordRetrievals?: boolean | null | undefined;
}>;


export type PlaybookQuery = { playbook: { text: string, lessonIds: Array<string>, playbookId: string } };

export type RecentFailuresQueryVariables = Exact<{
  scope?: string | null | undefined;
  limit?: number | null | undefined;
  tokenBudget?: number | null | undefined;
}>;


export type RecentFailuresQuery = { recentFailures: string };

export type PlanGraphQueryVariables = Exact<{
  id: string | number;
  version?: string | null | undefined;
  asOf?: string | null | undefined;
  group?: string | number | null | undefined;
  atLeastSequence?: string | null | undefined;
}>;


export type PlanGraphQuery = { planGraph: { id: string, planId: string, version: string, composed: boolean, intent: string | null, state: RecordState, validFrom: string, validTo: string | null, collapsed: boolean, stepCount: number, linkCount: number, criticalPath: Array<string>, metrics: { avgLatencyMs: number | null, failureRate: number | null, executionCount: number, lastExecutedAt: string | null }, steps: Array<{ id: string, label: string, kind: PlanStepKind, op: string, params: unknown, guards: unknown, rank: number, order: number, depth: number, count: number, status: PlanStepStatus, executions: number | null, failures: number | null }>, links: Array<{ id: string, source: string, target: string, kind: PlanLinkKind, count: number }> } | null };

export type PlanVersionsQueryVariables = Exact<{
  planId: string;
  asOf?: string | null | undefined;
}>;


export type PlanVersionsQuery = { planVersions: Array<{ version: string, stepCount: number, current: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }> };

export type PlanDiffQueryVariables = Exact<{
  planId: string;
  from: string;
  to: string;
}>;


export type PlanDiffQuery = { planDiff: { planId: string, fromId: string, toId: string, sameStructure: boolean, addedSteps: Array<{ id: string, op: string, params: unknown }>, removedSteps: Array<{ id: string, op: string, params: unknown }>, changedSteps: Array<{ id: string, fields: Array<string>, before: unknown, after: unknown }>, addedLinks: Array<{ source: string, target: string, kind: PlanLinkKind }>, removedLinks: Array<{ source: string, target: string, kind: PlanLinkKind }> } | null };

export type PlansContainingQueryVariables = Exact<{
  ops: Array<string> | string;
  first?: number | null | undefined;
  asOf?: string | null | undefined;
  atLeastSequence?: string | null | undefined;
}>;


export type PlansContainingQuery = { plansContaining:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'PlanMatches', hasMore: boolean, reached: Array<string>, plans: Array<{ record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, steps: Array<{ id: string, op: string }> }>, freshness: { engine: Engine, fallback: string | null, mirrorLagSeconds: number | null } }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RecordQueryVariables = Exact<{
  id: string | number;
  asOf?: string | null | undefined;
  validAt?: string | null | undefined;
}>;


export type RecordQuery = { record: { interpretation: unknown, id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null, namedTimes: Array<{ words: string, start: string | null, end: string }> | null, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, provenance: { createdBy: string | null, sources: Array<{ kind: string, ref: string, timestamp: string | null, hash: string | null, createdBy: string | null }> } | null, relations: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }> | null, lifecycle: { deletionPolicy: DeletionPolicy, dueAt: string | null, lastReinforcedAt: string | null, pinned: boolean, decay: { curve: DecayCurve, halfLifeSeconds: number, minSalience: number, maxAgeSeconds: number | null, reinforcementGain: number } } | null } | null };

export type RecordsQueryVariables = Exact<{
  filter?: RecordFilter | null | undefined;
  order?: RecordOrder | null | undefined;
  asOf?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type RecordsQuery = { records: { cut: boolean, nodes: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type EntityPageQueryVariables = Exact<{
  name: string;
  scope?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  asOf?: string | null | undefined;
}>;


export type EntityPageQuery = { entityPage: { nodes: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type TagsInUseQueryVariables = Exact<{
  scopes?: Array<string> | string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type TagsInUseQuery = { tagsInUse: { complete: boolean, looked: number, nodes: Array<{ name: string, uses: number }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type PredicatesInUseQueryVariables = Exact<{
  scopes?: Array<string> | string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type PredicatesInUseQuery = { predicatesInUse: { complete: boolean, looked: number, nodes: Array<{ name: string, uses: number }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type LabelFieldsFragment = { complete: boolean, looked: number, nodes: Array<{ name: string, uses: number }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } };

export type RecordByHandleQueryVariables = Exact<{
  handle: RecordHandle;
  asOf?: string | null | undefined;
  validAt?: string | null | undefined;
}>;


export type RecordByHandleQuery = { recordByHandle: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } | null };

export type RelationPageQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type RelationPageQuery = { record: { relationPage: { nodes: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } | null } | null };

export type SlotHistoryQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  asOf?: string | null | undefined;
}>;


export type SlotHistoryQuery = { slotHistory: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }> };

export type DisputesQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type DisputesQuery = { disputes: { nodes: Array<{ since: string | null, parties: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }> }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type ThreadQueryVariables = Exact<{
  id: string;
  asOf?: string | null | undefined;
  first?: number | null | undefined;
}>;


export type ThreadQuery = { thread: { id: string, working: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } | null, turns: { nodes: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } }, episodes: { nodes: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type HistoryQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type HistoryQuery = { history: { nodes: Array<{ validFrom: string, validTo: string | null, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type AuditLogQueryVariables = Exact<{
  id: string | number;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type AuditLogQuery = { auditLog: { nodes: Array<{ action: string, actor: string, timestamp: string, rationale: string | null }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type RetrieveGraphQueryVariables = Exact<{
  input: RetrieveGraphInput;
}>;


export type RetrieveGraphQuery = { retrieveGraph:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RetrieveGraphSuccess', retrievalId: string, nothingKnown: boolean, roots: Array<string>, rendering: string | null, vectorFallback: string | null, nodes: Array<{ root: boolean, hop: number, score: number, strength: number, duplicateCount: number, duplicateIds: Array<string>, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, why: { matchedWords: Array<string>, names: Array<string>, timedBy: string | null, viaId: string | null, words: number, vectors: number, recency: number, signals: Array<{ signal: string, value: number, weight: number, share: number }> } | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, citations: Array<{ number: number, recordId: string }>, namedTimes: Array<{ words: string, start: string | null, end: string }>, selection: { chosenId: string | null, confidence: number, needsMore: boolean, askFor: Array<string>, ranked: Array<{ recordId: string, score: number, applicability: number, recency: number, successRate: number }> } | null, limits: { reached: Array<string>, hubs: Array<string>, cuts: Array<{ limit: string, leftOut: number | null, because: string }> }, freshness: { engine: Engine, fallback: string | null, mirrorLagSeconds: number | null } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type WhyNotQueryVariables = Exact<{
  id: string | number;
  input: RetrieveGraphInput;
}>;


export type WhyNotQuery = { whyNot:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'WhyNotSuccess', returned: boolean, rank: number | null, score: number | null, candidates: number, matchedWords: Array<string>, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, reasons: Array<{ reason: AbsenceReason, message: string }> }
   };

export type ReportOutcomeMutationVariables = Exact<{
  input: ReportOutcomeInput;
}>;


export type ReportOutcomeMutation = { reportOutcome:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'ReportOutcomeSuccess', retrievalId: string, outcome: Outcome, reinforcedIds: Array<string>, penalizedIds: Array<string>, skippedIds: Array<string>, sequence: string, replayed: boolean }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ReportOutcomesMutationVariables = Exact<{
  input: ReportOutcomesInput;
}>;


export type ReportOutcomesMutation = { reportOutcomes:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'ReportOutcomesSuccess', results: Array<{ retrievalId: string, outcome: Outcome, reinforcedIds: Array<string>, penalizedIds: Array<string>, skippedIds: Array<string>, sequence: string, replayed: boolean }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type OutcomeFieldsFragment = { retrievalId: string, outcome: Outcome, reinforcedIds: Array<string>, penalizedIds: Array<string>, skippedIds: Array<string>, sequence: string, replayed: boolean };

export type SupersedeMutationVariables = Exact<{
  input: SupersedeInput;
}>;


export type SupersedeMutation = { supersede:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type AmendMutationVariables = Exact<{
  input: AmendInput;
}>;


export type AmendMutation = { amend:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ReviseRecordsMutationVariables = Exact<{
  input: ReviseRecordsInput;
}>;


export type ReviseRecordsMutation = { reviseRecords:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'ReviseRecordsSuccess', results: Array<{ queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }> }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ForkMutationVariables = Exact<{
  input: ForkInput;
}>;


export type ForkMutation = { fork:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type SupersedeRecordMutationVariables = Exact<{
  input: SupersedeRecordInput;
}>;


export type SupersedeRecordMutation = { supersedeRecord:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ForkRecordMutationVariables = Exact<{
  input: ForkRecordInput;
}>;


export type ForkRecordMutation = { forkRecord:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ContestMutationVariables = Exact<{
  input: ContestInput;
}>;


export type ContestMutation = { contest:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ResolveContestMutationVariables = Exact<{
  input: ResolveContestInput;
}>;


export type ResolveContestMutation = { resolveContest:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RetractMutationVariables = Exact<{
  input: RetractInput;
}>;


export type RetractMutation = { retract:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type MergeMutationVariables = Exact<{
  input: MergeInput;
}>;


export type MergeMutation = { merge:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type UnmergeMutationVariables = Exact<{
  input: UnmergeInput;
}>;


export type UnmergeMutation = { unmerge:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type DeleteRecordMutationVariables = Exact<{
  input: DeleteRecordInput;
}>;


export type DeleteRecordMutation = { deleteRecord:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type ReinforceMutationVariables = Exact<{
  input: ReinforceInput;
}>;


export type ReinforceMutation = { reinforce:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type PenalizeMutationVariables = Exact<{
  input: PenalizeInput;
}>;


export type PenalizeMutation = { penalize:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type PinMutationVariables = Exact<{
  input: PinInput;
}>;


export type PinMutation = { pin:
    | { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } }
    | { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
    | { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> }
   };

export type RevisionImpactQueryVariables = Exact<{
  id: string | number;
}>;


export type RevisionImpactQuery = { revisionImpact: { complete: boolean, records: Array<{ becomes: RecordState, sourcesLeft: number, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null } }> } };

export type ReevaluationsQueryVariables = Exact<{ [key: string]: never; }>;


export type ReevaluationsQuery = { reevaluations: Array<{ recordId: string, causeId: string, queuedAt: string, attempts: number, error: string | null }> };

export type RevisionRulesQueryVariables = Exact<{ [key: string]: never; }>;


export type RevisionRulesQuery = { revisionRules: Array<{ revision: RevisionKind, type: MemoryType, allowed: boolean, evidence: EvidenceNeed }> };

type RevisionFields_ConditionsOverlap_Fragment = { __typename: 'ConditionsOverlap', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_DeletionForbidden_Fragment = { __typename: 'DeletionForbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_EpisodicImmutable_Fragment = { __typename: 'EpisodicImmutable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_EvidenceRequired_Fragment = { __typename: 'EvidenceRequired', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_Forbidden_Fragment = { __typename: 'Forbidden', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_IdempotencyMismatch_Fragment = { __typename: 'IdempotencyMismatch', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_InvalidInput_Fragment = { __typename: 'InvalidInput', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_LimitExceeded_Fragment = { __typename: 'LimitExceeded', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_NotFound_Fragment = { __typename: 'NotFound', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_RateLimited_Fragment = { __typename: 'RateLimited', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_RevisionSuccess_Fragment = { __typename: 'RevisionSuccess', queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } };

type RevisionFields_Unavailable_Fragment = { __typename: 'Unavailable', code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

type RevisionFields_VersionConflict_Fragment = { __typename: 'VersionConflict', current: number, code: ErrorCode, message: string, path: Array<string> | null, retryable: boolean, retryAfter: number | null, problems: Array<{ code: ErrorCode, message: string, path: Array<string> }> };

export type RevisionFieldsFragment =
  | RevisionFields_ConditionsOverlap_Fragment
  | RevisionFields_DeletionForbidden_Fragment
  | RevisionFields_EpisodicImmutable_Fragment
  | RevisionFields_EvidenceRequired_Fragment
  | RevisionFields_Forbidden_Fragment
  | RevisionFields_IdempotencyMismatch_Fragment
  | RevisionFields_InvalidInput_Fragment
  | RevisionFields_LimitExceeded_Fragment
  | RevisionFields_NotFound_Fragment
  | RevisionFields_RateLimited_Fragment
  | RevisionFields_RevisionSuccess_Fragment
  | RevisionFields_Unavailable_Fragment
  | RevisionFields_VersionConflict_Fragment
;

export type RevisedFieldsFragment = { queued: number, replayed: boolean, record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }, records: Array<{ id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null }>, edges: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string }>, receipt: { candidateId: string, sequence: string, state: string, unindexedTerms: number, mentions: Array<{ name: string, outcome: MentionOutcome, entityId: string | null, candidateIds: Array<string> }>, changes: Array<{ effect: ChangeEffect, record: { id: string, name: string | null } }>, textReading: { state: ReadingState, attempts: number, nextTryAt: string | null } | null, warnings: Array<{ code: WarningCode, message: string, path: Array<string> }> } };

export type HealthQueryVariables = Exact<{ [key: string]: never; }>;


export type HealthQuery = { health: { ok: boolean, version: string, checks: Array<{ name: string, ok: boolean, detail: string, checkedAt: string, ageSeconds: number, stale: boolean }> } };

export type MetricsQueryVariables = Exact<{ [key: string]: never; }>;


export type MetricsQuery = { metrics: { total: number, active: number, contested: number, pinned: number, auditEntries: number, createdLastDay: number, growthRate: number | null, meanSalience: number | null, meanConfidence: number | null, salienceDistribution: Array<number>, revisionRate: number | null, contradictionRate: number | null, retrievalUsefulness: number | null, competenceSuccessRate: number | null, planReuseFrequency: number | null, mirrorLagSeconds: number | null, countedAt: string | null, byType: Array<{ type: MemoryType, total: number, current: number }>, queueDepths: Array<{ queue: string, depth: number }> | null } };

export type TypedRecordQueryVariables = Exact<{
  id: string | number;
  asOf?: string | null | undefined;
  validAt?: string | null | undefined;
}>;


export type TypedRecordQuery = { record: { id: string, type: MemoryType, state: RecordState, version: number, name: string | null, text: string | null, payload: unknown, scope: string, sensitivity: Sensitivity, tags: Array<string>, salience: number, confidence: number, conditions: unknown, redacted: boolean, createdAt: string, updatedAt: string, occurredAt: string | null, validFrom: string | null, validTo: string | null, relations: Array<{ id: string, predicate: string, inverse: string, sourceId: string, targetId: string, weight: number, createdAt: string, source: { id: string, type: MemoryType, name: string | null } | null, target: { id: string, type: MemoryType, name: string | null } | null }> | null, provenance: { createdBy: string | null, sources: Array<{ kind: string, ref: string, timestamp: string | null, record: { id: string, type: MemoryType, name: string | null } | null }> } | null, typed:
      | { __typename: 'Competence', skillName: string, requiredTools: Array<string> | null, failureModes: Array<string> | null, fallbacks: Array<string> | null, skillVersion: string | null, triggers: Array<{ signal: string, conditions: unknown }>, recipe: Array<{ step: string, tool: string | null, argsSchema: unknown, validation: string | null }>, performance: { successCount: number | null, failureCount: number | null, successRate: number | null, avgLatencyMs: number | null, lastUsedAt: string | null } | null, lesson: { task: string | null, trigger: string | null, mistake: string | null, antiPattern: string | null, solution: string | null, correctPattern: string | null, codeExample: string | null, domains: Array<string> | null, confidence: number | null, source: string | null, timestamp: string | null, verified: boolean | null, verificationAttempted: boolean | null, frequency: number | null, retrievals: number | null, helpfulRetrievals: number | null, lastRetrievedAt: string | null } | null }
      | { __typename: 'Entity', canonicalName: string, primaryType: string | null, types: Array<string> | null, summary: string | null, aliases: Array<{ value: string, kind: string | null, locale: string | null }> | null, identifiers: Array<{ namespace: string, value: string }> | null }
      | { __typename: 'Episode', outcome: Outcome | null, outcomeReason: string | null, artifacts: Array<string> | null, toolGraphRef: string | null, timeline: Array<{ t: string, eventKind: string, ref: string, summary: string | null, content: unknown }>, toolGraph: Array<{ id: string, tool: string, args: unknown, result: unknown, timestamp: string | null, dependsOn: Array<string> | null }> | null, environment: { os: string | null, osVersion: string | null, toolVersions: unknown, workingDirectory: string | null, context: unknown } | null }
      | { __typename: 'Fact', subject: string, predicate: string, object: unknown, revisionPolicy: RevisionPolicy | null, validity: { mode: ValidityMode, conditions: unknown, start: string | null, end: string | null }, evidence: Array<{ kind: EvidenceKind | null, ref: string | null, timestamp: string | null, hash: string | null }> | null, revision: { supersedes: string | null, supersededBy: string | null, status: RecordState | null } | null }
      | { __typename: 'Plan', planId: string, intent: string | null, constraints: unknown, inputsSchema: unknown, outputsSchema: unknown, planVersion: string | null, nodes: Array<{ id: string, op: string, params: unknown, guards: unknown, label: string | null, metrics: { executionCount: number | null, failureCount: number | null } | null }>, edges: Array<{ source: string, target: string, kind: PlanLinkKind }>, metrics: { avgLatencyMs: number | null, failureRate: number | null, executionCount: number | null, lastExecutedAt: string | null } | null }
      | { __typename: 'WorkingState', threadId: string, nextActions: Array<string> | null, openQuestions: Array<string> | null, contextSummary: string | null, taskState: TaskState, activeConstraints: Array<{ type: string, key: string, value: unknown, required: boolean | null }> | null }
     | null } | null };

export type TypedFieldsFragment = { typed:
    | { __typename: 'Competence', skillName: string, requiredTools: Array<string> | null, failureModes: Array<string> | null, fallbacks: Array<string> | null, skillVersion: string | null, triggers: Array<{ signal: string, conditions: unknown }>, recipe: Array<{ step: string, tool: string | null, argsSchema: unknown, validation: string | null }>, performance: { successCount: number | null, failureCount: number | null, successRate: number | null, avgLatencyMs: number | null, lastUsedAt: string | null } | null, lesson: { task: string | null, trigger: string | null, mistake: string | null, antiPattern: string | null, solution: string | null, correctPattern: string | null, codeExample: string | null, domains: Array<string> | null, confidence: number | null, source: string | null, timestamp: string | null, verified: boolean | null, verificationAttempted: boolean | null, frequency: number | null, retrievals: number | null, helpfulRetrievals: number | null, lastRetrievedAt: string | null } | null }
    | { __typename: 'Entity', canonicalName: string, primaryType: string | null, types: Array<string> | null, summary: string | null, aliases: Array<{ value: string, kind: string | null, locale: string | null }> | null, identifiers: Array<{ namespace: string, value: string }> | null }
    | { __typename: 'Episode', outcome: Outcome | null, outcomeReason: string | null, artifacts: Array<string> | null, toolGraphRef: string | null, timeline: Array<{ t: string, eventKind: string, ref: string, summary: string | null, content: unknown }>, toolGraph: Array<{ id: string, tool: string, args: unknown, result: unknown, timestamp: string | null, dependsOn: Array<string> | null }> | null, environment: { os: string | null, osVersion: string | null, toolVersions: unknown, workingDirectory: string | null, context: unknown } | null }
    | { __typename: 'Fact', subject: string, predicate: string, object: unknown, revisionPolicy: RevisionPolicy | null, validity: { mode: ValidityMode, conditions: unknown, start: string | null, end: string | null }, evidence: Array<{ kind: EvidenceKind | null, ref: string | null, timestamp: string | null, hash: string | null }> | null, revision: { supersedes: string | null, supersededBy: string | null, status: RecordState | null } | null }
    | { __typename: 'Plan', planId: string, intent: string | null, constraints: unknown, inputsSchema: unknown, outputsSchema: unknown, planVersion: string | null, nodes: Array<{ id: string, op: string, params: unknown, guards: unknown, label: string | null, metrics: { executionCount: number | null, failureCount: number | null } | null }>, edges: Array<{ source: string, target: string, kind: PlanLinkKind }>, metrics: { avgLatencyMs: number | null, failureRate: number | null, executionCount: number | null, lastExecutedAt: string | null } | null }
    | { __typename: 'WorkingState', threadId: string, nextActions: Array<string> | null, openQuestions: Array<string> | null, contextSummary: string | null, taskState: TaskState, activeConstraints: Array<{ type: string, key: string, value: unknown, required: boolean | null }> | null }
   | null };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const RecordFieldsFragmentDoc = new TypedDocumentString(`
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
    `, {"fragmentName":"RecordFields"}) as unknown as TypedDocumentString<RecordFieldsFragment, unknown>;
export const RelationFieldsFragmentDoc = new TypedDocumentString(`
    fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
    `, {"fragmentName":"RelationFields"}) as unknown as TypedDocumentString<RelationFieldsFragment, unknown>;
export const ReceiptFieldsFragmentDoc = new TypedDocumentString(`
    fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
    `, {"fragmentName":"ReceiptFields"}) as unknown as TypedDocumentString<ReceiptFieldsFragment, unknown>;
export const CapturedFieldsFragmentDoc = new TypedDocumentString(`
    fragment CapturedFields on CaptureMemorySuccess {
  primaryRecord {
    ...RecordFields
  }
  createdRecords {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  replayed
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}`, {"fragmentName":"CapturedFields"}) as unknown as TypedDocumentString<CapturedFieldsFragment, unknown>;
export const ChangeFieldsFragmentDoc = new TypedDocumentString(`
    fragment ChangeFields on Change {
  position
  kind
  at
  recordId
  record {
    ...RecordFields
  }
  relationId
  relation {
    ...RelationFields
  }
  run {
    id
    state
    scope
    sensitivity
  }
  cause {
    action
    actor
    rationale
    runId
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}`, {"fragmentName":"ChangeFields"}) as unknown as TypedDocumentString<ChangeFieldsFragment, unknown>;
export const FreshnessFieldsFragmentDoc = new TypedDocumentString(`
    fragment FreshnessFields on Freshness {
  engine
  fallback
  mirrorLagSeconds
}
    `, {"fragmentName":"FreshnessFields"}) as unknown as TypedDocumentString<FreshnessFieldsFragment, unknown>;
export const PredicateFieldsFragmentDoc = new TypedDocumentString(`
    fragment PredicateFields on FactPredicate {
  name
  singleValued
  objectKind
  builtIn
}
    `, {"fragmentName":"PredicateFields"}) as unknown as TypedDocumentString<PredicateFieldsFragment, unknown>;
export const StageFieldsFragmentDoc = new TypedDocumentString(`
    fragment StageFields on StageReport {
  name
  inputs
  outputs
  merges
  seconds
  cost {
    unit
    amount
  }
  skips {
    reason
    count
  }
}
    `, {"fragmentName":"StageFields"}) as unknown as TypedDocumentString<StageFieldsFragment, unknown>;
export const RunFieldsFragmentDoc = new TypedDocumentString(`
    fragment RunFields on ConsolidationRun {
  id
  state
  beganAt
  updatedAt
  episodes
  setAside
  stages {
    ...StageFields
  }
  groups {
    scope
    sensitivity
    episodes
    setAside
    undoneAt
    undoneBy
    canUndo
    stages {
      ...StageFields
    }
  }
}
    fragment StageFields on StageReport {
  name
  inputs
  outputs
  merges
  seconds
  cost {
    unit
    amount
  }
  skips {
    reason
    count
  }
}`, {"fragmentName":"RunFields"}) as unknown as TypedDocumentString<RunFieldsFragment, unknown>;
export const LabelFieldsFragmentDoc = new TypedDocumentString(`
    fragment LabelFields on LabelConnection {
  nodes {
    name
    uses
  }
  pageInfo {
    hasNextPage
    endCursor
  }
  complete
  looked
}
    `, {"fragmentName":"LabelFields"}) as unknown as TypedDocumentString<LabelFieldsFragment, unknown>;
export const OutcomeFieldsFragmentDoc = new TypedDocumentString(`
    fragment OutcomeFields on ReportOutcomeSuccess {
  retrievalId
  outcome
  reinforcedIds
  penalizedIds
  skippedIds
  sequence
  replayed
}
    `, {"fragmentName":"OutcomeFields"}) as unknown as TypedDocumentString<OutcomeFieldsFragment, unknown>;
export const RevisedFieldsFragmentDoc = new TypedDocumentString(`
    fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}`, {"fragmentName":"RevisedFields"}) as unknown as TypedDocumentString<RevisedFieldsFragment, unknown>;
export const ErrorFieldsFragmentDoc = new TypedDocumentString(`
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
    `, {"fragmentName":"ErrorFields"}) as unknown as TypedDocumentString<ErrorFieldsFragment, unknown>;
export const RevisionFieldsFragmentDoc = new TypedDocumentString(`
    fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`, {"fragmentName":"RevisionFields"}) as unknown as TypedDocumentString<RevisionFieldsFragment, unknown>;
export const TypedFieldsFragmentDoc = new TypedDocumentString(`
    fragment TypedFields on MemoryRecord {
  typed {
    __typename
    ... on Fact {
      subject
      predicate
      object
      validity {
        mode
        conditions
        start
        end
      }
      evidence {
        kind
        ref
        timestamp
        hash
      }
      revisionPolicy
      revision {
        supersedes
        supersededBy
        status
      }
    }
    ... on Entity {
      canonicalName
      primaryType
      types
      aliases {
        value
        kind
        locale
      }
      identifiers {
        namespace
        value
      }
      summary
    }
    ... on Episode {
      timeline {
        t
        eventKind
        ref
        summary
        content
      }
      toolGraph {
        id
        tool
        args
        result
        timestamp
        dependsOn
      }
      environment {
        os
        osVersion
        toolVersions
        workingDirectory
        context
      }
      outcome
      outcomeReason
      artifacts
      toolGraphRef
    }
    ... on WorkingState {
      threadId
      taskState: state
      activeConstraints {
        type
        key
        value
        required
      }
      nextActions
      openQuestions
      contextSummary
    }
    ... on Competence {
      skillName
      triggers {
        signal
        conditions
      }
      recipe {
        step
        tool
        argsSchema
        validation
      }
      requiredTools
      failureModes
      fallbacks
      performance {
        successCount
        failureCount
        successRate
        avgLatencyMs
        lastUsedAt
      }
      skillVersion: version
      lesson {
        task
        trigger
        mistake
        antiPattern
        solution
        correctPattern
        codeExample
        domains
        confidence
        source
        timestamp
        verified
        verificationAttempted
        frequency
        retrievals
        helpfulRetrievals
        lastRetrievedAt
      }
    }
    ... on Plan {
      planId
      planVersion: version
      intent
      nodes {
        id
        op
        params
        guards
        label
        metrics {
          executionCount
          failureCount
        }
      }
      edges {
        source
        target
        kind
      }
      constraints
      inputsSchema
      outputsSchema
      metrics {
        avgLatencyMs
        failureRate
        executionCount
        lastExecutedAt
      }
    }
  }
}
    `, {"fragmentName":"TypedFields"}) as unknown as TypedDocumentString<TypedFieldsFragment, unknown>;
export const RememberDocument = new TypedDocumentString(`
    mutation Remember($input: RememberInput!) {
  remember(input: $input) {
    __typename
    ... on CaptureMemorySuccess {
      ...CapturedFields
    }
    ...ErrorFields
  }
}
    fragment CapturedFields on CaptureMemorySuccess {
  primaryRecord {
    ...RecordFields
  }
  createdRecords {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  replayed
}
fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<RememberMutation, RememberMutationVariables>;
export const RememberAllDocument = new TypedDocumentString(`
    mutation RememberAll($input: RememberAllInput!) {
  rememberAll(input: $input) {
    __typename
    ... on CaptureMemoriesSuccess {
      results {
        ...CapturedFields
      }
    }
    ...ErrorFields
  }
}
    fragment CapturedFields on CaptureMemorySuccess {
  primaryRecord {
    ...RecordFields
  }
  createdRecords {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  replayed
}
fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<RememberAllMutation, RememberAllMutationVariables>;
export const CaptureMemoryDocument = new TypedDocumentString(`
    mutation CaptureMemory($input: CaptureMemoryInput!) {
  captureMemory(input: $input) {
    __typename
    ... on CaptureMemorySuccess {
      ...CapturedFields
    }
    ...ErrorFields
  }
}
    fragment CapturedFields on CaptureMemorySuccess {
  primaryRecord {
    ...RecordFields
  }
  createdRecords {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  replayed
}
fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<CaptureMemoryMutation, CaptureMemoryMutationVariables>;
export const CaptureMemoriesDocument = new TypedDocumentString(`
    mutation CaptureMemories($input: CaptureMemoriesInput!) {
  captureMemories(input: $input) {
    __typename
    ... on CaptureMemoriesSuccess {
      results {
        ...CapturedFields
      }
    }
    ...ErrorFields
  }
}
    fragment CapturedFields on CaptureMemorySuccess {
  primaryRecord {
    ...RecordFields
  }
  createdRecords {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  replayed
}
fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<CaptureMemoriesMutation, CaptureMemoriesMutationVariables>;
export const FailedCapturesDocument = new TypedDocumentString(`
    query FailedCaptures($first: Int, $after: String) {
  failedCaptures(first: $first, after: $after) {
    nodes {
      candidateId
      batchId
      position
      actor
      sourceKind
      scope
      sensitivity
      stage
      error
      attempts
      nextTryAt
      createdAt
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<FailedCapturesQuery, FailedCapturesQueryVariables>;
export const RetryCaptureDocument = new TypedDocumentString(`
    mutation RetryCapture($id: ID!) {
  retryCapture(id: $id) {
    __typename
    ... on RetryCaptureSuccess {
      captures {
        candidateId
        sequence
        record {
          ...RecordFields
        }
      }
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<RetryCaptureMutation, RetryCaptureMutationVariables>;
export const DropCaptureDocument = new TypedDocumentString(`
    mutation DropCapture($id: ID!) {
  dropCapture(id: $id) {
    __typename
    ... on DropCaptureSuccess {
      candidateIds
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<DropCaptureMutation, DropCaptureMutationVariables>;
export const ChangesDocument = new TypedDocumentString(`
    query Changes($after: String, $first: Int, $filter: ChangeFilter) {
  changes(after: $after, first: $first, filter: $filter) {
    nodes {
      ...ChangeFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment ChangeFields on Change {
  position
  kind
  at
  recordId
  record {
    ...RecordFields
  }
  relationId
  relation {
    ...RelationFields
  }
  run {
    id
    state
    scope
    sensitivity
  }
  cause {
    action
    actor
    rationale
    runId
  }
}
fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}`) as unknown as TypedDocumentString<ChangesQuery, ChangesQueryVariables>;
export const ChangedDocument = new TypedDocumentString(`
    subscription Changed($after: String, $filter: ChangeFilter) {
  changed(after: $after, filter: $filter) {
    ...ChangeFields
  }
}
    fragment ChangeFields on Change {
  position
  kind
  at
  recordId
  record {
    ...RecordFields
  }
  relationId
  relation {
    ...RelationFields
  }
  run {
    id
    state
    scope
    sensitivity
  }
  cause {
    action
    actor
    rationale
    runId
  }
}
fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}`) as unknown as TypedDocumentString<ChangedSubscription, ChangedSubscriptionVariables>;
export const ExplainPathDocument = new TypedDocumentString(`
    query ExplainPath($from: ID!, $to: ID!, $k: Int, $maxHops: Int, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
  explainPath(
    from: $from
    to: $to
    k: $k
    maxHops: $maxHops
    asOf: $asOf
    validAt: $validAt
    atLeastSequence: $atLeastSequence
  ) {
    __typename
    ... on PathExplanation {
      paths {
        sentence
        weight
        nodes {
          ...RecordFields
        }
        relations {
          ...RelationFields
        }
      }
      reached
      hubs
      freshness {
        ...FreshnessFields
      }
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment FreshnessFields on Freshness {
  engine
  fallback
  mirrorLagSeconds
}`) as unknown as TypedDocumentString<ExplainPathQuery, ExplainPathQueryVariables>;
export const ImpactDocument = new TypedDocumentString(`
    query Impact($id: ID!, $hops: Int, $first: Int, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
  impact(
    id: $id
    hops: $hops
    first: $first
    asOf: $asOf
    validAt: $validAt
    atLeastSequence: $atLeastSequence
  ) {
    __typename
    ... on Impact {
      record {
        ...RecordFields
      }
      counts {
        hop
        type
        count
      }
      total
      nodes {
        record {
          ...RecordFields
        }
        hop
        strength
        viaId
      }
      reached
      hubs
      freshness {
        ...FreshnessFields
      }
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment FreshnessFields on Freshness {
  engine
  fallback
  mirrorLagSeconds
}`) as unknown as TypedDocumentString<ImpactQuery, ImpactQueryVariables>;
export const RelatedEntitiesDocument = new TypedDocumentString(`
    query RelatedEntities($id: ID!, $first: Int, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
  relatedEntities(
    id: $id
    first: $first
    asOf: $asOf
    validAt: $validAt
    atLeastSequence: $atLeastSequence
  ) {
    __typename
    ... on RelatedEntities {
      record {
        ...RecordFields
      }
      entities {
        entity {
          ...RecordFields
        }
        shared
        weight
        memoryIds
      }
      hasMore
      reached
      hubs
      freshness {
        ...FreshnessFields
      }
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment FreshnessFields on Freshness {
  engine
  fallback
  mirrorLagSeconds
}`) as unknown as TypedDocumentString<RelatedEntitiesQuery, RelatedEntitiesQueryVariables>;
export const ExpandDocument = new TypedDocumentString(`
    query Expand($id: ID!, $loadedIds: [ID!], $first: Int, $after: String, $asOf: DateTime, $validAt: DateTime, $atLeastSequence: String) {
  expand(
    id: $id
    loadedIds: $loadedIds
    first: $first
    after: $after
    asOf: $asOf
    validAt: $validAt
    atLeastSequence: $atLeastSequence
  ) {
    __typename
    ... on Expansion {
      record {
        ...RecordFields
      }
      neighbours {
        record {
          ...RecordFields
        }
        weight
        degree
        more
        hub
      }
      relations {
        ...RelationFields
      }
      between {
        ...RelationFields
      }
      pageInfo {
        hasNextPage
        endCursor
      }
      reached
      freshness {
        ...FreshnessFields
      }
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment FreshnessFields on Freshness {
  engine
  fallback
  mirrorLagSeconds
}`) as unknown as TypedDocumentString<ExpandQuery, ExpandQueryVariables>;
export const FadingDocument = new TypedDocumentString(`
    query Fading($until: DateTime!, $first: Int, $after: String) {
  fading(until: $until, first: $first, after: $after) {
    totalCount
    nodes {
      record {
        ...RecordFields
      }
      dueAt
      awaitsLearning
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<FadingQuery, FadingQueryVariables>;
export const EraseDocument = new TypedDocumentString(`
    mutation Erase($input: EraseInput!) {
  erase(input: $input) {
    __typename
    ... on EraseSuccess {
      receipt {
        id
        kind
        actor
        startedAt
        at
        counts {
          name
          count
        }
        salt
        targetHash
        hashes
        digest
        elsewhere
        elsewhereComplete
      }
      replayed
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<EraseMutation, EraseMutationVariables>;
export const ConsolidationRunsDocument = new TypedDocumentString(`
    query ConsolidationRuns($first: Int, $after: String) {
  consolidationRuns(first: $first, after: $after) {
    nodes {
      ...RunFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RunFields on ConsolidationRun {
  id
  state
  beganAt
  updatedAt
  episodes
  setAside
  stages {
    ...StageFields
  }
  groups {
    scope
    sensitivity
    episodes
    setAside
    undoneAt
    undoneBy
    canUndo
    stages {
      ...StageFields
    }
  }
}
fragment StageFields on StageReport {
  name
  inputs
  outputs
  merges
  seconds
  cost {
    unit
    amount
  }
  skips {
    reason
    count
  }
}`) as unknown as TypedDocumentString<ConsolidationRunsQuery, ConsolidationRunsQueryVariables>;
export const UndoRunDocument = new TypedDocumentString(`
    mutation UndoRun($input: UndoRunInput!) {
  undoRun(input: $input) {
    __typename
    ... on UndoRunSuccess {
      run {
        ...RunFields
      }
      undone
      kept {
        record {
          ...RecordFields
        }
        reason
      }
      keptTotal
      complete
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RunFields on ConsolidationRun {
  id
  state
  beganAt
  updatedAt
  episodes
  setAside
  stages {
    ...StageFields
  }
  groups {
    scope
    sensitivity
    episodes
    setAside
    undoneAt
    undoneBy
    canUndo
    stages {
      ...StageFields
    }
  }
}
fragment StageFields on StageReport {
  name
  inputs
  outputs
  merges
  seconds
  cost {
    unit
    amount
  }
  skips {
    reason
    count
  }
}`) as unknown as TypedDocumentString<UndoRunMutation, UndoRunMutationVariables>;
export const LearnAgainDocument = new TypedDocumentString(`
    mutation LearnAgain($input: LearnAgainInput!) {
  learnAgain(input: $input) {
    __typename
    ... on LearnAgainSuccess {
      episodes
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<LearnAgainMutation, LearnAgainMutationVariables>;
export const DuplicateCandidatesDocument = new TypedDocumentString(`
    query DuplicateCandidates($first: Int, $after: String) {
  duplicateCandidates(first: $first, after: $after) {
    nodes {
      records {
        ...RecordFields
      }
      score
      evidence {
        signal
        bits
      }
      foundAt
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<DuplicateCandidatesQuery, DuplicateCandidatesQueryVariables>;
export const RejectDuplicateDocument = new TypedDocumentString(`
    mutation RejectDuplicate($input: RejectDuplicateInput!) {
  rejectDuplicate(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<RejectDuplicateMutation, RejectDuplicateMutationVariables>;
export const PredicatesDocument = new TypedDocumentString(`
    query Predicates {
  predicates {
    ...PredicateFields
  }
}
    fragment PredicateFields on FactPredicate {
  name
  singleValued
  objectKind
  builtIn
}`) as unknown as TypedDocumentString<PredicatesQuery, PredicatesQueryVariables>;
export const SetPredicateDocument = new TypedDocumentString(`
    mutation SetPredicate($input: SetPredicateInput!) {
  setPredicate(input: $input) {
    __typename
    ... on SetPredicateSuccess {
      predicate {
        ...PredicateFields
      }
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment PredicateFields on FactPredicate {
  name
  singleValued
  objectKind
  builtIn
}`) as unknown as TypedDocumentString<SetPredicateMutation, SetPredicateMutationVariables>;
export const LearnLessonDocument = new TypedDocumentString(`
    mutation LearnLesson($input: LearnLessonInput!) {
  learnLesson(input: $input) {
    __typename
    ... on LearnLessonSuccess {
      lesson {
        ...RecordFields
      }
      merged
      retiredIds
      receipt {
        ...ReceiptFields
      }
      replayed
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<LearnLessonMutation, LearnLessonMutationVariables>;
export const VerifyLessonDocument = new TypedDocumentString(`
    mutation VerifyLesson($input: VerifyLessonInput!) {
  verifyLesson(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<VerifyLessonMutation, VerifyLessonMutationVariables>;
export const RemoveLessonDocument = new TypedDocumentString(`
    mutation RemoveLesson($input: RemoveLessonInput!) {
  removeLesson(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<RemoveLessonMutation, RemoveLessonMutationVariables>;
export const CreditLessonsDocument = new TypedDocumentString(`
    mutation CreditLessons($input: CreditLessonsInput!) {
  creditLessons(input: $input) {
    __typename
    ... on LessonsChanged {
      lessonIds
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<CreditLessonsMutation, CreditLessonsMutationVariables>;
export const RetireLessonsDocument = new TypedDocumentString(`
    mutation RetireLessons($input: RetireLessonsInput!) {
  retireLessons(input: $input) {
    __typename
    ... on LessonsChanged {
      lessonIds
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<RetireLessonsMutation, RetireLessonsMutationVariables>;
export const LessonPageDocument = new TypedDocumentString(`
    query LessonPage($query: String, $scope: String, $first: Int, $after: String, $window: LessonWindow, $timeZone: String, $source: String, $trigger: String, $asOf: DateTime) {
  lessonPage(
    query: $query
    scope: $scope
    first: $first
    after: $after
    window: $window
    timeZone: $timeZone
    source: $source
    trigger: $trigger
    asOf: $asOf
  ) {
    nodes {
      ...RecordFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<LessonPageQuery, LessonPageQueryVariables>;
export const PlaybookDocument = new TypedDocumentString(`
    query Playbook($query: String, $scope: String, $limit: Int, $tokenBudget: Int, $recordRetrievals: Boolean) {
  playbook(
    query: $query
    scope: $scope
    limit: $limit
    tokenBudget: $tokenBudget
    recordRetrievals: $recordRetrievals
  ) {
    text
    lessonIds
    playbookId
  }
}
    `) as unknown as TypedDocumentString<PlaybookQuery, PlaybookQueryVariables>;
export const RecentFailuresDocument = new TypedDocumentString(`
    query RecentFailures($scope: String, $limit: Int, $tokenBudget: Int) {
  recentFailures(scope: $scope, limit: $limit, tokenBudget: $tokenBudget)
}
    `) as unknown as TypedDocumentString<RecentFailuresQuery, RecentFailuresQueryVariables>;
export const PlanGraphDocument = new TypedDocumentString(`
    query PlanGraph($id: ID!, $version: String, $asOf: DateTime, $group: ID, $atLeastSequence: String) {
  planGraph(
    id: $id
    version: $version
    asOf: $asOf
    group: $group
    atLeastSequence: $atLeastSequence
  ) {
    id
    planId
    version
    composed
    intent
    state
    validFrom
    validTo
    collapsed
    stepCount
    linkCount
    criticalPath
    metrics {
      avgLatencyMs
      failureRate
      executionCount
      lastExecutedAt
    }
    steps {
      id
      label
      kind
      op
      params
      guards
      rank
      order
      depth
      count
      status
      executions
      failures
    }
    links {
      id
      source
      target
      kind
      count
    }
  }
}
    `) as unknown as TypedDocumentString<PlanGraphQuery, PlanGraphQueryVariables>;
export const PlanVersionsDocument = new TypedDocumentString(`
    query PlanVersions($planId: String!, $asOf: DateTime) {
  planVersions(planId: $planId, asOf: $asOf) {
    version
    stepCount
    current
    record {
      ...RecordFields
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<PlanVersionsQuery, PlanVersionsQueryVariables>;
export const PlanDiffDocument = new TypedDocumentString(`
    query PlanDiff($planId: String!, $from: String!, $to: String!) {
  planDiff(planId: $planId, from: $from, to: $to) {
    planId
    fromId
    toId
    sameStructure
    addedSteps {
      id
      op
      params
    }
    removedSteps {
      id
      op
      params
    }
    changedSteps {
      id
      fields
      before
      after
    }
    addedLinks {
      source
      target
      kind
    }
    removedLinks {
      source
      target
      kind
    }
  }
}
    `) as unknown as TypedDocumentString<PlanDiffQuery, PlanDiffQueryVariables>;
export const PlansContainingDocument = new TypedDocumentString(`
    query PlansContaining($ops: [String!]!, $first: Int, $asOf: DateTime, $atLeastSequence: String) {
  plansContaining(
    ops: $ops
    first: $first
    asOf: $asOf
    atLeastSequence: $atLeastSequence
  ) {
    __typename
    ... on PlanMatches {
      plans {
        record {
          ...RecordFields
        }
        steps {
          id
          op
        }
      }
      hasMore
      reached
      freshness {
        ...FreshnessFields
      }
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment FreshnessFields on Freshness {
  engine
  fallback
  mirrorLagSeconds
}`) as unknown as TypedDocumentString<PlansContainingQuery, PlansContainingQueryVariables>;
export const RecordDocument = new TypedDocumentString(`
    query Record($id: ID!, $asOf: DateTime, $validAt: DateTime) {
  record(id: $id, asOf: $asOf, validAt: $validAt) {
    ...RecordFields
    interpretation
    namedTimes {
      words
      start
      end
    }
    textReading {
      state
      attempts
      nextTryAt
    }
    provenance {
      createdBy
      sources {
        kind
        ref
        timestamp
        hash
        createdBy
      }
    }
    relations {
      ...RelationFields
    }
    lifecycle {
      decay {
        curve
        halfLifeSeconds
        minSalience
        maxAgeSeconds
        reinforcementGain
      }
      deletionPolicy
      dueAt
      lastReinforcedAt
      pinned
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}`) as unknown as TypedDocumentString<RecordQuery, RecordQueryVariables>;
export const RecordsDocument = new TypedDocumentString(`
    query Records($filter: RecordFilter, $order: RecordOrder, $asOf: DateTime, $first: Int, $after: String) {
  records(
    filter: $filter
    order: $order
    asOf: $asOf
    first: $first
    after: $after
  ) {
    nodes {
      ...RecordFields
    }
    cut
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<RecordsQuery, RecordsQueryVariables>;
export const EntityPageDocument = new TypedDocumentString(`
    query EntityPage($name: String!, $scope: String, $first: Int, $after: String, $asOf: DateTime) {
  entityPage(
    name: $name
    scope: $scope
    first: $first
    after: $after
    asOf: $asOf
  ) {
    nodes {
      ...RecordFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<EntityPageQuery, EntityPageQueryVariables>;
export const TagsInUseDocument = new TypedDocumentString(`
    query TagsInUse($scopes: [String!], $first: Int, $after: String) {
  tagsInUse(scopes: $scopes, first: $first, after: $after) {
    ...LabelFields
  }
}
    fragment LabelFields on LabelConnection {
  nodes {
    name
    uses
  }
  pageInfo {
    hasNextPage
    endCursor
  }
  complete
  looked
}`) as unknown as TypedDocumentString<TagsInUseQuery, TagsInUseQueryVariables>;
export const PredicatesInUseDocument = new TypedDocumentString(`
    query PredicatesInUse($scopes: [String!], $first: Int, $after: String) {
  predicatesInUse(scopes: $scopes, first: $first, after: $after) {
    ...LabelFields
  }
}
    fragment LabelFields on LabelConnection {
  nodes {
    name
    uses
  }
  pageInfo {
    hasNextPage
    endCursor
  }
  complete
  looked
}`) as unknown as TypedDocumentString<PredicatesInUseQuery, PredicatesInUseQueryVariables>;
export const RecordByHandleDocument = new TypedDocumentString(`
    query RecordByHandle($handle: RecordHandle!, $asOf: DateTime, $validAt: DateTime) {
  recordByHandle(handle: $handle, asOf: $asOf, validAt: $validAt) {
    ...RecordFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<RecordByHandleQuery, RecordByHandleQueryVariables>;
export const RelationPageDocument = new TypedDocumentString(`
    query RelationPage($id: ID!, $first: Int, $after: String) {
  record(id: $id) {
    relationPage(first: $first, after: $after) {
      nodes {
        ...RelationFields
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}`) as unknown as TypedDocumentString<RelationPageQuery, RelationPageQueryVariables>;
export const SlotHistoryDocument = new TypedDocumentString(`
    query SlotHistory($id: ID!, $first: Int, $asOf: DateTime) {
  slotHistory(id: $id, first: $first, asOf: $asOf) {
    ...RecordFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<SlotHistoryQuery, SlotHistoryQueryVariables>;
export const DisputesDocument = new TypedDocumentString(`
    query Disputes($first: Int, $after: String) {
  disputes(first: $first, after: $after) {
    nodes {
      parties {
        ...RecordFields
      }
      since
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<DisputesQuery, DisputesQueryVariables>;
export const ThreadDocument = new TypedDocumentString(`
    query Thread($id: String!, $asOf: DateTime, $first: Int) {
  thread(id: $id, asOf: $asOf) {
    id
    working {
      ...RecordFields
    }
    turns(first: $first) {
      nodes {
        ...RecordFields
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
    episodes(first: $first) {
      nodes {
        ...RecordFields
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<ThreadQuery, ThreadQueryVariables>;
export const HistoryDocument = new TypedDocumentString(`
    query History($id: ID!, $first: Int, $after: String) {
  history(id: $id, first: $first, after: $after) {
    nodes {
      validFrom
      validTo
      record {
        ...RecordFields
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<HistoryQuery, HistoryQueryVariables>;
export const AuditLogDocument = new TypedDocumentString(`
    query AuditLog($id: ID!, $first: Int, $after: String) {
  auditLog(id: $id, first: $first, after: $after) {
    nodes {
      action
      actor
      timestamp
      rationale
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<AuditLogQuery, AuditLogQueryVariables>;
export const RetrieveGraphDocument = new TypedDocumentString(`
    query RetrieveGraph($input: RetrieveGraphInput!) {
  retrieveGraph(input: $input) {
    __typename
    ... on RetrieveGraphSuccess {
      retrievalId
      nothingKnown
      roots
      nodes {
        record {
          ...RecordFields
        }
        root
        hop
        score
        strength
        duplicateCount
        duplicateIds
        why {
          matchedWords
          names
          timedBy
          viaId
          words
          vectors
          recency
          signals {
            signal
            value
            weight
            share
          }
        }
      }
      edges {
        ...RelationFields
      }
      rendering
      citations {
        number
        recordId
      }
      namedTimes {
        words
        start
        end
      }
      selection {
        chosenId
        confidence
        needsMore
        askFor
        ranked {
          recordId
          score
          applicability
          recency
          successRate
        }
      }
      limits {
        reached
        hubs
        cuts {
          limit
          leftOut
          because
        }
      }
      freshness {
        ...FreshnessFields
      }
      vectorFallback
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment FreshnessFields on Freshness {
  engine
  fallback
  mirrorLagSeconds
}`) as unknown as TypedDocumentString<RetrieveGraphQuery, RetrieveGraphQueryVariables>;
export const WhyNotDocument = new TypedDocumentString(`
    query WhyNot($id: ID!, $input: RetrieveGraphInput!) {
  whyNot(id: $id, input: $input) {
    __typename
    ... on WhyNotSuccess {
      record {
        ...RecordFields
      }
      returned
      reasons {
        reason
        message
      }
      rank
      score
      candidates
      matchedWords
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}`) as unknown as TypedDocumentString<WhyNotQuery, WhyNotQueryVariables>;
export const ReportOutcomeDocument = new TypedDocumentString(`
    mutation ReportOutcome($input: ReportOutcomeInput!) {
  reportOutcome(input: $input) {
    __typename
    ... on ReportOutcomeSuccess {
      ...OutcomeFields
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment OutcomeFields on ReportOutcomeSuccess {
  retrievalId
  outcome
  reinforcedIds
  penalizedIds
  skippedIds
  sequence
  replayed
}`) as unknown as TypedDocumentString<ReportOutcomeMutation, ReportOutcomeMutationVariables>;
export const ReportOutcomesDocument = new TypedDocumentString(`
    mutation ReportOutcomes($input: ReportOutcomesInput!) {
  reportOutcomes(input: $input) {
    __typename
    ... on ReportOutcomesSuccess {
      results {
        ...OutcomeFields
      }
    }
    ...ErrorFields
  }
}
    fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment OutcomeFields on ReportOutcomeSuccess {
  retrievalId
  outcome
  reinforcedIds
  penalizedIds
  skippedIds
  sequence
  replayed
}`) as unknown as TypedDocumentString<ReportOutcomesMutation, ReportOutcomesMutationVariables>;
export const SupersedeDocument = new TypedDocumentString(`
    mutation Supersede($input: SupersedeInput!) {
  supersede(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<SupersedeMutation, SupersedeMutationVariables>;
export const AmendDocument = new TypedDocumentString(`
    mutation Amend($input: AmendInput!) {
  amend(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<AmendMutation, AmendMutationVariables>;
export const ReviseRecordsDocument = new TypedDocumentString(`
    mutation ReviseRecords($input: ReviseRecordsInput!) {
  reviseRecords(input: $input) {
    __typename
    ... on ReviseRecordsSuccess {
      results {
        ...RevisedFields
      }
    }
    ... on VersionConflict {
      current
    }
    ...ErrorFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<ReviseRecordsMutation, ReviseRecordsMutationVariables>;
export const ForkDocument = new TypedDocumentString(`
    mutation Fork($input: ForkInput!) {
  fork(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<ForkMutation, ForkMutationVariables>;
export const SupersedeRecordDocument = new TypedDocumentString(`
    mutation SupersedeRecord($input: SupersedeRecordInput!) {
  supersedeRecord(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<SupersedeRecordMutation, SupersedeRecordMutationVariables>;
export const ForkRecordDocument = new TypedDocumentString(`
    mutation ForkRecord($input: ForkRecordInput!) {
  forkRecord(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<ForkRecordMutation, ForkRecordMutationVariables>;
export const ContestDocument = new TypedDocumentString(`
    mutation Contest($input: ContestInput!) {
  contest(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<ContestMutation, ContestMutationVariables>;
export const ResolveContestDocument = new TypedDocumentString(`
    mutation ResolveContest($input: ResolveContestInput!) {
  resolveContest(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<ResolveContestMutation, ResolveContestMutationVariables>;
export const RetractDocument = new TypedDocumentString(`
    mutation Retract($input: RetractInput!) {
  retract(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<RetractMutation, RetractMutationVariables>;
export const MergeDocument = new TypedDocumentString(`
    mutation Merge($input: MergeInput!) {
  merge(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<MergeMutation, MergeMutationVariables>;
export const UnmergeDocument = new TypedDocumentString(`
    mutation Unmerge($input: UnmergeInput!) {
  unmerge(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<UnmergeMutation, UnmergeMutationVariables>;
export const DeleteRecordDocument = new TypedDocumentString(`
    mutation DeleteRecord($input: DeleteRecordInput!) {
  deleteRecord(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<DeleteRecordMutation, DeleteRecordMutationVariables>;
export const ReinforceDocument = new TypedDocumentString(`
    mutation Reinforce($input: ReinforceInput!) {
  reinforce(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<ReinforceMutation, ReinforceMutationVariables>;
export const PenalizeDocument = new TypedDocumentString(`
    mutation Penalize($input: PenalizeInput!) {
  penalize(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<PenalizeMutation, PenalizeMutationVariables>;
export const PinDocument = new TypedDocumentString(`
    mutation Pin($input: PinInput!) {
  pin(input: $input) {
    ...RevisionFields
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment ReceiptFields on CaptureReceipt {
  candidateId
  sequence
  state
  mentions {
    name
    outcome
    entityId
    candidateIds
  }
  changes {
    effect
    record {
      id
      name
    }
  }
  unindexedTerms
  textReading {
    state
    attempts
    nextTryAt
  }
  warnings {
    code
    message
    path
  }
}
fragment ErrorFields on MemoryError {
  code
  message
  path
  retryable
  retryAfter
  problems {
    code
    message
    path
  }
}
fragment RevisionFields on RevisionResult {
  __typename
  ... on RevisionSuccess {
    ...RevisedFields
  }
  ... on VersionConflict {
    current
  }
  ...ErrorFields
}
fragment RevisedFields on RevisionSuccess {
  record {
    ...RecordFields
  }
  records {
    ...RecordFields
  }
  edges {
    ...RelationFields
  }
  receipt {
    ...ReceiptFields
  }
  queued
  replayed
}`) as unknown as TypedDocumentString<PinMutation, PinMutationVariables>;
export const RevisionImpactDocument = new TypedDocumentString(`
    query RevisionImpact($id: ID!) {
  revisionImpact(id: $id) {
    records {
      record {
        ...RecordFields
      }
      becomes
      sourcesLeft
    }
    complete
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}`) as unknown as TypedDocumentString<RevisionImpactQuery, RevisionImpactQueryVariables>;
export const ReevaluationsDocument = new TypedDocumentString(`
    query Reevaluations {
  reevaluations {
    recordId
    causeId
    queuedAt
    attempts
    error
  }
}
    `) as unknown as TypedDocumentString<ReevaluationsQuery, ReevaluationsQueryVariables>;
export const RevisionRulesDocument = new TypedDocumentString(`
    query RevisionRules {
  revisionRules {
    revision
    type
    allowed
    evidence
  }
}
    `) as unknown as TypedDocumentString<RevisionRulesQuery, RevisionRulesQueryVariables>;
export const HealthDocument = new TypedDocumentString(`
    query Health {
  health {
    ok
    version
    checks {
      name
      ok
      detail
      checkedAt
      ageSeconds
      stale
    }
  }
}
    `) as unknown as TypedDocumentString<HealthQuery, HealthQueryVariables>;
export const MetricsDocument = new TypedDocumentString(`
    query Metrics {
  metrics {
    total
    active
    contested
    pinned
    auditEntries
    createdLastDay
    growthRate
    meanSalience
    meanConfidence
    salienceDistribution
    byType {
      type
      total
      current
    }
    revisionRate
    contradictionRate
    retrievalUsefulness
    competenceSuccessRate
    planReuseFrequency
    mirrorLagSeconds
    queueDepths {
      queue
      depth
    }
    countedAt
  }
}
    `) as unknown as TypedDocumentString<MetricsQuery, MetricsQueryVariables>;
export const TypedRecordDocument = new TypedDocumentString(`
    query TypedRecord($id: ID!, $asOf: DateTime, $validAt: DateTime) {
  record(id: $id, asOf: $asOf, validAt: $validAt) {
    ...RecordFields
    ...TypedFields
    relations {
      ...RelationFields
      source {
        id
        type
        name
      }
      target {
        id
        type
        name
      }
    }
    provenance {
      createdBy
      sources {
        kind
        ref
        timestamp
        record {
          id
          type
          name
        }
      }
    }
  }
}
    fragment RecordFields on MemoryRecord {
  id
  type
  state
  version
  name
  text
  payload
  scope
  sensitivity
  tags
  salience
  confidence
  conditions
  redacted
  createdAt
  updatedAt
  occurredAt
  validFrom
  validTo
}
fragment RelationFields on Relation {
  id
  predicate
  inverse
  sourceId
  targetId
  weight
  createdAt
}
fragment TypedFields on MemoryRecord {
  typed {
    __typename
    ... on Fact {
      subject
      predicate
      object
      validity {
        mode
        conditions
        start
        end
      }
      evidence {
        kind
        ref
        timestamp
        hash
      }
      revisionPolicy
      revision {
        supersedes
        supersededBy
        status
      }
    }
    ... on Entity {
      canonicalName
      primaryType
      types
      aliases {
        value
        kind
        locale
      }
      identifiers {
        namespace
        value
      }
      summary
    }
    ... on Episode {
      timeline {
        t
        eventKind
        ref
        summary
        content
      }
      toolGraph {
        id
        tool
        args
        result
        timestamp
        dependsOn
      }
      environment {
        os
        osVersion
        toolVersions
        workingDirectory
        context
      }
      outcome
      outcomeReason
      artifacts
      toolGraphRef
    }
    ... on WorkingState {
      threadId
      taskState: state
      activeConstraints {
        type
        key
        value
        required
      }
      nextActions
      openQuestions
      contextSummary
    }
    ... on Competence {
      skillName
      triggers {
        signal
        conditions
      }
      recipe {
        step
        tool
        argsSchema
        validation
      }
      requiredTools
      failureModes
      fallbacks
      performance {
        successCount
        failureCount
        successRate
        avgLatencyMs
        lastUsedAt
      }
      skillVersion: version
      lesson {
        task
        trigger
        mistake
        antiPattern
        solution
        correctPattern
        codeExample
        domains
        confidence
        source
        timestamp
        verified
        verificationAttempted
        frequency
        retrievals
        helpfulRetrievals
        lastRetrievedAt
      }
    }
    ... on Plan {
      planId
      planVersion: version
      intent
      nodes {
        id
        op
        params
        guards
        label
        metrics {
          executionCount
          failureCount
        }
      }
      edges {
        source
        target
        kind
      }
      constraints
      inputsSchema
      outputsSchema
      metrics {
        avgLatencyMs
        failureRate
        executionCount
        lastExecutedAt
      }
    }
  }
}`) as unknown as TypedDocumentString<TypedRecordQuery, TypedRecordQueryVariables>;