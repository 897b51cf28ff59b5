// All operations of the API: run one, walk through the pages of a list, follow changes.

import { overEvents, overWebSocket, type Open } from "./connections.js";
import {
  operationOf,
  withKeys,
  withSequence,
  type Given,
  type Narrowed,
  type Operation,
  type TypedDocument,
  type Variables,
} from "./documents.js";
import { errorOf, isObject, shaped, StratagraphError } from "./errors.js";
import { endable, follow } from "./following.js";
import { ChangesDocument } from "./generated/graphql.js";
import { Transport, type CallOptions, type TransportOptions } from "./transport.js";
import { sequencesIn, Writes } from "./writes.js";

export interface ClientOptions extends TransportOptions {
  /** How changes are followed: by default over WebSocket where the platform has it, else by server-sent events. */
  readonly transport?: "ws" | "sse";
  /** A class of WebSocket, such as that of the package ws, for Node.js before 22. */
  readonly webSocket?: unknown;
  /** The `sequence` of another client, whose writes are to be seen. */
  readonly after?: string;
}

/** How a list is read. */
export interface ListOptions<Result, Item> extends CallOptions {
  /** Returns the list in an answer; by default the answer's only field is one. */
  readonly in?: (answer: Narrowed<Result>) => Page<Item> | null | undefined;
}

/** How changes are followed. */
export interface FollowOptions {
  /** Position to go on from: that of the last change that was processed. By default the present one. */
  readonly after?: string;
  /** Ends the subscription; its reason is thrown. */
  readonly signal?: AbortSignal;
  /** W3C trace context, over server-sent events. */
  readonly traceparent?: string;
}

