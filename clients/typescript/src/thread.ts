// A conversation that is captured as it goes on: turns, calls of tools, what was recalled for it, and its outcome.

import { newKey } from "./documents.js";
import type { MemoryInput, Outcome } from "./generated/graphql.js";
import { ReportOutcomesDocument } from "./generated/graphql.js";
import type { Lessons, Recalled, Remembered } from "./memories.js";
import type { Memory, RecallOptions } from "./memory.js";
import type { CallOptions } from "./transport.js";

/** What became of a call of a tool: give `result`, or `error` if it failed. */
export interface ToolCalled {
  readonly result?: unknown;
  readonly error?: unknown;
  readonly callId?: string;
}

/** Milliseconds for capturing the end of a conversation that failed. */
const LAST_WORDS_MS = 10_000;
/** Reports in one request. */
const REPORTS = 100;

export class Thread {
  readonly id: string;
  #outcome: Outcome | null = null;
  #hasEvents = false;
  #call: CallOptions;
  #recalled: Recalled[] = [];
  #playbooks: Lessons[] = [];
  readonly #memory: Memory;
  readonly #used = new Map<string, string[]>();

  constructor(memory: Memory, id: string, call: CallOptions) {
    this.#memory = memory;
    this.#call = call;
    this.id = id;
  }

  /** How the conversation ended; null while it goes on. */
  get outcome(): Outcome | null {
    return this.#outcome;
  }

  /** Capture a message. */
  async say(role: string, text: string, options: { readonly speaker?: string } = {}): Promise<Remembered> {
    return this.#capture({ agentTurn: { role, text, threadId: this.id, ...options } });
  }

  /** Call a tool by `run`, capture the call with its result or its failure, and return the result. */
  async tool<Result>(name: string, args: unknown, run: () => Result | Promise<Result>): Promise<Result> {
    let result: Result;
    try {
      result = await run();
    } catch (error) {
      // What the tool threw says more than that its failure could not be stored either.
      await this.toolCalled(name, args, { error: failureOf(error) }).catch(() => undefined);
      throw error;
    }
    await this.toolCalled(name, args, { result: result ?? null });
    return result;
  }

  /** Capture a call of a tool that has been made: what it returned, or how it failed. */
  async toolCalled(name: string, args: unknown, { callId = newKey(), ...end }: ToolCalled = {}): Promise<Remembered> {
    return this.#capture({ toolOutput: { toolName: name, args, ...end, callId, threadId: this.id } });
  }

  /** Return the memories that fit best, without this thread's own; the end of the thread reports on them. */
  async recall(query: string, options: RecallOptions = {}): Promise<Recalled> {
    const recalled = await this.#memory.recall(query, { ...this.#call, excludeThreads: [this.id], ...options });
    if (recalled.memories.length > 0) this.#recalled.push(recalled);
    return recalled;
  }

  /** Say which memories of an answer were of use; without this, all of them count as used. */
  used(recalled: Recalled, ...ids: readonly string[]): void {
    this.#used.set(recalled.retrievalId, [...(this.#used.get(recalled.retrievalId) ?? []), ...ids]);
  }

  /** Return lessons from earlier mistakes; they are credited if the thread ends with success. */
  async lessons(task?: string, options: { readonly limit?: number } = {}): Promise<Lessons> {
    const lessons = await this.#memory.lessons(task, { ...this.#call, ...options });
    if (lessons.lessonIds.length > 0) this.#playbooks.push(lessons);
    return lessons;
  }

  /** Say how the conversation ended; report on what was recalled, and credit lessons after a success. */
  async close(outcome: Outcome, reason?: string): Promise<void> {
    if (this.#outcome !== null) throw new TypeError("the thread has an outcome already: open another one");
    this.#outcome = outcome;
    if (this.#hasEvents) {
      const ended = { outcomeStatus: outcome, threadId: this.id, ...(reason === undefined ? {} : { reason }) };
      await this.#capture({ outcome: ended });
    }
    const items = this.#recalled.map(({ retrievalId, memories }) => ({
      retrievalId,
      outcome,
      usedRecordIds: this.#used.get(retrievalId) ?? memories.map((one) => one.id),
    }));
    this.#recalled = [];
    for (let first = 0; first < items.length; first += REPORTS) {
      const input = { items: items.slice(first, first + REPORTS) };
      await this.#memory.run(ReportOutcomesDocument, { input }, this.#call);
    }
    const playbooks = outcome === "SUCCESS" ? this.#playbooks : [];
    this.#playbooks = [];
    for (const playbook of playbooks) await this.#memory.credit(playbook, undefined, this.#call);
  }

  /** End the conversation by what was thrown in it, unless it is closed, or was interrupted, which is no outcome. */
  async fail(error: unknown): Promise<void> {
    if (this.#outcome !== null || this.#call.signal?.aborted) return;
    const { deadlineMs = LAST_WORDS_MS } = this.#call;
    this.#call = { ...this.#call, deadlineMs: Math.min(deadlineMs, LAST_WORDS_MS) };
    const reason = error instanceof Error ? error.name : typeof error;
    await this.close("FAILURE", reason).catch(() => undefined); // what is thrown is what was thrown in it
  }

  async #capture(memory: MemoryInput): Promise<Remembered> {
    const captured = await this.#memory.remember(memory, this.#call);
    this.#hasEvents = true;
    return captured;
  }
}

function failureOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
