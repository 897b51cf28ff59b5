// The errors that the client throws: one class for each thing that a caller can act on.

import type { ErrorCode } from "./generated/graphql.js";
import { ERROR_TYPES } from "./generated/schema.js";

/** One wrong field of a request. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  /** Path of the input field, outermost first. */
  readonly path: readonly string[];
}

/** What an error says beside its message. */
export interface ErrorDetails {
  readonly code: ErrorCode | (string & Record<never, never>);
  readonly path?: readonly string[] | null;
  readonly retryable?: boolean;
  readonly retryAfter?: number | null;
  readonly problems?: readonly Problem[];
  readonly current?: number | null;
  readonly cause?: unknown;
}

/**
 * An operation was refused or failed. `message` says what is wrong, which value, and what to do.
 *
 * `code` is the code of the API. `path` names the input field, outermost first, or is null; `problems` are all wrong
 * fields. `retryable` says whether the same request may succeed later, and `retryAfter` after how many seconds, null
 * where that is not known. `nextStep` is what a program or a model does now.
 */
export class StratagraphError extends Error {
  override readonly name: string = "StratagraphError";
  readonly code: ErrorDetails["code"];
  readonly path: readonly string[] | null;
  readonly retryable: boolean;
  readonly retryAfter: number | null;
  readonly problems: readonly Problem[];

  constructor(message: string, details: ErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.path = details.path ?? null;
    this.retryable = details.retryable ?? false;
    this.retryAfter = details.retryAfter ?? null;
    this.problems = details.problems ?? [];
  }

  get nextStep(): string {
    return "Report the message and its reference to whoever runs the service.";
  }
}

/** The request is wrong; `path` and `problems` say where. */
export class InvalidInput extends StratagraphError {
  override readonly name: string = "InvalidInput";
  override get nextStep(): string {
    const fields = this.problems.length > 0 ? this.problems.map((one) => one.path.join(".")) : [this.path?.join(".")];
    return `Change ${fields.filter(Boolean).join(", ") || "the request"} as the message says, and send it again.`;
  }
}

/** The change needs evidence. */
export class EvidenceRequired extends InvalidInput {
  override readonly name = "EvidenceRequired";
  override get nextStep(): string {
    return "Give at least one source as `evidence`, and send it again.";
  }
}

/** The idempotency key was used for another request. */
export class IdempotencyMismatch extends InvalidInput {
  override readonly name = "IdempotencyMismatch";
  override get nextStep(): string {
    return "Take a new idempotency key for a new intent.";
  }
}

/** There is no such record, or the credential may not see it. */
export class NotFound extends StratagraphError {
  override readonly name = "NotFound";
  override get nextStep(): string {
    return "Recall or list records for an id that exists and that this credential may see.";
  }
}

/** The credential may not do it. */
export class Forbidden extends StratagraphError {
  override readonly name: string = "Forbidden";
  override get nextStep(): string {
    return "Use a credential that allows it, or leave it.";
  }
}

/** The request has no valid credential. */
export class Unauthenticated extends Forbidden {
  override readonly name = "Unauthenticated";
  override get nextStep(): string {
    return "Give a valid `apiKey`.";
  }
}

/** The stored state does not allow the change. */
export class Conflict extends StratagraphError {
  override readonly name: string = "Conflict";
  override get nextStep(): string {
    return "Read the records again, and decide again.";
  }
}

/** The record has another version than the expected one: `current`, null where it is not known. */
export class VersionConflict extends Conflict {
  override readonly name = "VersionConflict";
  readonly current: number | null;

  constructor(message: string, details: ErrorDetails) {
    super(message, details);
    this.current = details.current ?? null;
  }

  override get nextStep(): string {
    const now = this.current === null ? "" : `, whose version is now ${this.current}`;
    return `Read the record again${now}, and decide again.`;
  }
}

/** The request asks for more than a limit allows. */
export class LimitExceeded extends StratagraphError {
  override readonly name = "LimitExceeded";
  override get nextStep(): string {
    return "Ask for less, or split the request.";
  }
}

/** The changes after the position are no longer kept. */
export class PositionExpired extends StratagraphError {
  override readonly name = "PositionExpired";
  override get nextStep(): string {
    return "Read the present state anew, and follow changes from the present position.";
  }
}

