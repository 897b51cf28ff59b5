// The service under test, and ways to look at and disturb what goes between it and a client.

import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import WebSocket from "ws";

import { createClient, type Memory, type MemoryOptions } from "stratagraph-client";

export const SERVICE = process.env["STRATAGRAPH_URL"] ?? "http://127.0.0.1:8000";

/** Return a client of the service; its memories are found by `scope`, which no other test has. */
export function memoryOf(options: Partial<MemoryOptions> = {}): Memory {
  return createClient({ url: SERVICE, webSocket: WebSocket, ...options });
}

export function newScope(): string {
  return `test-${Math.random().toString(36).slice(2)}`;
}

export interface Sent {
  readonly query: string;
  readonly variables: { readonly [name: string]: Json };
  readonly headers: Headers;
}
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A `fetch` that notes what is sent, and passes it on unless `answer` returns an answer in the service's place. */
export function watched(
  answer: (sent: Sent, number: number) => Response | Promise<Response> | null = () => null,
): { sent: Sent[]; fetch: NonNullable<MemoryOptions["fetch"]> } {
  const sent: Sent[] = [];
  return {
    sent,
    fetch: async (url, init) => {
      const { query, variables } = JSON.parse(String(init.body)) as Sent;
      const one = { query, variables, headers: new Headers(init.headers) };
      sent.push(one);
      return (await answer(one, sent.length)) ?? fetch(url, init);
    },
  };
}

/** A TCP proxy in front of the service, whose connections can be cut, and which can be closed to new ones. */
export class Proxy {
  #server: Server;
  #sockets = new Set<Socket>();
  isClosed = false;
  /** Connections that were made, and those that have ended. */
  connections = 0;
  ended = 0;

  private constructor() {
    const { hostname, port } = new URL(SERVICE);
    this.#server = createServer((near) => {
      if (this.isClosed) {
        near.destroy();
        return;
      }
      this.connections += 1;
      const far = connect(Number(port), hostname);
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => (other.destroy(), this.#sockets.delete(socket)));
      }
      near.on("close", () => (this.ended += 1));
      near.pipe(far).pipe(near);
    });
  }

  static async start(): Promise<Proxy> {
    const proxy = new Proxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Cut all connections, with what is on its way in them. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  stop(): void {
    this.#server.close();
    this.cut();
  }
}

/** Wait until a condition holds. Fails after 60 seconds. */
export async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !holds(); ) {
    if (Date.now() > end) throw new Error(`still waiting for ${String(holds)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
