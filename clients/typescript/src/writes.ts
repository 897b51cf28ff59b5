// The sequences of a client's own writes, for answers that reflect them.

import { isObject } from "./errors.js";

interface Write {
  readonly sequence: string;
  readonly answeredAt: number;
}

/**
 * The newest writes of a client. A sequence is opaque, so that two can be ordered only by when they were made: a write
 * that began after the answer to another is newer. There is one newest write, or several that ran at the same time.
 */
export class Writes {
  #clock = 0;
  #newest: Write[] = [];

  /** Return the present moment, which `answered` is to be given for a write that begins now. */
  begin(): number {
    return this.#clock;
  }

  /** Note the answer to a write that began at `begun`. */
  answered(begun: number, sequence: string): void {
    this.#clock += 1;
    this.#newest = this.#newest.filter((one) => one.answeredAt > begun && one.sequence !== sequence);
    this.#newest.push({ sequence, answeredAt: this.#clock });
  }

  /** Sequences of the newest writes, that which was answered last at the end. */
  get sequences(): readonly string[] {
    return this.#newest.map((one) => one.sequence);
  }

  /** Forget all but the last of `sequences`: a reader has seen the others. */
  reflected(sequences: readonly string[]): void {
    const seen = new Set(sequences.slice(0, -1));
    this.#newest = this.#newest.filter((one) => !seen.has(one.sequence));
  }

  /** Forget `sequences`, which the database does not know: it was restored from a backup. */
  forget(sequences: readonly string[]): void {
    this.#newest = this.#newest.filter((one) => !sequences.includes(one.sequence));
  }
}

/** Yield the sequences in the answer to a mutation: of its field, its receipt, and those of its results. */
export function* sequencesIn(field: unknown): Generator<string> {
  if (!isObject(field)) return;
  const { sequence, receipt, results, captures } = field;
  if (typeof sequence === "string") yield sequence;
  yield* sequencesIn(receipt);
  for (const list of [results, captures]) {
    const found: unknown[] = Array.isArray(list) ? list : [];
    for (const one of found) yield* sequencesIn(one);
  }
}
