import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";

import { InvalidInput, NotFound, RateLimited, StratagraphError, Unavailable, VersionConflict } from "stratagraph-client";
import {
  CaptureMemoriesDocument,
  PlanGraphDocument,
  RecordDocument,
  RecordsDocument,
  RelationPageDocument,
  RememberAllDocument,
  RememberDocument,
  RetireLessonsDocument,
  RetractDocument,
  RetrieveGraphDocument,
  TypedDocumentString,
  type RememberInput,
} from "stratagraph-client/operations";
import { memoryOf, newScope, Proxy, watched, type Json, type Sent } from "./service.js";

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

function factIn(scope: string, subject = "Alice", object = "Acme"): { input: RememberInput } {
  return { input: { source: "test", scope, memory: { fact: { subject, predicate: "works_at", object } } } };
}

function failure(code: string, more: { [name: string]: Json } = {}, status = 200): Response {
  const extensions = { code, retryable: true, ...more };
  return Response.json({ errors: [{ message: "not now", extensions }] }, { status });
}

function keysIn(sent: readonly Sent[]): Json[] {
  return sent.map(({ variables }) => (variables["input"] as { idempotencyKey: Json }).idempotencyKey);
}

test("an answer has the success alone, typed", async () => {
  const { remember } = await memoryOf().run(RememberDocument, factIn(newScope()));
  assert.equal(remember.__typename, "CaptureMemorySuccess");
  assert.equal(remember.primaryRecord.name, "Alice works at Acme");
});

test("an error of a result is thrown as its class, with path, problems and next step", async () => {
  const memory = memoryOf();
  const { input } = factIn(newScope());
  const refused = memory.run(RememberDocument, { input: { ...input, source: "", tags: [""] } });
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof InvalidInput);
    assert.equal(error.code, "INVALID_INPUT");
    assert.deepEqual(error.path, ["source"]);
    assert.deepEqual(new Set(error.problems.map((one) => one.path[0])), new Set(["source", "tags"]));
    assert.match(error.nextStep, /source, tags/);
    return true;
  });
  const { remember } = await memory.run(RememberDocument, { input });
  const stale = { recordId: remember.primaryRecord.id, rationale: "to try it", expectedVersion: 7 };
  await assert.rejects(memory.run(RetractDocument, { input: stale }), (error) => {
    assert.ok(error instanceof VersionConflict);
    assert.equal(error.current, 1);
    assert.match(error.nextStep, /version is now 1/);
    return true;
  });
  const unknown = { recordId: "00000000-0000-4000-8000-000000000000", rationale: "to try it" };
  await assert.rejects(memory.run(RetractDocument, { input: unknown }), NotFound);
});

test("an error before the operation is thrown too, and so is one whose document selects nothing of it", async () => {
  const memory = memoryOf();
  await assert.rejects(memory.run(RecordsDocument, { first: 1_000 }), InvalidInput);
  await assert.rejects(memory.run(new TypedDocumentString<{ nope: string }, { [key: string]: never }>("{ nope }")), InvalidInput);
  const bare = new TypedDocumentString<{ retract: { __typename: string } }, { id: string }>(
    'mutation($id: ID!) { retract(input: {recordId: $id, rationale: "x"}) { __typename } }',
  );
  await assert.rejects(memory.run(bare, { id: "00000000-0000-4000-8000-000000000000" }), NotFound);
});

test("a write whose answer is lost is stored once", async () => {
  const scope = newScope();
  const { sent, fetch: lossy } = watched((one, number) => {
    if (number > 1) return null;
    const lost = fetch(new URL("/graphql", process.env["STRATAGRAPH_URL"]), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: one.query, variables: one.variables }),
    });
    return lost.then(() => Promise.reject(new TypeError("the connection was reset")));
  });
  const memory = memoryOf({ fetch: lossy });
  const { remember } = await memory.run(RememberDocument, factIn(scope));
  assert.equal(remember.replayed, true);
  const keys = keysIn(sent);
  assert.equal(keys.length, 2);
  assert.ok(keys[0]);
  assert.equal(keys[0], keys[1]);
  const { receipt } = (await memory.run(RememberDocument, factIn(scope))).remember; // another intent: another key
  assert.notEqual(keysIn(sent)[2], keys[0]);
  assert.deepEqual(receipt.changes.map((one) => one.effect), ["REINFORCED"]);
});

