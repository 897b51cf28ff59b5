// Subscriptions that go on from their position: nothing is lost and nothing comes twice, whatever the connection does.

import type { Open, Receiver } from "./connections.js";
import type { Operation, Variables } from "./documents.js";
import { errorOf, isObject, StratagraphError } from "./errors.js";
import { ATTEMPTS, pauseMs, sleep, type Transport } from "./transport.js";

/** Silence after which a connection counts as lost: the service sends a sign of life every 10 seconds. */
const SILENCE_MS = 35_000;
/** How long a service may be away before a subscription ends with Unavailable. */
const PATIENCE_MS = 600_000;
/** Results that wait for a slow reader; beyond them the connection is closed, and made anew when they are read. */
const MOST_WAITING = 500;

interface Item {
  readonly position: string;
  /** Null for a position without a result. */
  readonly data: Record<string, unknown> | null;
}

/** Yield the data of each result of a subscription that has the variable `after` and selects `position`. */
export async function* follow(
  transport: Transport,
  open: Open,
  operation: Operation,
  variables: Variables,
  after: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Record<string, unknown>, void, undefined> {
  let position = after;
  let failures = 0;
  let isProven = false;
  let heardAt = Date.now();
  for (;;) {
    signal?.throwIfAborted();
    const connection = new Connection(signal);
    const subscription = { query: operation.text, variables: { ...variables, after: position } };
    connection.close = open(transport, subscription, connection);
    try {
      for (let item = await connection.next(); item !== null; item = await connection.next()) {
        position = item.position;
        failures = 0;
        isProven = true;
        if (item.data !== null) yield item.data;
      }
    } finally {
      connection.stop();
    }
    signal?.throwIfAborted();
    heardAt = Math.max(heardAt, connection.heardAt);
    const { error } = connection;
    if (error === null) continue; // a slow reader has read what waited
    failures += 1;
    const isGone = Date.now() - heardAt > PATIENCE_MS || (!isProven && failures >= ATTEMPTS);
    if (!error.retryable || isGone) throw error;
    const wait = pauseMs(failures, error);
    if (Date.now() + wait - heardAt > PATIENCE_MS) throw error;
    await sleep(wait, signal);
  }
}

/**
 * Return a generator that ends at once by `return()`, also while its reader waits for the next result: one that is
 * made by `async function*` would wait for it. `make` gets a signal for that, and for `signal`.
 */
export function endable<Result>(
  make: (signal: AbortSignal) => AsyncGenerator<Result, void, undefined>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Result, void, undefined> {
  const ending = new AbortController();
  const inner = make(ending.signal);
  const abort = (): void => ending.abort(signal?.reason);
  let isOver = false;
  const over = (): { done: true; value: undefined } => {
    isOver = true;
    signal?.removeEventListener("abort", abort);
    return { done: true, value: undefined };
  };
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  return {
    async next() {
      try {
        const result = await inner.next();
        return result.done ? over() : result;
      } catch (error) {
        if (isOver) return over();
        over();
        throw error;
      }
    },
    async return() {
      over();
      ending.abort();
      await inner.return();
      return over();
    },
    async throw(error: unknown) {
      await this.return();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** What one connection has received and the reader has not taken. */
class Connection implements Receiver {
  close: (isDead: boolean) => void = () => undefined;
  /** Why it ended; null while it has not, and where it was closed for a slow reader. */
  error: StratagraphError | null = null;
  heardAt = 0;
  #items: Item[] = [];
  #isEnded = false;
  #wake: () => void = () => undefined;
  #silence: ReturnType<typeof setTimeout> | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.stop();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort);
    this.#listen();
  }

  /** Return the next item; null at the end. */
  async next(): Promise<Item | null> {
    while (this.#items.length === 0 && !this.#isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.#items.shift() ?? null;
  }

  result(data: Record<string, unknown>): void {
    if (this.#isEnded) return;
    const [field] = Object.values(data);
    const position = isObject(field) ? field["position"] : null;
    if (typeof position !== "string") {
      return this.ended(errorOf({ code: "INVALID_INPUT" }, "The document selects no `position`, from which to go on"));
    }
    this.#items.push({ position, data });
    if (this.#items.length >= MOST_WAITING) this.stop();
    this.#wake();
  }

  position(position: string): void {
    if (this.#isEnded) return;
    if (this.#items.at(-1)?.data === null) this.#items.pop();
    this.#items.push({ position, data: null });
    this.#wake();
  }

  alive(): void {
    this.heardAt = Date.now();
    if (!this.#isEnded) this.#listen();
  }

  ended(error: StratagraphError): void {
    if (this.#isEnded) return;
    this.error = error;
    this.stop();
  }

  /** Close the connection; what it has received can still be read. */
  stop(isDead = false): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#silence);
    this.#signal?.removeEventListener("abort", this.#abort);
    this.close(isDead);
    this.#wake();
  }

  #listen(): void {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      const message = `The service has sent nothing for ${SILENCE_MS / 1_000} s; follow on from the last position`;
      this.error = errorOf({ code: "UNAVAILABLE", retryable: true }, message);
      this.stop(true);
    }, SILENCE_MS);
  }
}
