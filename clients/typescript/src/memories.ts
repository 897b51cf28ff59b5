// What the methods of `Memory` return, made of the answers of the API.

import type {
  CapturedFieldsFragment,
  ExplainQuery,
  LearnLessonMutation,
  MemoryType,
  Outcome,
  RecallQuery,
  RecordState,
  RevisedFieldsFragment,
} from "./generated/graphql.js";
import type { Narrowed } from "./documents.js";

/**
 * What became of something to remember, or of a correction. `id` is the record that it became or was added to; `isNew` is false where it was
 * known already. `replaced` are the ids of records that it superseded, `inDoubt` of those that it contradicts.
 */
export interface Remembered {
  readonly id: string;
  readonly text: string;
  readonly isNew: boolean;
  readonly sequence: string;
  readonly replaced: readonly string[];
  readonly inDoubt: readonly string[];
  readonly warnings: readonly string[];
}

/** One memory of an answer. `strength`, from 0 to 1, says how well it fits. */
export interface RecalledMemory {
  readonly id: string;
  readonly type: MemoryType;
  readonly text: string;
  readonly state: RecordState;
  readonly strength: number | null;
  readonly scope: string;
  readonly occurredAt: string | null;
}

/**
 * An answer: its memories, best first, and `text`, the same as lines for a prompt, as far as the budget has room.
 * `retrievalId` is for `reportOutcome`. `nothingKnown` says that no memory fits. RetrieveGraphDocument has the relations
 * between them, and why each was found.
 */
export interface Recalled {
  readonly text: string;
  readonly memories: readonly RecalledMemory[];
  readonly retrievalId: string;
  readonly nothingKnown: boolean;
}

type Learned = Narrowed<LearnLessonMutation>["learnLesson"];

/** Lessons from mistakes for a task: lines for a prompt, and what is needed to credit them. */
export interface Lessons {
  readonly text: string;
  readonly lessonIds: readonly string[];
  readonly playbookId: string;
}

/** One thing that a memory rests on: its kind, what it is, when it was, and who reported it. */
export interface Source {
  readonly kind: string;
  readonly ref: string;
  readonly at: string | null;
  readonly by: string | null;
}

/** What a memory said from one instant to another; `until` is null for what it says now. */
export interface Version {
  readonly version: number;
  readonly text: string;
  readonly state: RecordState;
  readonly since: string;
  readonly until: string | null;
}

/** One change of a memory: what was done, by whom, when and why. */
export interface AuditEntry {
  readonly action: string;
  readonly actor: string;
  readonly at: string;
  readonly reason: string | null;
}

/** A relation to another record. `outgoing` says that it reads from this memory to the other one. */
export interface Related {
  readonly predicate: string;
  readonly outgoing: boolean;
  readonly id: string;
  readonly type: MemoryType;
  readonly name: string;
}

/**
 * Why a memory is known: what it rests on, how it became what it is, and what it is related to. `versions` and `changes`
 * are 100 at most, and empty where the credential may not read them.
 */
export interface Explanation {
  readonly id: string;
  readonly type: MemoryType;
  readonly text: string;
  readonly state: RecordState;
  readonly version: number;
  readonly confidence: number;
  readonly salience: number;
  readonly scope: string;
  readonly sources: readonly Source[];
  readonly versions: readonly Version[];
  readonly changes: readonly AuditEntry[];
  readonly related: readonly Related[];
}

/** What a report of an outcome changed. */
export interface Reported {
  readonly outcome: Outcome;
  readonly reinforcedIds: readonly string[];
  readonly penalizedIds: readonly string[];
}

export function rememberedOf({ primaryRecord, createdRecords, receipt }: CapturedFieldsFragment): Remembered {
  const changed = (effect: string): string[] =>
    receipt.changes.filter((one) => one.effect === effect).map((one) => one.record.id);
  return {
    id: primaryRecord.id,
    text: primaryRecord.name ?? primaryRecord.text ?? "",
    isNew: createdRecords.some((one) => one.id === primaryRecord.id),
    sequence: receipt.sequence,
    replaced: changed("SUPERSEDED"),
    inDoubt: changed("CONTESTED"),
    warnings: receipt.warnings.map((one) => one.message),
  };
}

export function recalledOf(answer: Narrowed<RecallQuery>["retrieveGraph"]): Recalled {
  return {
    text: answer.rendering ?? "",
    memories: answer.nodes
      .filter((node) => node.root)
      .map(({ record, strength }) => ({
        id: record.id,
        type: record.type,
        text: textOf(record),
        state: record.state,
        strength,
        scope: record.scope,
        occurredAt: record.occurredAt,
      })),
    retrievalId: answer.retrievalId,
    nothingKnown: answer.nothingKnown,
  };
}

/** Return what is known of a record and of how it came to be. */
export function explanationOf(record: NonNullable<ExplainQuery["record"]>, found: ExplainQuery): Explanation {
  const { id, type, state, version, confidence, salience, scope } = record;
  return {
    ...{ id, type, state, version, confidence, salience, scope, text: textOf(record) },
    sources: (record.provenance?.sources ?? []).map((one) => ({
      kind: one.kind,
      ref: one.ref,
      at: one.timestamp,
      by: one.createdBy,
    })),
    versions: found.history.nodes.map((one) => ({
      version: one.record.version,
      text: textOf(one.record),
      state: one.record.state,
      since: one.validFrom,
      until: one.validTo,
    })),
    changes: found.auditLog.nodes.map((one) => ({
      action: one.action,
      actor: one.actor,
      at: one.timestamp,
      reason: one.rationale,
    })),
    related: (record.relations ?? []).flatMap(({ predicate, sourceId, source, target }) => {
      const outgoing = sourceId === id;
      const other = outgoing ? target : source;
      return other === null ? [] : [{ predicate, outgoing, id: other.id, type: other.type, name: other.name ?? "" }];
    }),
  };
}

/** Return what became of a correction of the record `replacedId`. */
export function correctedOf({ record, receipt, replayed }: RevisedFieldsFragment, replacedId: string): Remembered {
  return {
    id: record.id,
    text: textOf(record),
    isNew: !replayed,
    sequence: receipt.sequence,
    replaced: [replacedId],
    inDoubt: [],
    warnings: receipt.warnings.map((one) => one.message),
  };
}

export function learnedOf({ lesson, merged, receipt, retiredIds }: Learned): Remembered {
  return {
    id: lesson.id,
    text: textOf(lesson),
    isNew: !merged,
    sequence: receipt.sequence,
    replaced: retiredIds,
    inDoubt: [],
    warnings: receipt.warnings.map((one) => one.message),
  };
}

function textOf(record: { readonly text: string | null; readonly name: string | null }): string {
  return record.text ?? record.name ?? "";
}
