// What the methods of `Memory` return, made of the answers of the API.

import type {
  AuditLogQuery,
  CapturedFieldsFragment,
  HistoryQuery,
  MemoryType,
  Outcome,
  RecordQuery,
  RecordState,
  RetrieveGraphQuery,
  RevisedFieldsFragment,
} from "./generated/graphql.js";
import type { Narrowed } from "./documents.js";

/**
 * What became of something to remember. `id` is the record that it became or was added to; `isNew` is false where it was
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

/** The whole answer of `retrieveGraph`. */
export type Answer = Narrowed<RetrieveGraphQuery>["retrieveGraph"];

/**
 * An answer: its memories, best first, and `text`, the same as lines for a prompt. `retrievalId` is for `reportOutcome`.
 * `nothingKnown` says that no memory fits. `answer` has what is around them: relations, reasons, limits.
 */
export interface Recalled {
  readonly text: string;
  readonly memories: readonly RecalledMemory[];
  readonly retrievalId: string;
  readonly nothingKnown: boolean;
  readonly answer: Answer;
}

/** Lessons from mistakes for a task: lines for a prompt, and what is needed to credit them. */
export interface Lessons {
  readonly text: string;
  readonly lessonIds: readonly string[];
  readonly playbookId: string;
}

/** Where a memory comes from, how it hangs together, and what became of it. The lists have the first 50 of each. */
export interface Explained {
  readonly record: NonNullable<RecordQuery["record"]>;
  readonly versions: HistoryQuery["history"]["nodes"];
  readonly changes: AuditLogQuery["auditLog"]["nodes"];
}

/** A memory after a change; a fact that was corrected is a new record. */
export interface Corrected {
  readonly id: string;
  readonly text: string;
  readonly state: RecordState;
  readonly version: number;
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

export function recalledOf(answer: Answer): Recalled {
  return {
    text: answer.rendering ?? "",
    memories: answer.nodes
      .filter((node) => node.root)
      .map(({ record, strength }) => ({
        id: record.id,
        type: record.type,
        text: record.text ?? record.name ?? "",
        state: record.state,
        strength,
        scope: record.scope,
        occurredAt: record.occurredAt,
      })),
    retrievalId: answer.retrievalId,
    nothingKnown: answer.nothingKnown,
    answer,
  };
}

export function correctedOf({ record }: RevisedFieldsFragment): Corrected {
  return { id: record.id, text: record.text ?? record.name ?? "", state: record.state, version: record.version };
}
