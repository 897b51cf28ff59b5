// The memory as an agent's program uses it: remember, recall, threads, and the whole API beneath by `run`.

import { Client, type ClientOptions, type FollowOptions } from "./client.js";
import { newKey } from "./documents.js";
import { NotFound } from "./errors.js";
import {
  AmendDocument,
  AuditLogDocument,
  ChangedDocument,
  CreditLessonsDocument,
  HistoryDocument,
  LearnLessonDocument,
  PlaybookDocument,
  RecordDocument,
  RecordsDocument,
  RememberDocument,
  ReportOutcomeDocument,
  RetractDocument,
  RetrieveGraphDocument,
  type ChangeFieldsFragment,
  type ChangeFilter,
  type EvidenceInput,
  type FactInput,
  type LearnLessonInput,
  type MemoryInput,
  type Outcome,
  type RecordFieldsFragment,
  type RecordFilter,
  type RecordOrder,
  type RememberInput,
  type RetrieveGraphInput,
} from "./generated/graphql.js";
import {
  correctedOf,
  recalledOf,
  rememberedOf,
  type Corrected,
  type Explained,
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
export interface RecallOptions extends CallOptions, Partial<Omit<RetrieveGraphInput, "taskDescriptor">> {
  /** Memories at most; 10 by default. */
  readonly limit?: number;
}

/** More about a correction. */
export interface CorrectOptions extends CallOptions {
  /** Sources of the correction; by default the client's `source`, as an observation. */
  readonly evidence?: readonly EvidenceInput[];
  /** Version that was read: where the record has another, VersionConflict is thrown. */
  readonly expectedVersion?: number;
  readonly idempotencyKey?: string;
}

/** Lines of a record that an explanation lists of each kind. */
const EXPLAINED = 50;

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
   * Remember a text that is to last, a fact, which takes the place of what it contradicts, or any other memory. The same
   * again strengthens it.
   */
  async remember(what: string | FactInput | MemoryInput, options: RememberOptions = {}): Promise<Remembered> {
    const { about, mentions, signal, deadlineMs, traceparent, ...more } = options;
    const context = mentions === undefined ? {} : { context: { mentions: mentions.map((name) => ({ name })) } };
    const input = { source: this.source, ...context, ...more, memory: memoryOf(what, about) };
    const { remember } = await this.run(RememberDocument, { input }, callOf({ signal, deadlineMs, traceparent }));
    return rememberedOf(remember);
  }

  /** Return the memories that fit a question or a task best, and their text for a prompt. */
  async recall(query: string, options: RecallOptions = {}): Promise<Recalled> {
    const { limit = 10, signal, deadlineMs, traceparent, ...more } = options;
    const input: RetrieveGraphInput = {
      rootLimit: limit,
      tokenBudget: 1_000,
      citationStyle: "NUMBER",
      ...more,
      taskDescriptor: query,
    };
    const call = callOf({ signal, deadlineMs, traceparent });
    const { retrieveGraph } = await this.run(RetrieveGraphDocument, { input }, call);
    return recalledOf(retrieveGraph);
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
    return reportOutcome;
  }

  /** Return where a memory comes from, what it is related to, and what became of it. */
  async explain(recordId: string, options: CallOptions = {}): Promise<Explained> {
    const asked = { id: recordId, first: EXPLAINED };
    const [{ record }, { history }, { auditLog }] = await Promise.all([
      this.run(RecordDocument, { id: recordId }, options),
      this.run(HistoryDocument, asked, options),
      this.run(AuditLogDocument, asked, options),
    ]);
    if (record === null) {
      const message = `There is no record ${recordId} that this credential may see; recall or list records`;
      throw new NotFound(message, { code: "NOT_FOUND", path: ["id"] });
    }
    return { record, versions: history.nodes, changes: auditLog.nodes };
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
  ): Promise<Corrected> {
    const { evidence, expectedVersion, idempotencyKey, ...call } = options;
    const input = {
      recordId,
      changes: typeof changes === "string" ? { object: changes } : changes,
      evidence: evidence?.map((one) => ({ ...one, kind: one.kind.toLowerCase() })) ?? [
        { kind: "observation", ref: this.source },
      ],
      rationale: reason,
      expectedVersion: expectedVersion ?? null,
      idempotencyKey: idempotencyKey ?? null,
    };
    const { amend } = await this.run(AmendDocument, { input }, call);
    return correctedOf(amend);
  }

  /** Retract a memory: it is no longer recalled, and stays in the history. EraseDocument erases. */
  async forget(recordId: string, reason: string, options: CallOptions = {}): Promise<void> {
    await this.run(RetractDocument, { input: { recordId, rationale: reason } }, options);
  }

  /** Return lessons from earlier mistakes for a task. */
  async lessons(task?: string, options: CallOptions & { readonly limit?: number } = {}): Promise<Lessons> {
    const { limit = 10, ...call } = options;
    const { playbook } = await this.run(PlaybookDocument, { query: task ?? null, limit, recordRetrievals: true }, call);
    return playbook;
  }

  /** Learn from a mistake: what the task was, what went wrong, what to do instead. Returns the lesson's id. */
  async learn(lesson: LearnLessonInput, options: CallOptions = {}): Promise<string> {
    const { learnLesson } = await this.run(LearnLessonDocument, { input: lesson }, options);
    return learnLesson.lesson.id;
  }

  /** Count lessons as helpful: all of a playbook, or those of it that helped. Returns the ids of those credited. */
  async credit(lessons: Lessons, helped?: readonly string[], options: CallOptions = {}): Promise<readonly string[]> {
    const input = { playbookId: lessons.playbookId, lessonIds: helped === undefined ? null : [...helped] };
    const { creditLessons } = await this.run(CreditLessonsDocument, { input }, options);
    return creditLessons.lessonIds;
  }

  /** Yield the records that fit a filter, page by page. */
  records(
    filter: RecordFilter = {},
    options: CallOptions & { readonly order?: RecordOrder } = {},
  ): AsyncGenerator<RecordFieldsFragment, void, undefined> {
    const { order, ...call } = options;
    return this.list(RecordsDocument, { filter, first: 100, ...(order === undefined ? {} : { order }) }, call);
  }

  /** Yield changes as they come, each once, whatever becomes of the connection; each has a position to go on from. */
  changes(filter: ChangeFilter = {}, options: FollowOptions = {}): AsyncGenerator<ChangeFieldsFragment, void, undefined> {
    return this.follow(ChangedDocument, { filter }, options);
  }

  /**
   * Capture a conversation while `talk` runs, and return what it returns. At the end the conversation is closed with its
   * outcome, so that something can be learned from it: SUCCESS, or FAILURE if `talk` throws, unless it gave one.
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
      // What `talk` threw says more than that its failure could not be stored either.
      await thread.end("FAILURE", error instanceof Error ? error.name : undefined).catch(() => undefined);
      throw error;
    }
    await thread.end("SUCCESS");
    return result;
  }
}

function memoryOf(what: string | FactInput | MemoryInput, about: string | undefined): MemoryInput {
  if (typeof what === "string") return { note: { text: what, ...(about === undefined ? {} : { about }) } };
  return isFact(what) ? { fact: what } : what;
}

function isFact(what: FactInput | MemoryInput): what is FactInput {
  return "predicate" in what;
}

/** Return the options of a call without those that are not given. */
function callOf(given: { [Name in keyof CallOptions]: CallOptions[Name] | undefined }): CallOptions {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
