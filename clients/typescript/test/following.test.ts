import assert from "node:assert/strict";
import { test } from "node:test";

import { Forbidden, InvalidInput, PositionExpired, type Memory } from "stratagraph-client";
import { CaptureMemoriesDocument, ChangedDocument, ChangesDocument, RecordsDocument, TypedDocumentString } from "stratagraph-client/operations";
import { memoryOf, newScope, Proxy, until, watched } from "./service.js";

const TRANSPORTS = ["ws", "sse"] as const;

async function notes(memory: Memory, scope: string, count: number): Promise<string[]> {
  const items = Array.from({ length: count }, (_, number) => ({
    source: "test",
    sourceKind: "EVENT" as const,
    scope,
    content: { event_kind: "note", text: `note ${number}` },
  }));
  const { captureMemories } = await memory.run(CaptureMemoriesDocument, { input: { items } });
  return captureMemories.results.map((one) => one.primaryRecord.id);
}

async function take(changes: AsyncIterable<{ recordId: string }>, count: number, then?: (id: string) => void): Promise<string[]> {
  const ids: string[] = [];
  for await (const { recordId } of changes) {
    ids.push(recordId);
    then?.(recordId);
    if (ids.length === count) break;
  }
  return ids;
}

for (const transport of TRANSPORTS) {
  test(`${transport}: changes come as they are made, from the present or from a position`, async () => {
    const scope = newScope();
    const memory = memoryOf({ transport });
    const after = await memory.position();
    const before = await notes(memory, scope, 3);
    assert.deepEqual(await take(memory.changes({ scopes: [scope] }, { after }), 3), before);
    const changes = memory.changes({ scopes: [scope], kinds: ["CREATED"] });
    let isFollowing = false;
    const first = changes.next().finally(() => (isFollowing = true));
    const written: string[] = [];
    while (!isFollowing) written.push(...(await notes(memory, scope, 1)));
    const { value } = await first;
    assert.ok(value);
    assert.ok(written.includes(value.recordId));
    assert.equal(value.record?.scope, scope);
    await changes.return();
  });

  test(`${transport}: nothing is lost and nothing comes twice when connections are cut`, async () => {
    const scope = newScope();
    const proxy = await Proxy.start();
    try {
      const memory = memoryOf({ transport, url: proxy.url });
      const after = await memory.position();
      const seen: string[] = [];
      const written: string[] = [];
      const following = take(memory.changes({ scopes: [scope] }, { after }), 40, (id) => seen.push(id));
      for (let round = 0; round < 8; round += 1) {
        if (round % 3 === 0) proxy.cut(); // while nothing is on its way
        written.push(...(await notes(memoryOf(), scope, 3)));
        if (round % 3 === 1) proxy.cut(); // while it may be
        written.push(...(await notes(memoryOf(), scope, 2)));
        await until(() => seen.length >= written.length);
      }
      assert.deepEqual(await following, written);
      assert.ok(proxy.connections >= 5, `${proxy.connections} connections`);
    } finally {
      proxy.stop();
    }
  });

  test(`${transport}: a position that is none ends the subscription`, async () => {
    const memory = memoryOf({ transport });
    await assert.rejects(take(memory.changes({}, { after: "x" }), 1), (error) => {
      assert.ok(error instanceof InvalidInput || error instanceof PositionExpired);
      assert.deepEqual(error.path, ["after"]);
      return true;
    });
  });

  test(`${transport}: a credential that is none ends the subscription`, async () => {
    const after = await memoryOf().position();
    const memory = memoryOf({ transport, apiKey: "sg_none" });
    await assert.rejects(take(memory.changes({}, { after }), 1), Forbidden);
  });

  test(`${transport}: a subscription ends when its signal is aborted`, async () => {
    const ending = new AbortController();
    const reason = new Error("enough");
    const waiting = take(memoryOf({ transport }).changes({ scopes: [newScope()] }, { signal: ending.signal }), 1);
    setTimeout(() => ending.abort(reason), 100);
    await assert.rejects(waiting, reason);
  });
}

test("a slow reader holds a bounded number of changes, and gets them all", async () => {
  const scope = newScope();
  const after = await memoryOf().position();
  const written = await notes(memoryOf(), scope, 700);
  const read = async (transport: (typeof TRANSPORTS)[number]): Promise<void> => {
    const proxy = await Proxy.start();
    try {
      const changes = memoryOf({ transport, url: proxy.url }).changes({ scopes: [scope] }, { after });
      const { value: first } = await changes.next();
      await until(() => proxy.ended === 1); // more has come than may wait
      const rest = await take(changes, written.length - 1);
      assert.deepEqual([first?.recordId, ...rest], written);
      assert.ok(proxy.connections >= 2, `${proxy.connections} connections`);
    } finally {
      proxy.stop();
    }
  };
  await Promise.all(TRANSPORTS.map(read));
});

test("a subscription that is ended while its reader waits is closed at once", async () => {
  const proxy = await Proxy.start();
  try {
    for (const transport of TRANSPORTS) {
      const after = await memoryOf().position();
      const changes = memoryOf({ transport, url: proxy.url }).changes({ scopes: [newScope()] }, { after });
      const { connections } = proxy;
      const waiting = changes.next();
      await until(() => proxy.connections > connections);
      await changes.return();
      assert.deepEqual(await waiting, { done: true, value: undefined });
      await until(() => proxy.ended === proxy.connections);
      assert.ok((await changes.next()).done);
    }
  } finally {
    proxy.stop();
  }
});

test("heartbeats over server-sent events move the position on", async () => {
  // A proxy's answer: a heartbeat with a position, in two parts, and then the end of the connection.
  const position = await memoryOf().position();
  const { sent, fetch } = watched((one, number) => {
    if (number > 1) return null;
    assert.equal(one.headers.get("accept"), "text/event-stream");
    const parts = [":\n\n:\nid: ", `${position}\n\n`].map((part) => new TextEncoder().encode(part));
    const body = new ReadableStream({
      pull(controller) {
        const part = parts.shift();
        if (part) controller.enqueue(part);
        else controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const scope = newScope();
  const memory = memoryOf({ transport: "sse", fetch });
  const reading = take(memory.changes({ scopes: [scope] }, { after: "an older one" }), 1);
  const ids = await notes(memoryOf(), scope, 1);
  assert.deepEqual(await reading, ids);
  assert.deepEqual(sent.map(({ variables }) => variables["after"]), ["an older one", position]);
});

test("what cannot be followed is said to be so", async () => {
  const memory = memoryOf();
  assert.throws(() => memory.follow(RecordsDocument as never, {}), /takes a subscription/);
  const blind = new TypedDocumentString<{ changed: { position: string } }, { after?: string }>(
    "subscription($after: String) { changed(after: $after) { kind } }",
  );
  const after = await memory.position();
  await notes(memory, newScope(), 1);
  await assert.rejects(memory.follow(blind, {}, { after }).next(), /selects no `position`/);
});

test("changes are walked through page by page too", async () => {
  const scope = newScope();
  const memory = memoryOf();
  const after = await memory.position();
  const written = await notes(memory, scope, 7);
  const changes = memory.list(ChangesDocument, { after, first: 3, filter: { scopes: [scope] } });
  const seen: string[] = [];
  for await (const { recordId } of changes) seen.push(recordId);
  assert.deepEqual(seen, written);
  assert.ok(String(ChangedDocument).startsWith("\n    subscription"));
});