test("writes over connections that break are each stored once", async () => {
  const scope = newScope();
  const proxy = await Proxy.start();
  try {
    const memory = memoryOf({ url: proxy.url });
    let written = 0;
    const write = async (number: number): Promise<string> => {
      const event = { event: { text: `note ${number}` } };
      const { remember } = await memory.run(RememberDocument, { input: { source: "test", scope, memory: event } });
      written += 1;
      if (written % 7 === 3) proxy.cut(); // with what is on its way for others, or their answers
      return remember.primaryRecord.id;
    };
    const ids: string[] = [];
    for (let first = 0; first < 40; first += 10) {
      ids.push(...(await Promise.all(Array.from({ length: 10 }, (_, number) => write(first + number)))));
    }
    const stored: string[] = [];
    for await (const { id } of memory.records({ scopes: [scope], types: ["EPISODIC"] })) stored.push(id);
    assert.deepEqual(stored.sort(), ids.sort());
    assert.ok(proxy.connections > 5, `${proxy.connections} connections`);
  } finally {
    proxy.stop();
  }
});

test("each item of a batch has a key, and a key that is given is kept", async () => {
  const { sent, fetch } = watched();
  const memory = memoryOf({ fetch });
  const items = ["a", "b"].map((name) => factIn(newScope(), name).input);
  await memory.run(RememberAllDocument, { input: { items: [...items, { ...items[0]!, idempotencyKey: newScope() }] } });
  const given = (sent[0]?.variables["input"] as { items: { idempotencyKey: string }[] }).items;
  assert.equal(new Set(given.map((one) => one.idempotencyKey)).size, 3);
  assert.match(given[2]?.idempotencyKey ?? "", /^test-/);
  assert.equal(items[0]?.idempotencyKey, undefined); // the caller's object is not changed
});

test("what may succeed later is sent again, after as long as the service says", async () => {
  const begun = Date.now();
  const { sent, fetch } = watched((_, number) => {
    if (number === 1) return failure("RATE_LIMITED", { retryAfter: 0.4 }, 429);
    if (number === 2) return new Response("<html>starting</html>", { status: 503, headers: { "retry-after": "0" } });
    return number === 3 ? failure("UNAVAILABLE", {}, 503) : null;
  });
  const { remember } = await memoryOf({ fetch }).run(RememberDocument, factIn(newScope()));
  assert.equal(remember.primaryRecord.name, "Alice works at Acme");
  assert.equal(sent.length, 4);
  assert.ok(Date.now() - begun >= 500);
});

test("what would change more if it came twice is not, unless nothing was done", async () => {
  const input = { query: newScope() };
  const lost = watched(() => Promise.reject(new TypeError("the connection was reset")));
  const retire = (fetch: typeof lost.fetch): Promise<unknown> =>
    memoryOf({ fetch }).run(RetireLessonsDocument, { input: { fraction: 0.1, scope: input.query } });
  await assert.rejects(retire(lost.fetch), Unavailable);
  assert.equal(lost.sent.length, 1);
  const busy = watched((_, number) => (number === 1 ? failure("RATE_LIMITED", { retryAfter: 0 }, 429) : null));
  await retire(busy.fetch);
  assert.equal(busy.sent.length, 2);
});

test("what cannot succeed is not sent again", async () => {
  const { sent, fetch } = watched();
  await assert.rejects(memoryOf({ fetch }).run(RecordsDocument, { first: 1_000 }), InvalidInput);
  assert.equal(sent.length, 1);
});

test("a call ends at its deadline, and when its signal is aborted", async () => {
  const silent = watched(() => new Promise<Response>(() => undefined));
  const memory = memoryOf({ fetch: (url, init) => Promise.race([silent.fetch(url, init), aborted(init.signal)]) });
  await assert.rejects(memory.run(RecordsDocument, {}, { deadlineMs: 50 }), (error) => {
    assert.ok(error instanceof Unavailable);
    assert.equal(error.code, "DEADLINE_EXCEEDED");
    assert.match(error.message, /within 50 ms.*deadlineMs/);
    return true;
  });
  const reason = new Error("enough");
  const stopped = memory.run(RecordsDocument, {}, { signal: AbortSignal.abort(reason) });
  await assert.rejects(stopped, reason);
  const ending = new AbortController();
  const running = memory.run(RecordsDocument, {}, { signal: ending.signal });
  ending.abort(reason);
  await assert.rejects(running, reason);
  const busy = watched(() => failure("RATE_LIMITED", { retryAfter: 60 }, 429));
  await assert.rejects(memoryOf({ fetch: busy.fetch, deadlineMs: 1_000 }).run(RecordsDocument), RateLimited);
  assert.equal(busy.sent.length, 1); // waiting would be longer than the deadline
});

