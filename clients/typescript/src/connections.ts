// One connection of a subscription: over WebSocket by graphql-ws, or over server-sent events by graphql-sse.

import { createClient as createSocketClient } from "graphql-ws/client";

import { errorAmong, errorOf, isObject, StratagraphError } from "./errors.js";
import { dataOf, MOST_BYTES, textOf, tooLarge, unreachable, type Transport } from "./transport.js";

/** Where a connection puts what it receives. */
export interface Receiver {
  /** Take a result of the subscription. */
  result(data: Record<string, unknown>): void;
  /** Take a position up to which there were no further results. */
  position(position: string): void;
  /** Note that the service has sent something. */
  alive(): void;
  /** Note the end, because of `error`: the connection can be made anew if the error is retryable. */
  ended(error: StratagraphError): void;
}

export interface Subscription {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Opens a connection, and returns what closes it; `isDead` where the service no longer answers. */
export type Open = (transport: Transport, subscription: Subscription, receiver: Receiver) => (isDead: boolean) => void;

const ID = "1"; // the only operation of its connection
const CONNECT_MS = 10_000;
// https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md, and docs/live.md
const FINAL_CLOSES = new Set([4400, 4406, 4409, 4429]);
const UNAUTHENTICATED = 4401;

/** Open a WebSocket, of the class `webSocket` where the platform has none. */
export function overWebSocket(webSocket: unknown): Open {
  return (transport, { query, variables }, receiver) => {
    const url = new URL(transport.url);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    let isOpen = false;
    const client = createSocketClient({
      url: url.href,
      ...(webSocket === undefined ? {} : { webSocketImpl: webSocket }),
      connectionParams: async () => {
        const { authorization } = await transport.headers();
        return authorization === undefined ? {} : { Authorization: authorization };
      },
      connectionAckWaitTimeout: CONNECT_MS,
      retryAttempts: 0,
      generateID: () => ID,
      on: {
        opened: () => {
          isOpen = true;
        },
        message: () => receiver.alive(),
        ping: (isReceived, payload) => {
          const positions = isReceived && isObject(payload) ? payload["positions"] : null;
          const position = isObject(positions) ? positions[ID] : null;
          if (typeof position === "string") receiver.position(position);
        },
      },
    });
    const stop = client.subscribe(
      { query, variables: { ...variables } },
      {
        next: (result) => take(result, transport, receiver),
        error: (error) => receiver.ended(closed(error, transport)),
        complete: () => receiver.ended(cutOff(transport)),
      },
    );
    return (isDead) => {
      stop();
      if (isDead && isOpen) client.terminate(); // it would wait for the peer to close its side
    };
  };
}

/** Open a stream of server-sent events. */
export function overEvents(traceparent?: string): Open {
  return (transport, { query, variables }, receiver) => {
    let stop = (): void => {
      isStopped = true;
    };
    let isStopped = false;
    let refused: StratagraphError | null = null;
    const fetchStream = async (url: string, init: RequestInit): Promise<Response> => {
      try {
        const response = await transport.fetch(url, init);
        const type = response.headers.get("content-type") ?? "";
        if (response.body !== null && type.startsWith("text/event-stream")) {
          return new Response(withPositions(response.body, receiver, (error) => (refused = error), transport.url), { headers: response.headers });
        }
        dataOf(response, await textOf(response, transport.url), transport.url);
        throw errorOf({ code: "INVALID_INPUT" }, "The document is no subscription; use `run`");
      } catch (error) {
        refused = error instanceof StratagraphError ? error : unreachable(transport.url, error);
        throw error;
      }
    };
    // graphql-sse imports graphql, which is left out of a page that follows nothing.
    const opened = import("graphql-sse").then(({ createClient }) => {
      if (isStopped) return;
      const client = createClient({
        url: transport.url.href,
        headers: () => transport.headers(traceparent),
        retryAttempts: 0,
        fetchFn: fetchStream,
      });
      stop = client.subscribe(
        { query, variables: { ...variables } },
        {
          next: (result) => take(result, transport, receiver),
          error: (error) => receiver.ended(refused ?? cutOff(transport, error)),
          complete: () => receiver.ended(cutOff(transport)),
        },
      );
    });
    opened.catch((error: unknown) => receiver.ended(cutOff(transport, error)));
    return () => stop();
  };
}

// A result, or a position that `withPositions` has made one of.
function take(result: unknown, transport: Transport, receiver: Receiver): void {
  const { data, errors, extensions } = isObject(result) ? result : {};
  const error = errorAmong(errors);
  if (error !== null) return receiver.ended(error);
  if (isObject(data)) return receiver.result(data);
  const position = isObject(extensions) ? extensions["position"] : null;
  if (typeof position === "string") return receiver.position(position);
  receiver.ended(cutOff(transport));
}

function closed(error: unknown, transport: Transport): StratagraphError {
  const refused = errorAmong(error);
  if (refused !== null) return refused;
  const { code, reason } = typeof error === "object" && error !== null ? (error as Partial<CloseEvent>) : {};
  if (code === UNAUTHENTICATED) {
    return errorOf({ code: "UNAUTHENTICATED" }, "The WebSocket was closed: no valid credential was given in `apiKey`");
  }
  if (code !== undefined && FINAL_CLOSES.has(code)) {
    return errorOf({ code: "INVALID_INPUT" }, `The WebSocket was closed with ${code}: ${reason ?? ""}`);
  }
  return code === undefined ? unreachable(transport.url, error) : cutOff(transport, error);
}

function cutOff(transport: Transport, cause?: unknown): StratagraphError {
  return errorOf(
    { code: "UNAVAILABLE", retryable: true },
    `${transport.url.origin} has ended the connection; follow on from the last position`,
    cause,
  );
}

/**
 * Turn the positions that heartbeats bring as an `id` without data into events, which graphql-sse passes on in their
 * order. It skips both comments and ids.
 */
function withPositions(
  body: ReadableStream<Uint8Array>,
  receiver: Receiver,
  refuse: (error: StratagraphError) => void,
  url: URL,
): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        receiver.alive();
        const text = decoder.decode(chunk, { stream: true });
        rest += text;
        if (rest.length > MOST_BYTES) {
          rest = "";
          refuse(tooLarge(url));
          controller.error(tooLarge(url));
          return;
        }
        const end = text.includes("\n") ? rest.lastIndexOf("\n\n") : -1; // a long line is not searched for each part
        if (end < 0) return;
        const events = rest.slice(0, end).split("\n\n").map(withPosition);
        rest = rest.slice(end + 2);
        controller.enqueue(encoder.encode(events.join("")));
      },
    }),
  );
}

function withPosition(event: string): string {
  if (/^data:/m.test(event)) return `${event}\n\n`;
  const [, position] = /^id: *(.+)$/m.exec(event) ?? [];
  if (position === undefined) return "";
  return `event: next\ndata: ${JSON.stringify({ data: null, extensions: { position } })}\n\n`;
}
