// Shows the use of the generated types with nothing but `fetch`: node build/try-client.js http://127.0.0.1:8000
import {
  CaptureMemoryDocument,
  HealthDocument,
  RecordsDocument,
  RetractDocument,
  RetrieveGraphDocument,
  type TypedDocumentString,
} from "./generated/graphql.js";

type Answer<Result> = { data?: Result | null; errors?: { message: string }[] };

async function send<Result, Variables>(
  document: TypedDocumentString<Result, Variables>,
  ...[variables]: Variables extends Record<string, never> ? [] : [Variables]
): Promise<Result> {
  const answer = await fetch(`${process.argv[2]}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: document.toString(), variables }),
  });
  const { data, errors } = (await answer.json()) as Answer<Result>;
  if (!data || errors) throw new Error(errors?.map((one) => one.message).join("; ") ?? answer.statusText);
  return data;
}

const { health } = await send(HealthDocument);
if (!health.ok) throw new Error("the service is not healthy");

const { captureMemory: captured } = await send(CaptureMemoryDocument, {
  input: {
    source: "try-client.ts",
    sourceKind: "OBSERVATION",
    content: { subject: "Alice", predicate: "works_at", object: "Acme" },
  },
});
if (captured.__typename !== "CaptureMemorySuccess") throw new Error(`${captured.code}: ${captured.message}`);
const { primaryRecord: fact, receipt } = captured;

const { retrieveGraph: found } = await send(RetrieveGraphDocument, {
  input: { taskDescriptor: "Where does Alice work?", atLeastSequence: receipt.sequence },
});
if (found.__typename !== "RetrieveGraphSuccess") throw new Error(`${found.code}: ${found.message}`);
if (found.nodes[0]?.record.id !== fact.id) throw new Error("the fact was not found");

const names: (string | null | undefined)[] = [];
for (let after: string | null | undefined = undefined; ; ) {
  const page: Awaited<ReturnType<typeof listed>> = await listed(after ?? null);
  names.push(...page.nodes.map((one) => one.name));
  if (!page.pageInfo.hasNextPage) break;
  after = page.pageInfo.endCursor;
}
async function listed(after: string | null) {
  return (await send(RecordsDocument, { filter: { types: ["SEMANTIC"] }, first: 1, after })).records;
}

const { retract: refused } = await send(RetractDocument, {
  input: { recordId: fact.id, rationale: "to try it", expectedVersion: fact.version + 7 },
});
if (refused.__typename !== "VersionConflict") throw new Error(refused.__typename);
console.log(JSON.stringify({ name: fact.name, names, code: refused.code, current: refused.current }));
