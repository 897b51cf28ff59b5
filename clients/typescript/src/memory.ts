// The memory as an agent's program uses it: remember, recall, threads, and the whole API beneath by `run`.

import { Client, type ClientOptions, type FollowOptions, type Page } from "./client.js";
import { newKey, type Narrowed } from "./documents.js";
import { isObject, NotFound, shaped } from "./errors.js";
import {
  AmendDocument,
  ChangedDocument,
  CreditLessonsDocument,
  EraseDocument,
  ExplainDocument,
  LearnLessonDocument,
  PlaybookDocument,
  RecallDocument,
  RecordsDocument,
  RememberDocument,
  ReportOutcomeDocument,
  RetractDocument,
  type ChangeFieldsFragment,
  type ChangeFilter,
  type EvidenceInput,
  type FactInput,
  type LearnLessonInput,
  type MemoryInput,
  type MemoryType,
  type Outcome,
  type RecordFieldsFragment,
  type RecordFilter,
  type RecordOrder,
  type RecordsQuery,
  type RememberInput,
  type RetrieveGraphInput,
} from "./generated/graphql.js";
import { memoryOf } from "./inputs.js";
import {
  correctedOf,
  explanationOf,
  learnedOf,
  recalledOf,
  rememberedOf,
  type Explanation,
  type Lessons,
  type Recalled,
  type Remembered,
  type Reported,
} from "./memories.js";
import { Thread } from "./thread.js";
import type { CallOptions } from "./transport.js";

export interface MemoryOptions extends ClientOptions {
  /** Who reports what is remembered; "typescript" by default. */
  readonly source?: string;
}

/** More about what is remembered. */
export interface RememberOptions extends CallOptions, Partial<Omit<RememberInput, "memory">> {
  /** Whom or what a text concerns. */
  readonly about?: string;
  /** Names that a text has. */
  readonly mentions?: readonly string[];
}

/** How much is recalled, and of what. */
export interface RecallOptions extends CallOptions {
  /** Memories at most; 10 by default. */
  readonly limit?: number;
  /** Types of record that are looked for; by default any. */
  readonly types?: readonly MemoryType[];
  /** Scopes to search beside records without one; by default all of the credential. */
  readonly scopes?: readonly string[];
  /** Strength that a memory must have at least, from 0 to 1. */
  readonly minStrength?: number;
  /** Tokens of the text at most; 1,000 by default. */
  readonly tokenBudget?: number;
  /** Conversations whose turns are left out. */
  readonly excludeThreads?: readonly string[];
  /** What was known at an instant. */
  readonly asOf?: string;
  /** What held at an instant. */
  readonly validAt?: string;
}

/** More about a correction. */
export interface CorrectOptions extends CallOptions {
  /** Sources of the correction; by default a person, by the client's `source`. */
  readonly evidence?: readonly EvidenceInput[];
  /** Version that was read: where the record has another, VersionConflict is thrown. */
  readonly expectedVersion?: number;
  readonly idempotencyKey?: string;
}

/** Milliseconds for an erasure, which may take twenty times as long as other operations. */
const ERASING_MS = 630_000;

/**
 * Return a client of one Stratagraph service. Every method throws StratagraphError.
 *
 *     const memory = createClient({ url: "http://127.0.0.1:8000" });
 *     await memory.remember("Alice moved to Berlin in May");
 *     console.log((await memory.recall("Where does Alice live?")).text);
 */
export function createClient(options: MemoryOptions): Memory {
  return new Memory(options);
}

export class Memory extends Client {
  /** Who reports what is remembered. */
  readonly source: string;

  constructor(options: MemoryOptions) {
    super(options);
    this.source = options.source ?? "typescript";
  }