/** The service cannot answer now, or cannot be reached; the client has tried again until its deadline. */
export class Unavailable extends StratagraphError {
  override readonly name: string = "Unavailable";
  override get nextStep(): string {
    return "Wait, and send it again with the same idempotency key.";
  }
}

/** The credential has used its share for now. */
export class RateLimited extends Unavailable {
  override readonly name = "RateLimited";
  override get nextStep(): string {
    return this.retryAfter === null ? "Wait, and send it again." : `Wait ${this.retryAfter} s, and send it again.`;
  }
}

const CLASSES: Readonly<Record<ErrorCode, typeof StratagraphError>> = {
  ARTIFACT_DAMAGED: StratagraphError,
  CONDITIONS_OVERLAP: Conflict,
  DEADLINE_EXCEEDED: Unavailable,
  DELETION_FORBIDDEN: Forbidden,
  EPISODIC_IMMUTABLE: Conflict,
  EVIDENCE_REQUIRED: EvidenceRequired,
  FORBIDDEN: Forbidden,
  IDEMPOTENCY_MISMATCH: IdempotencyMismatch,
  INTERNAL: StratagraphError,
  INVALID_INPUT: InvalidInput,
  LIMIT_EXCEEDED: LimitExceeded,
  NOT_FOUND: NotFound,
  POSITION_EXPIRED: PositionExpired,
  RATE_LIMITED: RateLimited,
  UNAUTHENTICATED: Unauthenticated,
  UNAVAILABLE: Unavailable,
  VERSION_CONFLICT: VersionConflict,
};

function isCode(code: string): code is ErrorCode {
  return Object.hasOwn(CLASSES, code);
}

/** Return the error that the API describes by `fields`: a member of a result union, or `extensions` of an error. */
export function errorOf(fields: Readonly<Record<string, unknown>>, message: string, cause?: unknown): StratagraphError {
  const { code, path, retryable, retryAfter, problems, current } = fields;
  const name = typeof code === "string" ? code : "INTERNAL";
  const made = isCode(name) ? CLASSES[name] : StratagraphError;
  return new made(message, {
    code: name,
    path: isPath(path) ? path : null,
    retryable: retryable === true,
    retryAfter: typeof retryAfter === "number" && Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : null,
    problems: Array.isArray(problems) ? problems.filter(isProblem) : [],
    current: typeof current === "number" ? current : null,
    cause,
  });
}

/** Return the error that a field of an answer is; null for a success. */
export function errorIn(field: unknown): StratagraphError | null {
  if (!isObject(field)) return null;
  const { __typename: type, code, message, retryable } = field;
  const isKnown = typeof type === "string" && ERROR_TYPES.has(type);
  const isNew = typeof code === "string" && typeof message === "string" && typeof retryable === "boolean";
  if (!isKnown && !isNew) return null;
  const named = typeof code === "string" ? field : { ...field, code: codeOf(String(type)) };
  return errorOf(named, typeof message === "string" ? message : `The operation was refused: ${String(type)}.`);
}

/** Return the error of an answer's `errors`, the first of them; null where there are none. */
export function errorAmong(errors: unknown): StratagraphError | null {
  if (!Array.isArray(errors) || errors.length === 0) return null;
  const [first]: unknown[] = errors;
  const { message, extensions } = isObject(first) ? first : {};
  return errorOf(isObject(extensions) ? extensions : {}, typeof message === "string" ? message : "no message");
}

/** Return what `make` makes of an answer. Throws StratagraphError where the answer has another form. */
export function shaped<Made>(make: () => Made): Made {
  try {
    const made = make();
    if (made !== undefined) return made;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const message = "The answer is not that of a Stratagraph service, or of a later version; check `url`, or install the client of that version";
  throw errorOf({ code: "INTERNAL" }, message);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// A document that selects no `code` of errors still has their type: VersionConflict is VERSION_CONFLICT.
function codeOf(type: string): string {
  return type.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

function isPath(path: unknown): path is string[] {
  return Array.isArray(path) && path.every((part: unknown) => typeof part === "string");
}

function isProblem(value: unknown): value is Problem {
  return isObject(value) && typeof value["code"] === "string" && isPath(value["path"]);
}
