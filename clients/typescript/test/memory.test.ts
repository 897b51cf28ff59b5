import assert from "node:assert/strict";
import { test } from "node:test";

import { InvalidInput, NotFound, type Memory, type Thread } from "stratagraph-client";
import { RecordDocument, ThreadDocument } from "stratagraph-client/operations";
import { memoryOf, newScope, watched } from "./service.js";

async function episodeOf(memory: Memory, id: string): Promise<{ outcome: unknown; reason: unknown; turns: string[] }> {
  const { thread } = await memory.run(ThreadDocument, { id });
  assert.ok(thread);
  const payload = thread.episodes.nodes[0]?.payload as { outcome?: unknown; outcome_reason?: unknown } | undefined;
  const turns = thread.turns.nodes.map((one) => one.text ?? "").reverse();
  return { outcome: payload?.outcome, reason: payload?.outcome_reason, turns };
}

test("a text is recalled, once however often it is remembered", async () => {
  const scope = newScope();
  const memory = memoryOf();
  const first = await memory.remember("Alice moved to Berlin in May", { about: "Alice", scope });
  assert.ok(first.isNew);
  const again = await memory.remember("Alice moved to Berlin in May", { about: "Alice", scope });
  assert.deepEqual([again.id, again.isNew], [first.id, false]);
  const recalled = await memory.recall("Where did Alice move?", { scopes: [scope] });
  assert.equal(recalled.memories[0]?.id, first.id);
  assert.match(recalled.text, /Alice moved to Berlin in May/);
  const more = await memory.remember("Bob likes sailing with Alice", { scope, mentions: ["Alice", "Bob"], tags: ["leisure"] });
  const { record } = await memory.run(RecordDocument, { id: more.id });
  assert.deepEqual(record?.tags, ["leisure"]);
  assert.ok((await memory.recall("Which quarks are known?", { scopes: [scope] })).nothingKnown);
});

test("a fact takes the place of what it contradicts, and the outcome of its use is reported", async () => {
  const scope = newScope();
  const memory = memoryOf({ source: "crm" });
  const fact = { subject: "Alice", predicate: "works_at", revisionPolicy: "REPLACE" as const };
  const old = await memory.remember({ ...fact, object: "Acme" }, { scope });
  const now = await memory.remember({ ...fact, object: "Beta" }, { scope });
  assert.deepEqual(now.replaced, [old.id]);
  const recalled = await memory.recall("Where does Alice work?", { scopes: [scope], limit: 1 });
  assert.deepEqual(recalled.memories.map((one) => one.text), ["Alice works at Beta"]);
  const { penalizedIds } = await memory.reportOutcome(recalled, "FAILURE", [now.id]);
  assert.deepEqual(penalizedIds, [now.id]);
});

test("the text of an answer is that of its memories, and a budget cuts it from the end", async () => {
  const scope = newScope();
  const memory = memoryOf();
  const thread = newScope();
  for (const text of ["The crane K3 is oiled", "The crane K3 is red", "The crane K3 has a new hook", "Bo drives the crane K3"]) {
    await memory.remember({ agentTurn: { role: "user", text, threadId: thread } }, { scope });
    await memory.remember(text, { about: "crane K3", mentions: ["Bo", "hook"], scope });
  }
  for (const limit of [1, 3, 20]) {
    for (const tokenBudget of [5, 40, 4_000]) {
      const { text, memories } = await memory.recall("crane K3", { scopes: [scope], limit, tokenBudget });
      const lines = text.split("\n").filter(Boolean);
      assert.ok(memories.length <= limit && memories.length > 0);
      assert.ok(lines.length <= memories.length);
      if (tokenBudget === 4_000) assert.equal(lines.length, memories.length);
      if (tokenBudget === 5) assert.equal(text, "");
      for (const line of lines) assert.ok(memories.some((one) => line.includes(one.text)), `${line} is no memory's`);
    }
  }
});

test("what cannot be sent is refused at once, by its name", async () => {
  const { sent, fetch } = watched();
  const memory = memoryOf({ fetch });
  const circular: Record<string, unknown> = { fine: 1 };
  circular["again"] = circular;
  const fact = { subject: "Tove", predicate: "has" };
  const places: [object: unknown, place: string][] = [
    [1n, "input.memory.fact.object"],
    [{ fine: [0, 1n] }, "input.memory.fact.object.fine.1"],
    [circular, "input.memory.fact.object.again"],
  ];
  for (const [object, place] of places) {
    await assert.rejects(memory.remember({ ...fact, object }), (error) => {
      assert.ok(error instanceof InvalidInput);
      assert.equal(error.path?.join("."), place);
      assert.match(error.message, /JSON cannot hold/);
      return true;
    });
  }
  for (const what of [5, null, undefined, ["a"], true]) {
    await assert.rejects(memory.remember(what as never), (error) => {
      assert.ok(error instanceof InvalidInput);
      assert.deepEqual(error.path, ["what"]);
      return true;
    });
  }
  assert.equal(sent.length, 0);
});