  /**
   * Remember a text that is to last, a fact, or any other memory. The same again strengthens it. A fact stands beside
   * others of its subject and predicate, of which several may hold. With `revisionPolicy: "REPLACE"` it takes the place of
   * those that it contradicts, and so will later ones; for predicates with a single value, such as `age`, always.
   */
  async remember(what: string | FactInput | MemoryInput, options: RememberOptions = {}): Promise<Remembered> {
    const { about, mentions, signal, deadlineMs, traceparent, ...more } = options;
    const context = mentions === undefined ? {} : { context: { mentions: mentions.map((name) => ({ name })) } };
    const input = { source: this.source, ...context, ...more, memory: memoryOf(what, about) };
    const { remember } = await this.run(RememberDocument, { input }, callOf({ signal, deadlineMs, traceparent }));
    return shaped(() => rememberedOf(remember));
  }

  /**
   * Return the memories that fit a question or a task best, and their text for a prompt: a line for each, as far as
   * `tokenBudget` has room, and none where it has not room for one.
   */
  async recall(query: string, options: RecallOptions = {}): Promise<Recalled> {
    const { limit = 10, tokenBudget = 1_000, minStrength, asOf, validAt, signal, deadlineMs, traceparent } = options;
    const { types = [], scopes, excludeThreads = [] } = options;
    const input: RetrieveGraphInput = {
      taskDescriptor: query,
      rootLimit: limit,
      nodeLimit: limit,
      maxHops: 0,
      memoryTypes: [...types],
      scopes: scopes === undefined ? null : [...scopes],
      excludeThreadIds: [...excludeThreads],
      citationStyle: "NUMBER",
      ...{ tokenBudget, minStrength, asOf, validAt },
    };
    const { retrieveGraph } = await this.run(RecallDocument, { input }, callOf({ signal, deadlineMs, traceparent }));
    return shaped(() => recalledOf(retrieveGraph));
  }

  /** Say how a task ended for which memories were recalled; those that were used are strengthened or weakened. */
  async reportOutcome(
    recalled: Recalled | string,
    outcome: Outcome,
    usedIds: readonly string[] = [],
    options: CallOptions = {},
  ): Promise<Reported> {
    const retrievalId = typeof recalled === "string" ? recalled : recalled.retrievalId;
    const input = { retrievalId, outcome, usedRecordIds: [...usedIds] };
    const { reportOutcome } = await this.run(ReportOutcomeDocument, { input }, options);
    shaped(() => reportOutcome.reinforcedIds.length);
    return reportOutcome;
  }

  /** Return why a memory is known: its sources, its versions, who changed it, and what it is related to. */
  async explain(recordId: string, options: CallOptions = {}): Promise<Explanation> {
    const found = await this.run(ExplainDocument, { id: recordId }, options);
    if (found.record === null) {
      const message = `There is no record ${recordId} that this credential may read; take an id from recall or records.`;
      throw new NotFound(message, { code: "NOT_FOUND", path: ["id"] });
    }
    const { record } = found;
    return shaped(() => explanationOf(record, found));
  }

  /**
   * Correct a memory for a reason: `changes` is the new text of one that was remembered as a text, or what changes in
   * the payload, as a JSON merge patch.
   */
  async correct(
    recordId: string,
    changes: string | Readonly<Record<string, unknown>>,
    reason: string,
    options: CorrectOptions = {},
  ): Promise<Remembered> {
    const { evidence, expectedVersion, idempotencyKey, ...call } = options;
    const input = {
      recordId,
      changes: typeof changes === "string" ? { object: changes } : changes,
      evidence: evidence?.map((one) => ({ ...one, kind: one.kind.toLowerCase() })) ?? [
        { kind: "human", ref: this.source },
      ],
      rationale: reason,
      expectedVersion: expectedVersion ?? null,
      idempotencyKey: idempotencyKey ?? null,
    };
    const { amend } = await this.run(AmendDocument, { input }, call);
    return shaped(() => correctedOf(amend, recordId));
  }

