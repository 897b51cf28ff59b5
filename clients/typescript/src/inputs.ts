// What `remember` is given, as the input of the API.

import { InvalidInput, isObject } from "./errors.js";
import type { FactInput, MemoryInput } from "./generated/graphql.js";

/** Return the input that remembers a text, a fact or another memory. Throws InvalidInput for anything else. */
export function memoryOf(what: string | FactInput | MemoryInput, about: string | undefined): MemoryInput {
  if (typeof what === "string") return { note: { text: what, ...(about === undefined ? {} : { about }) } };
  if (!isObject(what)) {
    throw new InvalidInput(`what: give a text, a fact or another memory, not ${what === null ? "null" : typeof what}`, {
      code: "INVALID_INPUT",
      path: ["what"],
    });
  }
  return isFact(what) ? { fact: what } : what;
}

function isFact(what: FactInput | MemoryInput): what is FactInput {
  return "predicate" in what;
}