/** One page of a list. */
export interface Page<Item> {
  readonly nodes: readonly Item[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** What the only field of an answer lists. */
export type Listed<Result> = Result[keyof Result] extends { nodes: readonly (infer Item)[] } ? Item : unknown;

/** A result of a subscription, from whose position it can go on. */
export interface Positioned {
  readonly position: string;
}

export class Client {
  readonly #transport: Transport;
  readonly #open: (traceparent?: string) => Open;
  readonly #writes: Writes;

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
    this.#writes = new Writes(options.after);
    const webSocket = options.webSocket;
    const hasSocket = webSocket !== undefined || typeof WebSocket !== "undefined";
    const isSocket = (options.transport ?? (hasSocket ? "ws" : "sse")) === "ws";
    if (isSocket && !hasSocket) {
      throw new TypeError('this platform has no WebSocket: give that of the package ws as `webSocket`, or use "sse"');
    }
    this.#open = (traceparent) => (isSocket ? overWebSocket(webSocket) : overEvents(traceparent));
  }

  /** What another client takes as `after`, so that it sees the writes of this one; null before the first. */
  get sequence(): string | null {
    return this.#writes.sequence;
  }

  /**
   * Run an operation, again where it may succeed later, and return its answer without the errors of its result.
   *
   * Inputs that take an `idempotencyKey` and have none get one. The answer reflects the writes of this client. Throws
   * StratagraphError.
   */
  async run<Result, Vars>(
    document: TypedDocument<Result, Vars>,
    ...[variables, options]: Given<Vars, CallOptions>
  ): Promise<Narrowed<Result>> {
    const operation = operationOf(document);
    const given = withKeys(operation, (variables ?? {}) as Variables);
    const call = options ?? {};
    const answer =
      operation.kind === "mutation" ? await this.#write(operation, given, call) : await this.#read(operation, given, call);
    return answer as Narrowed<Result>; // it has what the document selects, and no field is an error
  }

  /** Yield the items of a list, page by page; a page is asked for when its first item is. Throws StratagraphError. */
  list<Result, Vars>(
    document: TypedDocument<Result, Vars>,
    ...given: Given<Vars, CallOptions>
  ): AsyncGenerator<Listed<Narrowed<Result>>, void, undefined>;
  list<Result, Vars, Item>(
    document: TypedDocument<Result, Vars>,
    variables: Vars,
    options: ListOptions<Result, Item> & { in: NonNullable<ListOptions<Result, Item>["in"]> },
  ): AsyncGenerator<Item, void, undefined>;
  async *list<Result, Vars, Item>(
    document: TypedDocument<Result, Vars>,
    variables?: Vars,
    options: ListOptions<Result, Item> = {},
  ): AsyncGenerator<Item, void, undefined> {
    const operation = operationOf(document);
    const pageOf = options.in ?? onlyPage<Item>;
    let given = { ...variables } as Variables;
    for (;;) {
      const page = pageOf((await this.#read(operation, given, options)) as Narrowed<Result>);
      if (page === null || page === undefined) return;
      yield* shaped(() => [...page.nodes]);
      const [hasNextPage, endCursor] = shaped(() => [page.pageInfo.hasNextPage, page.pageInfo.endCursor]);
      if (!hasNextPage || endCursor === null || endCursor === given["after"]) return;
      given = { ...given, after: endCursor };
    }
  }

  /**
   * Follow a subscription that has the variable `after` and selects `position`. Connections that are lost are made
   * anew, and go on from the last position. Throws StratagraphError, PositionExpired among them.
   */
  follow<Field extends string, Result extends Positioned, Vars>(
    document: TypedDocument<{ [name in Field]: Result }, Vars>,
    variables: Omit<Vars, "after">,
    options: FollowOptions = {},
  ): AsyncGenerator<Result, void, undefined> {
    const operation = operationOf(document);
    if (operation.kind !== "subscription" || !operation.types.has("after")) {
      throw new TypeError("`follow` takes a subscription with the variable `after`; use `run` or `list` for others");
    }
    return endable((signal) => this.#follow<Result>(operation, { ...variables }, { ...options, signal }), options.signal);
  }

  async *#follow<Result>(
    operation: Operation,
    variables: Variables,
    { after, signal, traceparent }: FollowOptions & { readonly signal: AbortSignal },
  ): AsyncGenerator<Result, void, undefined> {
    const call = { signal, ...(traceparent !== undefined && { traceparent }) };
    const from = after ?? (await this.position(call));
    for await (const data of follow(this.#transport, this.#open(traceparent), operation, variables, from, signal)) {
      for (const field of Object.values(data)) yield field as Result; // the only one, with what the document selects
    }
  }

  /** Return the present position: what is committed from now on follows it. */
  async position(options: CallOptions = {}): Promise<string> {
    const { changes } = await this.run(ChangesDocument, { first: 1 }, options);
    const endCursor = shaped(() => changes.pageInfo.endCursor);
    if (endCursor === null) throw errorOf({ code: "INTERNAL" }, "The service has named no position; report it");
    return endCursor;
  }

  async #write(operation: Operation, variables: Variables, call: CallOptions): Promise<Record<string, unknown>> {
    const begun = this.#writes.begin();
    const data = await this.#transport.send(operation, variables, call);
    for (const field of Object.values(data)) {
      for (const [sequence, isReplayed] of sequencesIn(field)) this.#writes.answered(begun, sequence, isReplayed);
    }
    return data;
  }

  async #read(operation: Operation, variables: Variables, call: CallOptions): Promise<Record<string, unknown>> {
    const { sequence, isOwn } = this.#writes;
    if (sequence === null) return this.#transport.send(operation, variables, call);
    const asked = withSequence(operation, variables, sequence);
    try {
      return await this.#transport.send(operation, asked, call);
    } catch (error) {
      const isUnknown = error instanceof StratagraphError && error.path?.includes("atLeastSequence");
      if (!isUnknown || !isOwn || asked === variables) throw error;
      this.#writes.forget(); // they are from before a restore of the database
      return this.#transport.send(operation, variables, call);
    }
  }
}

function onlyPage<Item>(answer: object): Page<Item> {
  const fields: unknown[] = Object.values(answer);
  const [page] = fields;
  if (fields.length !== 1 || !isObject(page) || !Array.isArray(page["nodes"]) || !isObject(page["pageInfo"])) {
    throw new TypeError("the answer's only field is not a list with `nodes` and `pageInfo`: give `in`, which returns it");
  }
  return page as unknown as Page<Item>; // what the document selects
}
