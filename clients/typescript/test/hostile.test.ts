// Answers that no service gives: redirections, broken and endless ones. Needs no service.

import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createGzip } from "node:zlib";

import { StratagraphError, Unavailable, type Memory } from "stratagraph-client";
import { pauseMs } from "../dist/transport.js";
import { memoryOf, watched } from "./service.js";

async function served(listener: RequestListener, use: (url: string) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const CALLS: readonly ((memory: Memory) => Promise<unknown>)[] = [
  (memory) => memory.remember("x"),
  (memory) => memory.recall("x"),
  (memory) => memory.explain("1"),
  (memory) => memory.correct("1", "x", "y"),
  (memory) => memory.forget("1", "x"),
  (memory) => memory.forget("1", "x", { erase: true }),
  (memory) => memory.lessons("x"),
  (memory) => memory.credit({ text: "", lessonIds: [], playbookId: "1" }),
  (memory) => memory.learnLesson("x", "y"),
  (memory) => memory.reportOutcome("1", "SUCCESS"),
  (memory) => memory.position(),
  (memory) => memory.records().next(),
  (memory) => memory.changes().next(),
];

test("no redirection is followed, by a call or a stream", async () => {
  const reached: string[] = [];
  await served(
    (request, response) => (reached.push(request.url ?? ""), response.end("{}")),
    (other) =>
      served(
        (_, response) => response.writeHead(307, { location: `${other}/stolen` }).end(),
        async (url) => {
          const memory = memoryOf({ url, transport: "sse" });
          const refused = { name: "Unavailable", message: /not that of a Stratagraph service \(status 307\)/ };
          await assert.rejects(memory.remember("a secret"), refused);
          await assert.rejects(memory.changes({}, { after: "p" }).next(), refused);
        },
      ),
  );
  assert.deepEqual(reached, []);
});

const FIELDS = ["remember", "retrieveGraph", "record", "amend", "retract", "erase", "playbook", "creditLessons", "learnLesson",
  "reportOutcome", "changes", "records"];
const BROKEN: readonly unknown[] = [
  7, "x", null, [], [1, null], {}, { errors: "boom" }, { errors: [1, null] }, { errors: [{ extensions: "x" }] },
  { errors: [{ message: 7, extensions: { code: 7, problems: [7], path: [7], retryAfter: "x" } }] }, { data: [] }, { data: {} },
  ...[7, "x", [7], {}, { __typename: "NotYetKnown" }, { nodes: 7, pageInfo: 7 }, { nodes: [null] }].map(
    (value) => ({ data: Object.fromEntries(FIELDS.map((name) => [name, value])) }),
  ),
];

test("whatever a broken answer is, what is thrown is a StratagraphError", async () => {
  for (const answer of [...BROKEN.map((one) => JSON.stringify(one)), `{"data":${"[".repeat(100_000)}${"]".repeat(100_000)}}`]) {
    const memory = memoryOf({ transport: "sse", fetch: watched(() => new Response(answer)).fetch });
    for (const call of CALLS) {
      await call(memory).catch((error: unknown) => {
        assert.ok(error instanceof StratagraphError, `${answer.slice(0, 99)}: ${String(error)}`);
      });
    }
    await assert.rejects(memory.remember("x"), StratagraphError, answer.slice(0, 99));
    await assert.rejects(memory.forget("1", "x"), StratagraphError, answer.slice(0, 99));
  }
});

test("an answer that is larger than any of the service is refused, also one that is small on its way", async () => {
  const zeros = Buffer.alloc(2 ** 20, " ");
  await served(
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      const zipped = createGzip({ level: 1 });
      zipped.pipe(response);
      let left = 140;
      const write = (): void => {
        while (left-- > 0) if (!zipped.write(zeros)) return void zipped.once("drain", write);
        zipped.end();
      };
      write();
    },
    (url) => assert.rejects(memoryOf({ url }).remember("x"), { name: "Unavailable", message: /more than 134217728 bytes/ }),
  );
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(zeros) });
  const headers = { "content-type": "text/event-stream" };
  const memory = memoryOf({ transport: "sse", fetch: () => Promise.resolve(new Response(endless, { headers })) });
  await assert.rejects(memory.changes({}, { after: "p" }).next(), { name: "Unavailable", message: /more than 134217728 bytes/ });
});

test("a service that names no time to wait, or a wrong one, is asked after growing pauses", async () => {
  for (const retryAfter of ["-1", "-1e300", "1e999", '"x"', "null"]) {
    const error = `{"errors":[{"message":"no","extensions":{"code":"UNAVAILABLE","retryable":true,"retryAfter":${retryAfter}}}]}`;
    const { sent, fetch } = watched(() => new Response(error));
    await assert.rejects(memoryOf({ fetch, deadlineMs: 500 }).recall("x"), Unavailable);
    assert.ok(sent.length <= 4, `${retryAfter}: ${sent.length} requests`);
  }
  const { sent, fetch } = watched(() => new Response('{"errors":[{"message":"no","extensions":{"code":"RATE_LIMITED","retryable":true,"retryAfter":0}}]}'));
  await assert.rejects(memoryOf({ fetch, deadlineMs: 1_000 }).recall("x"), Unavailable);
  assert.ok(sent.length <= 6, `${sent.length} requests`);
  assert.ok(pauseMs(7) >= 2_500);
});
