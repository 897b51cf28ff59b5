// One operation over HTTP: credential, deadline, retries, errors.

import { bodyOf, type Operation, type Variables } from "./documents.js";
import { errorAmong, errorIn, errorOf, isObject, StratagraphError } from "./errors.js";

/** How one call is made. */
export interface CallOptions {
  /** Ends the call; its reason is thrown. */
  readonly signal?: AbortSignal;
  /** Milliseconds for the call with all its retries, instead of the client's. */
  readonly deadlineMs?: number;
  /** W3C trace context of the call, instead of the client's. */
  readonly traceparent?: string;
}

/** How the service is reached. */
export interface TransportOptions {
  /** Address of the service, such as "http://127.0.0.1:8000". */
  readonly url: string | URL;
  /** API key or OpenID Connect token, or what returns one for each request; a single-user service needs none. */
  readonly apiKey?: string | (() => string | Promise<string>);
  /** Milliseconds for a call with all its retries; 30,000 by default. */
  readonly deadlineMs?: number;
  /** W3C trace context (https://www.w3.org/TR/trace-context/), or what returns that of each request. */
  readonly traceparent?: string | (() => string | undefined);
  /** Takes the place of the platform's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

const DEADLINE_MS = 30_000;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** Milliseconds of attempts to connect, for a client that has never reached a service. */
const FIRST_CONTACT_MS = 3_000;
/** Bytes of an answer without its compression; the service sends half of that at most. */
export const MOST_BYTES = 128 * 2 ** 20;
/** Attempts without a word of the service on how long to wait: together they take 6 to 11 seconds. */
export const ATTEMPTS = 7;

export class Transport {
  readonly url: URL;
  readonly #options: TransportOptions;
  #isReached = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.url = new URL(options.url);
    if (!this.url.pathname.endsWith("/graphql")) this.url.pathname = `${this.url.pathname.replace(/\/$/, "")}/graphql`;
  }

  get fetch(): (url: string, init: RequestInit) => Promise<Response> {
    const given = this.#options.fetch ?? ((url, init) => fetch(url, init));
    // A redirection would send what is remembered to another host.
    return (url, init) => given(url, { ...init, redirect: "manual" });
  }

  /** Return the headers that say who asks, and in which trace. */
  async headers(traceparent?: string): Promise<Record<string, string>> {
    const { apiKey, traceparent: own } = this.#options;
    const key = typeof apiKey === "function" ? await apiKey() : apiKey;
    const trace = traceparent ?? (typeof own === "function" ? own() : own);
    return { ...(key ? { authorization: `Bearer ${key}` } : {}), ...(trace ? { traceparent: trace } : {}) };
  }

  /** Send an operation, again where it may succeed later, and return its data. Throws StratagraphError. */
  async send(operation: Operation, variables: Variables, call: CallOptions): Promise<Record<string, unknown>> {
    const deadlineMs = call.deadlineMs ?? this.#options.deadlineMs ?? DEADLINE_MS;
    const body = bodyOf(operation, variables);
    const begunAt = Date.now();
    const endsAt = begunAt + deadlineMs;
    for (let attempt = 0, tries = 1; ; tries += 1) {
      try {
        return await this.#attempt(body, call, endsAt, deadlineMs);
      } catch (error) {
        if (!(error instanceof StratagraphError) || !mayRepeat(operation, error)) throw error;
        this.#isReached ||= !isRefused(error);
        // Where nothing was ever reached, there is no service, or `url` is wrong.
        const patienceEndsAt = this.#isReached ? endsAt : Math.min(endsAt, begunAt + FIRST_CONTACT_MS);
        if (error.retryAfter === null) attempt += 1;
        const wait = pauseMs(tries, error);
        if (attempt === ATTEMPTS || Date.now() + wait > patienceEndsAt) throw error;
        await sleep(wait, call.signal);
      }
    }
  }

