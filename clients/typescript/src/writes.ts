// The sequences of writes that a client's answers must reflect: of its own, and of those of another that it was given.

import { isObject } from "./errors.js";

const SEPARATOR = "."; // of sequences, which the API takes together
const MOST = 32; // sequences; the API takes no more

/**
 * The newest writes. Sequences cannot be compared, but a write that began after the answer to another is newer, and its
 * sequence takes the place of that one. Those of writes that ran at the same time are kept together.
 */
export class Writes {
  #clock = 0;
  /** When each write was answered, by its sequence. */
  #newest: Map<string, number>;
  readonly #given: ReadonlySet<string>;

  constructor(after: string | undefined) {
    this.#given = new Set(after?.split(SEPARATOR));
    this.#newest = new Map(Array.from(this.#given, (one) => [one, 0]));
  }

  /** The sequences as one text for `atLeastSequence`; null without any. */
  get sequence(): string | null {
    return this.#newest.size === 0 ? null : [...this.#newest.keys()].join(SEPARATOR);
  }

  /** Whether all are of the client's own writes. */
  get isOwn(): boolean {
    return [...this.#newest.keys()].every((one) => !this.#given.has(one));
  }

  /** Return the present moment, which `answered` is to be given for a write that begins now. */
  begin(): number {
    return this.#clock;
  }

  /** Note the answer to a write that began at `begun`. One that was replayed may be older than others. */
  answered(begun: number, sequence: string, isReplayed: boolean): void {
    this.#clock += 1;
    const isOlder = (answeredAt: number): boolean => !isReplayed && answeredAt <= begun;
    const kept = [...this.#newest].filter(([one, answeredAt]) => one !== sequence && !isOlder(answeredAt));
    this.#newest = new Map([...kept, [sequence, this.#clock] as const].slice(-MOST));
  }

  /** Forget all, which the database does not know: it was restored from a backup. */
  forget(): void {
    this.#newest.clear();
  }
}

/** Yield the sequences in the answer to a mutation, and whether each write was replayed. */
export function* sequencesIn(field: unknown): Generator<readonly [sequence: string, isReplayed: boolean]> {
  if (!isObject(field)) return;
  const { receipt, replayed, results, captures } = field;
  const sequence = field["sequence"] ?? (isObject(receipt) ? receipt["sequence"] : null);
  if (typeof sequence === "string") yield [sequence, replayed === true];
  for (const list of [results, captures]) {
    const found: unknown[] = Array.isArray(list) ? list : [];
    for (const one of found) yield* sequencesIn(one);
  }
}
