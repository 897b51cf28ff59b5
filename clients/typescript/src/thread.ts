// A conversation that is captured as it goes on: turns, calls of tools, what was recalled for it, and its outcome.

import { newKey } from "./documents.js";
import type { MemoryInput, Outcome } from "./generated/graphql.js";
import type { Lessons, Recalled, Remembered } from "./memories.js";
import type { Memory, RecallOptions } from "./memory.js";
import type { CallOptions } from "./transport.js";

/** A call of a tool. Give `result`, or `error` if it failed. */
export interface ToolCall {
  readonly args?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly callId?: string;
}

export class Thread {
  readonly id: string;
  #outcome: Outcome | null = null;
  #events = 0;
  readonly #memory: Memory;
  readonly #call: CallOptions;
  readonly #recalled: Recalled[] = [];
  readonly #playbooks: Lessons[] = [];
  readonly #used = new Set<string>();

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

  /** Capture a call of a tool, and what it returned or how it failed. */
  async tool(toolName: string, { callId = newKey(), ...call }: ToolCall = {}): Promise<Remembered> {
    return this.#capture({ toolOutput: { toolName, ...call, callId, threadId: this.id } });
  }

  /** Call a tool, capture the call with its result or its failure, and return the result. */
  async call<Result>(toolName: string, args: unknown, run: () => Result | Promise<Result>): Promise<Result> {
    let result: Result;
    try {
      result = await run();
    } catch (error) {
      await this.tool(toolName, { args, error: error instanceof Error ? error.message : String(error) });
      throw error;
    }
    await this.tool(toolName, { args, result: result ?? null });
    return result;
  }

  /** Recall for this conversation what others say. Name what was used by `used`, for the outcome to be reported. */
  async recall(query: string, options: RecallOptions = {}): Promise<Recalled> {
    const recalled = await this.#memory.recall(query, { excludeThreadIds: [this.id], ...this.#call, ...options });
    this.#recalled.push(recalled);
    return recalled;
  }

  /** Return lessons for the task of this conversation. They are credited if it succeeds. */
  async lessons(task: string, options: { readonly limit?: number } = {}): Promise<Lessons> {
    const lessons = await this.#memory.lessons(task, { ...this.#call, ...options });
    this.#playbooks.push(lessons);
    return lessons;
  }

  /** Say which of the recalled memories and lessons were used. */
  used(...ids: readonly string[]): void {
    for (const id of ids) this.#used.add(id);
  }

  /** Say how the conversation ended, before its end; report it for what was used, and credit lessons. */
  async close(outcome: Outcome, reason?: string): Promise<void> {
    this.#outcome = outcome;
    if (this.#events > 0) {
      const ended = { outcomeStatus: outcome, threadId: this.id, ...(reason === undefined ? {} : { reason }) };
      await this.#capture({ outcome: ended });
    }
    for (const recalled of this.#recalled) {
      const returned = recalled.answer.nodes.map((node) => node.record.id).filter((id) => this.#used.has(id));
      // Where nothing is said of its memories, a report would weaken them all.
      if (returned.length > 0) await this.#memory.reportOutcome(recalled, outcome, returned, this.#call);
    }
    if (outcome === "SUCCESS") await this.#credit();
  }

  /** Close the conversation unless it is closed. */
  async end(outcome: Outcome, reason?: string): Promise<void> {
    if (this.#outcome === null) await this.close(outcome, reason);
  }

  async #credit(): Promise<void> {
    const isNamed = this.#playbooks.some((one) => one.lessonIds.some((id) => this.#used.has(id)));
    for (const playbook of this.#playbooks) {
      const helped = isNamed ? playbook.lessonIds.filter((id) => this.#used.has(id)) : playbook.lessonIds;
      if (helped.length > 0) await this.#memory.credit(playbook, helped, this.#call);
    }
  }

  async #capture(memory: MemoryInput): Promise<Remembered> {
    const captured = await this.#memory.remember(memory, this.#call);
    this.#events += 1;
    return captured;
  }
}