  async #attempt(
    body: string,
    call: CallOptions,
    endsAt: number,
    deadlineMs: number,
  ): Promise<Record<string, unknown>> {
    const headers = await this.headers(call.traceparent);
    call.signal?.throwIfAborted();
    const ending = new AbortController();
    const stop = (): void => ending.abort(call.signal?.reason);
    call.signal?.addEventListener("abort", stop);
    let isLate = false;
    const timer = setTimeout(
      () => {
        isLate = true;
        ending.abort();
      },
      Math.max(0, endsAt - Date.now()),
    );
    try {
      const response = await this.fetch(this.url.href, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/graphql-response+json, application/json;q=0.9",
          ...headers,
        },
        body,
        signal: ending.signal,
      });
      this.#isReached = true;
      return dataOf(response, await textOf(response, this.url), this.url);
    } catch (error) {
      call.signal?.throwIfAborted();
      if (isLate) throw tooLate(deadlineMs);
      throw error instanceof StratagraphError ? error : unreachable(this.url, error);
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener("abort", stop);
    }
  }
}

/** Return the body of an answer. Throws StratagraphError for one beyond MOST_BYTES, whatever it was compressed to. */
export async function textOf(response: Response, url: URL): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.byteLength;
    if (size > MOST_BYTES) {
      await reader.cancel();
      throw tooLarge(url);
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

/** Return the error of an answer that is larger than any of the service. */
export function tooLarge(url: URL): StratagraphError {
  const message = `The answer of ${url.origin} is not that of a Stratagraph service (more than ${MOST_BYTES} bytes); check \`url\``;
  return errorOf({ code: "UNAVAILABLE" }, message);
}

/** Return the data of an answer. Throws the error that it is, or that one of its fields is. */
export function dataOf(response: Response, text: string, url: URL): Record<string, unknown> {
  const answer = parsed(text);
  const error = errorAmong(answer?.["errors"]) ?? errorIn(Object.values(dataIn(answer)).find(errorIn));
  if (error !== null) throw error;
  const data = answer?.["data"];
  if (isObject(data)) return data;
  const isBusy = response.status >= 500 || response.status === 429;
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  throw errorOf(
    { code: "UNAVAILABLE", retryable: isBusy, retryAfter: Number.isFinite(seconds) ? seconds : null },
    `The answer of ${url.origin} is not that of a Stratagraph service (status ${response.status}); ` +
      (isBusy ? "wait until it is ready" : "check `url`"),
  );
}

/** Return how long to wait before a further attempt, in milliseconds: what the service says, or growing pauses. */
export function pauseMs(attempt: number, error?: StratagraphError): number {
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.max(0, attempt - 1), LONGEST_PAUSE_MS);
  const jittered = pause * (0.5 + Math.random() / 2);
  const retryAfter = error?.retryAfter ?? null;
  return retryAfter === null ? jittered : Math.max(jittered, retryAfter * 1_000 + Math.random() * FIRST_PAUSE_MS);
}

/** Wait. Throws the reason of `signal` if it is aborted before. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
    function end(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    }
  });
  signal?.throwIfAborted();
}

/** Return the error of a service that cannot be reached. */
export function unreachable(url: URL, cause: unknown): StratagraphError {
  const detail = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const code = isObject(detail) && typeof detail["code"] === "string" ? ` (${detail["code"]})` : "";
  return errorOf(
    { code: "UNAVAILABLE", retryable: true },
    `${url.origin} cannot be reached${code}: start a service by \`stratagraph serve\`, check \`url\`, and, in a page, that ` +
      "STRATAGRAPH_CORS_ORIGINS has its origin",
    cause,
  );
}

// No connection was made. What pages are told of a request that failed is nothing: there is no code.
function isRefused(error: StratagraphError): boolean {
  const cause = error.cause instanceof Error ? error.cause.cause : undefined;
  const code = isObject(cause) ? cause["code"] : undefined;
  return error.cause instanceof TypeError && (code === undefined || code === "ECONNREFUSED" || code === "ENOTFOUND");
}

function tooLate(deadlineMs: number): StratagraphError {
  return errorOf(
    { code: "DEADLINE_EXCEEDED", retryable: true },
    `No answer within ${deadlineMs} ms; a write may have been stored: repeat it with the same idempotency key, or ` +
      "raise `deadlineMs`",
  );
}

// What would change more if it came twice is repeated only where the service has done nothing.
function mayRepeat(operation: Operation, error: StratagraphError): boolean {
  return error.retryable && (operation.isRepeatable || error.code === "RATE_LIMITED");
}

function dataIn(answer: Record<string, unknown> | null): Record<string, unknown> {
  const data = answer?.["data"];
  return isObject(data) ? data : {};
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const answer: unknown = JSON.parse(text);
    return isObject(answer) ? answer : null;
  } catch {
    return null;
  }
}
