// What the client reads from the text of a document, and the types of what a document takes and answers.

import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";

import { KEYED_BATCHES, KEYED_INPUTS, READING_INPUTS } from "./generated/schema.js";
import { InvalidInput, isObject } from "./errors.js";

/** A GraphQL document as text, with the types of its answer and its variables, as graphql-codegen makes them. */
export type TypedDocument<Result, Variables> = DocumentTypeDecoration<Result, Variables> & { toString(): string };

/** Variables of a document: they may be left out where none is required. */
export type Given<Variables, Options> =
  Record<never, never> extends Variables
    ? [variables?: Variables, options?: Options]
    : [variables: Variables, options?: Options];

type Refused = { readonly code: string; readonly message: string; readonly retryable: boolean };

/** An answer whose fields are successes: the errors of result unions are thrown. */
export type Narrowed<Result> = { [Field in keyof Result]: Exclude<Result[Field], Refused> };

/** Values of the variables of a document, by name. */
export type Variables = Readonly<Record<string, unknown>>;

/** A document as the client sends it. */
export interface Operation {
  readonly text: string;
  readonly kind: "query" | "mutation" | "subscription";
  /** Name of the type of each variable, by the variable's name. */
  readonly types: ReadonlyMap<string, string>;
  /** False for what would change more if it came twice. */
  readonly isRepeatable: boolean;
}

const HEADER = /(?:^|\})\s*(query|mutation|subscription)\b\s*\w*\s*(?:\(([^)]*)\))?/;

export function operationOf(document: { toString(): string }): Operation {
  const text = document.toString();
  const plain = text.replace(/#[^\n\r]*/g, "");
  const [, kind = "query", declared = ""] = HEADER.exec(plain) ?? [];
  const types = new Map<string, string>();
  for (const [, name, type] of declared.matchAll(/\$(\w+)\s*:\s*\[*\s*(\w+)/g)) {
    if (name !== undefined && type !== undefined) types.set(name, type);
  }
  return {
    text,
    kind: kind === "mutation" || kind === "subscription" ? kind : "query",
    types,
    isRepeatable: kind !== "mutation" || !/\bretireLessons\b/.test(plain),
  };
}

/** Return the variables with an idempotency key in each input that may have one and has none. */
export function withKeys(operation: Operation, variables: Variables): Variables {
  return eachInput(operation, variables, (type, input) => {
    if (KEYED_INPUTS.has(type)) return keyed(input);
    const items = input["items"];
    if (!KEYED_BATCHES.has(type) || !Array.isArray(items)) return input;
    return { ...input, items: items.map((item: unknown) => (isObject(item) ? keyed(item) : item)) };
  });
}

/** Return the variables with an `atLeastSequence` where the document takes one and they have none. */
export function withSequence(operation: Operation, variables: Variables, sequence: string): Variables {
  if (operation.kind !== "query") return variables;
  const isOwn = operation.types.has("atLeastSequence") && (variables["atLeastSequence"] ?? null) === null;
  return eachInput(operation, isOwn ? { ...variables, atLeastSequence: sequence } : variables, (type, input) =>
    READING_INPUTS.has(type) && (input["atLeastSequence"] ?? null) === null
      ? { ...input, atLeastSequence: sequence }
      : input,
  );
}

/** Return the body of a request. Throws InvalidInput, with the place of it, for a value that JSON cannot hold. */
export function bodyOf(operation: Operation, variables: Variables): string {
  try {
    return JSON.stringify({ query: operation.text, variables });
  } catch (error) {
    const path = unsendable(variables);
    const reason = error instanceof Error ? error.message.split("\n", 1)[0] : "";
    throw new InvalidInput(
      `${path.join(".") || "variables"}: JSON cannot hold this value (${reason}); give texts, finite numbers, booleans, ` +
        "null, and arrays and objects of them",
      { code: "INVALID_INPUT", path, cause: error },
    );
  }
}

// The path of the innermost value that cannot be written; that of one within itself ends where it comes again.
function unsendable(variables: unknown): string[] {
  const path: string[] = [];
  const around = new Set<unknown>();
  for (let value = variables; typeof value === "object" && value !== null && !around.has(value); ) {
    around.add(value);
    const inner = Object.entries(value as Variables).find(([, one]) => !isSendable(one));
    if (inner === undefined) break;
    path.push(inner[0]);
    value = inner[1];
  }
  return path;
}

function isSendable(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

function eachInput(
  operation: Operation,
  variables: Variables,
  change: (type: string, input: Variables) => Variables,
): Variables {
  let changed = variables;
  for (const [name, type] of operation.types) {
    const input = variables[name];
    if (!isObject(input)) continue;
    const made = change(type, input);
    if (made !== input) changed = { ...changed, [name]: made };
  }
  return changed;
}

function keyed(input: Variables): Variables {
  return (input["idempotencyKey"] ?? null) === null ? { ...input, idempotencyKey: newKey() } : input;
}

/** Return a random name, for an idempotency key or a thread. Pages without TLS have no `crypto.randomUUID`. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