test("a memory is explained, corrected and forgotten, each with its reason", async () => {
  const scope = newScope();
  const memory = memoryOf({ source: "crm" });
  const { id } = await memory.remember({ subject: "Alice", predicate: "works_at", object: "Acme" }, { scope });
  const corrected = await memory.correct(id, { object: "Beta" }, "She told us", {
    evidence: [{ kind: "HUMAN", ref: "ticket-7" }],
    expectedVersion: 1,
  });
  assert.equal(corrected.text, "Alice works at Beta");
  assert.deepEqual(corrected.replaced, [id]);
  const { type, version, sources, versions, changes, related } = await memory.explain(corrected.id);
  assert.deepEqual([type, version, versions.length], ["SEMANTIC", 1, 1]);
  assert.ok(sources.some((one) => one.ref === "ticket-7"));
  assert.ok(related.some((one) => one.predicate === "supersedes" && one.outgoing && one.id === id));
  assert.ok(related.some((one) => one.name === "Beta"));
  assert.ok(changes.some((one) => one.reason === "She told us"));
  await memory.forget(corrected.id, "It was a rumour");
  const { memories } = await memory.recall("Where does Alice work?", { scopes: [scope] });
  assert.deepEqual(memories.filter((one) => one.type === "SEMANTIC"), []);
  const note = await memory.remember("The door code is 4711", { scope });
  const better = await memory.correct(note.id, "The door code is 4712", "It was changed");
  const found = await memory.recall("What is the door code?", { scopes: [scope] });
  assert.deepEqual(found.memories.map((one) => one.id), [better.id]);
  const { text } = await memory.explain(note.id);
  assert.match(text, /4711/);
  await memory.forget(note.id, "asked to", { erase: true });
  await assert.rejects(memory.explain(note.id), NotFound);
  await assert.rejects(memory.explain("00000000-0000-4000-8000-000000000000"), NotFound);
});

test("records that fit a filter are listed", async () => {
  const scope = newScope();
  const memory = memoryOf();
  for (const object of ["Acme", "Beta", "Gamma"]) await memory.remember({ subject: object, predicate: "is_in", object: "Bern" }, { scope });
  const names: (string | null)[] = [];
  const filter = { scopes: [scope], types: ["SEMANTIC" as const] };
  for await (const { name } of memory.records(filter, { order: "CREATED_ASC" })) names.push(name);
  assert.deepEqual(names, ["Acme is in Bern", "Beta is in Bern", "Gamma is in Bern"]);
});

test("a thread captures turns and calls, reports its outcome, and credits lessons and what was used", async () => {
  const memory = memoryOf();
  const topic = newScope();
  const about = [`The registry of ${topic} is nightly`, `The mirror of ${topic} is weekly`];
  const [first, second] = [await memory.remember(about[0]!), await memory.remember(about[1]!)];
  const lesson = await memory.learnLesson(`upload ${topic}`, "Raise the version.", { mistake: "It was taken." });
  const answer = await memory.thread(topic, async (thread) => {
    await thread.say("user", "Please upload the package");
    const recalled = await thread.recall(`Which registry or mirror has ${topic}?`, { types: ["SEMANTIC"] });
    const ids = recalled.memories.map((one) => one.id);
    assert.ok(ids.includes(first.id) && ids.includes(second.id));
    thread.used(recalled, first.id);
    const { text, lessonIds } = await thread.lessons(`upload ${topic}`);
    assert.match(text, /Raise the version/);
    assert.ok(lessonIds.includes(lesson.id));
    const version = await thread.tool("bump", { part: "minor" }, () => ({ version: "1.1" }));
    assert.deepEqual(version, { version: "1.1" });
    await thread.toolCalled("upload", version, { result: "done" });
    return thread.id;
  });
  assert.equal(answer, topic);
  const { outcome, turns } = await episodeOf(memory, topic);
  assert.equal(outcome, "success");
  assert.equal(turns.length, 3);
  const actions = async (id: string): Promise<string[]> => (await memory.explain(id)).changes.map((one) => one.action);
  assert.ok((await actions(first.id)).includes("reinforce"));
  assert.ok((await actions(second.id)).includes("decay")); // it was returned, and not used
  const { record } = await memory.run(RecordDocument, { id: lesson.id });
  const counts = (record?.payload as { lesson: { helpful_retrievals: number } }).lesson;
  assert.equal(counts.helpful_retrievals, 1);
});

test("a thread that throws is closed as failed, and what it threw is thrown", async () => {
  const memory = memoryOf();
  const id = newScope();
  const reason = new RangeError("no such version");
  const failed = memory.thread(id, (thread) => thread.tool("bump", {}, () => Promise.reject(reason)));
  await assert.rejects(failed, reason);
  const { outcome, reason: stored, turns } = await episodeOf(memory, id);
  assert.deepEqual([outcome, stored], ["failure", "RangeError"]);
  assert.match(turns[0] ?? "", /no such version/);
});

test("a thread that gave its outcome keeps it, and one without events stores nothing", async () => {
  const memory = memoryOf();
  const id = newScope();
  await memory.thread(id, async (thread: Thread) => {
    await thread.say("user", "hello");
    await thread.close("PARTIAL", "half of it");
    assert.equal(thread.outcome, "PARTIAL");
  });
  const { outcome, reason } = await episodeOf(memory, id);
  assert.deepEqual([outcome, reason], ["partial", "half of it"]);
  await assert.rejects(
    memory.thread(id, async (thread: Thread) => {
      await thread.close("SUCCESS");
      await thread.close("FAILURE");
    }),
    /has an outcome already/,
  );
  const ending = new AbortController();
  const interrupted = newScope();
  const stopped = memory.thread(
    interrupted,
    async (thread) => {
      await thread.say("user", "hello");
      ending.abort();
      await thread.say("user", "hello again");
    },
    { signal: ending.signal },
  );
  await assert.rejects(stopped, { name: "AbortError" });
  assert.deepEqual(await episodeOf(memory, interrupted), { outcome: undefined, reason: undefined, turns: ["user: hello"] });
  const { sent, fetch } = watched();
  await memoryOf({ fetch }).thread(null, () => "nothing");
  assert.equal(sent.length, 0);
});
