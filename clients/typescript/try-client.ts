// Shows the use of the generated types with nothing but `fetch`: node build/try-client.js http://127.0.0.1:8000
import {
  CaptureMemoryDocument,
  ChangedDocument,
  ChangesDocument,
  HealthDocument,
  RecordsDocument,
  RetractDocument,
  RetrieveGraphDocument,
  type TypedDocumentString,
} from "./generated/graphql.js";

type Answer<Result> = { data?: Result | null; errors?: { message: string }[] };

async function post<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables | undefined,
  accept: string,
): Promise<Response> {
  return fetch(`${process.argv[2]}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", accept },
    body: JSON.stringify({ query: document.toString(), variables }),
  });
}

async function send<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  ...[variables]: Variables extends Record<string, never> ? [] : [Variables]
): Promise<Result> {
  const answer = await post(document, variables, "application/json");
  const { data, errors } = (await answer.json()) as Answer<Result>;
  if (!data || errors) throw new Error(errors?.map((one) => one.message).join("; ") ?? answer.statusText);
  return data;
}

// Server-sent events: each has a line `event: next` and a line `data: {"data": …}`; comments keep the connection open.
async function* follow<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
): AsyncGenerator<Result> {
  const { body } = await post(document, variables, "text/event-stream");
  if (!body) throw new Error("the stream has no body");
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    const events = (text + part).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const line = event.split("\n").find((one) => one.startsWith("data: {"));
      if (!line) continue;
      const { data, errors } = JSON.parse(line.slice("data: ".length)) as Answer<Result>;
      if (!data || errors) throw new Error(errors?.map((one) => one.message).join("; ") ?? event);
      yield data;
    }
  }
}

const { health } = await send(HealthDocument);
if (!health.ok) throw new Error("the service is not healthy");

const { changes } = await send(ChangesDocument, { first: 1 });

const { captureMemory: captured } = await send(CaptureMemoryDocument, {
  input: {
    source: "try-client.ts",
    sourceKind: "OBSERVATION",
    content: { subject: "Alice", predicate: "works_at", object: "Acme" },
  },
});
if (captured.__typename !== "CaptureMemorySuccess") throw new Error(`${captured.code}: ${captured.message}`);
const { primaryRecord: fact, receipt } = captured;

const after = changes.pageInfo.endCursor;
for await (const { changed } of follow(ChangedDocument, { after, filter: { types: ["SEMANTIC"] } })) {
  if (changed.recordId !== fact.id) throw new Error("the first change is the capture");
  break;
}

const { retrieveGraph: found } = await send(RetrieveGraphDocument, {
  input: { taskDescriptor: "Where does Alice work?", atLeastSequence: receipt.sequence },
});
if (found.__typename !== "RetrieveGraphSuccess") throw new Error(`${found.code}: ${found.message}`);
if (found.nodes[0]?.record.id !== fact.id) throw new Error("the fact was not found");

const names: (string | null | undefined)[] = [];
for (let next: string | null = null; ; ) {
  const page: Awaited<ReturnType<typeof listed>> = await listed(next);
  names.push(...page.nodes.map((one) => one.name));
  if (!page.pageInfo.hasNextPage) break;
  next = page.pageInfo.endCursor;
}
async function listed(after: string | null) {
  return (await send(RecordsDocument, { filter: { types: ["SEMANTIC"] }, first: 1, after })).records;
}

const { retract: refused } = await send(RetractDocument, {
  input: { recordId: fact.id, rationale: "to try it", expectedVersion: fact.version + 7 },
});
if (refused.__typename !== "VersionConflict") throw new Error(refused.__typename);
console.log(JSON.stringify({ name: fact.name, names, code: refused.code, current: refused.current }));