  /**
   * Retract a memory: it is no longer recalled, and stays in the history. With `erase`, remove it and all that was
   * derived from it alone, with every trace; `reason` must not repeat it.
   */
  async forget(
    recordId: string,
    reason: string,
    options: CallOptions & { readonly erase?: boolean } = {},
  ): Promise<void> {
    const { erase = false, ...call } = options;
    if (erase) {
      const input = { target: { recordId }, rationale: reason };
      const { erase: erased } = await this.run(EraseDocument, { input }, { deadlineMs: ERASING_MS, ...call });
      shaped(() => erased.receipt);
    } else {
      const { retract } = await this.run(RetractDocument, { input: { recordId, rationale: reason } }, call);
      shaped(() => retract.receipt);
    }
  }

  /** Return lessons from earlier mistakes for a task. */
  async lessons(task?: string, options: CallOptions & { readonly limit?: number } = {}): Promise<Lessons> {
    const { limit = 10, ...call } = options;
    const { playbook } = await this.run(PlaybookDocument, { query: task ?? null, limit, recordRetrievals: true }, call);
    shaped(() => playbook.text.length + playbook.lessonIds.length);
    return playbook;
  }

  /** Say that lessons helped: all of them, or those with `helpfulIds`. They come first the next time. */
  async credit(lessons: Lessons, helpfulIds?: readonly string[], options: CallOptions = {}): Promise<void> {
    const input = { playbookId: lessons.playbookId, lessonIds: helpfulIds === undefined ? null : [...helpfulIds] };
    const { creditLessons } = await this.run(CreditLessonsDocument, { input }, options);
    shaped(() => Object.keys(creditLessons).length || undefined);
  }

  /** Remember what to do for a task, and the mistake that taught it. A lesson on the same task is merged. */
  async learnLesson(
    task: string,
    solution: string,
    options: CallOptions & Partial<Omit<LearnLessonInput, "task" | "solution">> = {},
  ): Promise<Remembered> {
    const { signal, deadlineMs, traceparent, ...more } = options;
    const input = { source: this.source, ...more, task, solution };
    const { learnLesson } = await this.run(LearnLessonDocument, { input }, callOf({ signal, deadlineMs, traceparent }));
    return shaped(() => learnedOf(learnLesson));
  }

  /** Yield the records that fit a filter, page by page. */
  records(
    filter: RecordFilter = {},
    options: CallOptions & { readonly order?: RecordOrder } = {},
  ): AsyncGenerator<RecordFieldsFragment, void, undefined> {
    const { order, ...call } = options;
    const given = { filter, first: 100, ...(order === undefined ? {} : { order }) };
    const pageOf = (answer: Narrowed<RecordsQuery>): Page<RecordFieldsFragment> =>
      shaped(() => (isObject(answer.records) ? answer.records : undefined)) as Page<RecordFieldsFragment>;
    return this.list(RecordsDocument, given, { ...call, in: pageOf });
  }

  /** Yield changes as they come, each once, whatever becomes of the connection; each has a position to go on from. */
  changes(filter: ChangeFilter = {}, options: FollowOptions = {}): AsyncGenerator<ChangeFieldsFragment, void, undefined> {
    return this.follow(ChangedDocument, { filter }, options);
  }

  /**
   * Capture a conversation while `talk` runs, and return what it returns. At the end the conversation is closed with its
   * outcome, so that something can be learned from it: SUCCESS, or FAILURE if `talk` throws, unless it gave one. One
   * that is ended by `signal` is left open.
   */
  async thread<Result>(
    id: string | null,
    talk: (thread: Thread) => Result | Promise<Result>,
    options: CallOptions = {},
  ): Promise<Result> {
    const thread = new Thread(this, id ?? newKey(), options);
    let result: Result;
    try {
      result = await talk(thread);
    } catch (error) {
      await thread.fail(error);
      throw error;
    }
    if (thread.outcome === null) await thread.close("SUCCESS");
    return result;
  }
}

/** Return the options of a call without those that are not given. */
function callOf(given: { [Name in keyof CallOptions]: CallOptions[Name] | undefined }): CallOptions {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