function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
}

test("a service that is away is waited for", async () => {
  const proxy = await Proxy.start();
  const { url } = proxy;
  try {
    proxy.isClosed = true;
    const memory = memoryOf({ url });
    const running = memory.run(RecordsDocument, { first: 1 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    proxy.isClosed = false;
    assert.ok((await running).records);
  } finally {
    proxy.stop();
  }
  const refused = memoryOf({ url }).run(RetireLessonsDocument, { input: {} }); // which is not sent again
  await assert.rejects(refused, (error) => {
    assert.ok(error instanceof StratagraphError);
    assert.match(error.message, /cannot be reached \(ECONN\w+\): start a service/);
    return true;
  });
});

test("a service that was never there is waited for shortly, and the error says how to start one", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const begun = Date.now();
  await assert.rejects(memoryOf({ url: `http://127.0.0.1:${port}` }).remember("x"), (error) => {
    assert.ok(error instanceof Unavailable);
    assert.match(error.message, /ECONNREFUSED.*stratagraph serve/);
    return true;
  });
  assert.ok(Date.now() - begun < 4_000);
});

test("an address that is no service is said to be one", async () => {
  const { fetch } = watched(() => new Response("hello", { status: 200 }));
  await assert.rejects(memoryOf({ fetch }).run(RecordsDocument), /not that of a Stratagraph service.*; check `url`/);
});

test("credential and trace go with each request", async () => {
  const { sent, fetch } = watched(() => Response.json({ data: {} }));
  let number = 0;
  const memory = memoryOf({ fetch, apiKey: () => Promise.resolve(`key-${(number += 1)}`), traceparent: () => TRACE });
  await memory.run(RecordsDocument);
  await memory.run(RecordsDocument, {}, { traceparent: TRACE.replace("b7", "c7") });
  assert.deepEqual(sent.map(({ headers }) => headers.get("authorization")), ["Bearer key-1", "Bearer key-2"]);
  assert.deepEqual(sent.map(({ headers }) => headers.get("traceparent")), [TRACE, TRACE.replace("b7", "c7")]);
  assert.ok(!JSON.stringify(memory).includes("key-"));
});

test("a trace is taken by the service", async () => {
  const { records } = await memoryOf({ traceparent: TRACE }).run(RecordsDocument, { first: 1 });
  assert.ok(records);
});

test("answers reflect the client's own writes, and those of another whose sequence it is given", async () => {
  const scope = newScope();
  const { sent, fetch } = watched();
  const memory = memoryOf({ fetch });
  const ask = { input: { taskDescriptor: "Who is called Alice?", scopes: [scope] } };
  await memory.run(RetrieveGraphDocument, ask);
  assert.equal(asked(sent.at(-1)), undefined);
  await memory.run(RememberDocument, factIn(scope));
  const { remember } = await memory.run(RememberDocument, factIn(scope, "Alice", "Beta"));
  assert.equal(memory.sequence, remember.receipt.sequence); // the newest alone
  const { retrieveGraph } = await memory.run(RetrieveGraphDocument, ask);
  assert.ok(retrieveGraph.nodes.length > 0);
  assert.equal(asked(sent.at(-1)), remember.receipt.sequence);
  await memory.run(PlanGraphDocument, { id: "none" });
  assert.equal(sent.at(-1)?.variables["atLeastSequence"], remember.receipt.sequence);
  await memory.run(RecordDocument, { id: remember.primaryRecord.id });
  assert.equal(sent.at(-1)?.variables["atLeastSequence"], undefined); // the document takes none
  const outcome = await memory.reportOutcome(retrieveGraph.retrievalId, "SUCCESS");
  assert.ok(outcome);
  assert.notEqual(memory.sequence, remember.receipt.sequence);

  const other = watched();
  const reader = memoryOf({ fetch: other.fetch, after: remember.receipt.sequence });
  await reader.run(RetrieveGraphDocument, ask);
  assert.equal(asked(other.sent.at(-1)), remember.receipt.sequence);
  await reader.run(RetrieveGraphDocument, { input: { ...ask.input, atLeastSequence: memory.sequence } });
  assert.equal(asked(other.sent.at(-1)), memory.sequence); // what the caller gives counts
});

function asked(sent: Sent | undefined): Json | undefined {
  return (sent?.variables["input"] as { atLeastSequence?: Json } | undefined)?.atLeastSequence;
}

test("writes at the same time are all reflected, and a replayed one takes the place of none", async () => {
  const scope = newScope();
  const { sent, fetch } = watched();
  let before: Promise<unknown> = Promise.resolve();
  const memory = memoryOf({
    fetch: (url, init) => {
      // The service stores what comes at the same time in one transaction, with one sequence.
      const answered = before.then(() => fetch(url, init));
      before = answered;
      return answered;
    },
  });
  const write = async (name: string, key: string | null = null): Promise<string> => {
    const { input } = factIn(scope, name);
    const { remember } = await memory.run(RememberDocument, { input: { ...input, idempotencyKey: key } });
    return remember.receipt.sequence;
  };
  const written = await Promise.all(["a", "b", "c"].map((name) => write(name, `${scope}-${name}`)));
  assert.equal(memory.sequence, written.join("."));
  const ask = { input: { taskDescriptor: "Who works at Acme?", scopes: [scope] } };
  assert.ok((await memory.run(RetrieveGraphDocument, ask)).retrieveGraph.nodes.length >= 3);
  assert.equal(asked(sent[3]), written.join("."));
  const last = await write("d");
  assert.equal(memory.sequence, last);
  assert.equal(await write("a", `${scope}-a`), written[0]);
  assert.equal(memory.sequence, [last, written[0]].join("."));
});

test("a sequence from before a restore is forgotten, unless it was given", async () => {
  const unknown = "A".repeat(22);
  const ask = { input: { taskDescriptor: "Where does Alice work?", scopes: [newScope()] } };
  const given = memoryOf({ after: unknown });
  await assert.rejects(given.run(RetrieveGraphDocument, ask), InvalidInput);
  const { sent, fetch: real } = watched();
  const memory = memoryOf({
    fetch: async (url, init) => {
      const text = await (await real(url, init)).text();
      return new Response(text.replace(/"sequence":"[^"]*"/, `"sequence":"${unknown}"`));
    },
  });
  await memory.run(RememberDocument, factIn(newScope()));
  assert.equal(memory.sequence, unknown);
  assert.ok((await memory.run(RetrieveGraphDocument, ask)).retrieveGraph.nothingKnown);
  assert.deepEqual(sent.map(asked), [undefined, unknown, undefined]);
  assert.equal(memory.sequence, null);
});

test("a list is walked through page by page, as far as it is read", async () => {
  const scope = newScope();
  const { sent, fetch } = watched();
  const memory = memoryOf({ fetch });
  const items = Array.from({ length: 7 }, (_, number) => ({
    source: "test",
    sourceKind: "EVENT" as const,
    scope,
    content: { event_kind: "note", text: `note ${number}` },
  }));
  await memory.run(CaptureMemoriesDocument, { input: { items } });
  const list = { filter: { scopes: [scope], types: ["EPISODIC" as const] }, order: "CREATED_ASC" as const, first: 3 };
  const texts: (string | null)[] = [];
  for await (const record of memory.list(RecordsDocument, list)) texts.push(record.text);
  assert.deepEqual(texts.map((text) => /note \d/.exec(text ?? "")?.[0]), items.map((one) => one.content.text));
  assert.ok(sent.length >= 4);
  const before = sent.length;
  for await (const record of memory.list(RecordsDocument, list)) if (record.id) break;
  assert.equal(sent.length, before + 1);
  const { remember } = await memory.run(RememberDocument, factIn(scope));
  const relations = memory.list(
    RelationPageDocument,
    { id: remember.primaryRecord.id, first: 1 },
    { in: (answer) => answer.record?.relationPage },
  );
  const predicates = new Set<string>();
  for await (const relation of relations) predicates.add(relation.predicate);
  assert.ok(predicates.size > 0);
  await assert.rejects(async () => {
    for await (const _ of memory.list(RelationPageDocument, { id: remember.primaryRecord.id })) assert.fail();
  }, /give `in`/);
});
