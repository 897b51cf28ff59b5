import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import ts from "typescript";

import { createClient, type Memory } from "stratagraph-client";
import { HealthDocument, RecordDocument, RecordsDocument, RememberDocument } from "stratagraph-client/operations";

const ROOT = new URL("..", import.meta.url);

// Checked by the compiler alone.
export async function misused(memory: Memory): Promise<void> {
  // @ts-expect-error: `input` is required
  await memory.run(RememberDocument);
  // @ts-expect-error: `id` is required
  await memory.run(RecordDocument, {});
  // @ts-expect-error: there is no such variable
  await memory.run(RecordsDocument, { limit: 3 });
  // @ts-expect-error: a source is required
  await memory.run(RememberDocument, { input: { memory: { event: { text: "x" } } } });
  // @ts-expect-error: exactly one kind of memory
  await memory.remember({ event: { text: "x" }, agentTurn: { role: "user", text: "x" } });
  const { remember } = await memory.run(RememberDocument, { input: { source: "x", memory: { event: { text: "x" } } } });
  remember.primaryRecord.id.toUpperCase();
  // @ts-expect-error: errors are thrown
  remember.code;
  const { record } = await memory.run(RecordDocument, { id: "x" });
  // @ts-expect-error: it may be null
  record.id;
  // @ts-expect-error: a payload is unknown
  record?.payload.subject;
  const { health } = await memory.run(HealthDocument);
  health.ok satisfies boolean;
  for await (const { name } of memory.list(RecordsDocument)) name satisfies string | null;
  for await (const change of memory.changes({ types: ["SEMANTIC"] })) change.record?.id satisfies string | undefined;
  // @ts-expect-error: a single record is no list
  for await (const { name } of memory.list(RecordDocument, { id: "x" })) name satisfies string | null;
  // @ts-expect-error: an address is required
  createClient({});
}

function sources(): string[] {
  return readdirSync(new URL("src", ROOT)).filter((name) => name.endsWith(".ts"));
}

// A value that is kept, or whose member is used: what `JSON.parse` returns may become unknown.
function isUsed(node: ts.Node): node is ts.Expression | ts.NamedDeclaration {
  const isNamed = ts.isParameter(node) || ts.isVariableDeclaration(node) || ts.isBindingElement(node);
  if (isNamed) return ts.isIdentifier(node.name);
  const { parent } = node;
  const isOpened = ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent) || ts.isCallExpression(parent);
  return ts.isExpression(node) && node.kind !== ts.SyntaxKind.ImportKeyword && isOpened && parent.expression === node;
}

/** Return where a value or a type of the client is `any`. */
function untyped(files: string[], options: ts.CompilerOptions): string[] {
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const found: string[] = [];
  for (const file of program.getSourceFiles()) {
    if (!files.includes(file.fileName)) continue;
    const visit = (node: ts.Node): void => {
      const isAny =
        node.kind === ts.SyntaxKind.AnyKeyword ||
        (isUsed(node) && (checker.getTypeAtLocation(node).flags & ts.TypeFlags.Any) !== 0);
      if (isAny) found.push(`${file.fileName.split("/").at(-1)}: ${node.getText()}`);
      ts.forEachChild(node, visit);
    };
    ts.forEachChild(file, visit);
  }
  return found;
}

test("no value of the client is of the type any", () => {
  const path = new URL("tsconfig.json", ROOT).pathname;
  const { config } = ts.readConfigFile(path, (name) => readFileSync(name, "utf8"));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, new URL(".", ROOT).pathname);
  const files = sources().map((name) => new URL(`src/${name}`, ROOT).pathname);
  assert.ok(files.length >= 10);
  assert.deepEqual(untyped(files, options), []);
  const wrong = new URL("build/untyped.ts", ROOT).pathname;
  ts.sys.writeFile(wrong, 'export const a = JSON.parse("1"); export function f(b: any): unknown { return b.c; }');
  assert.deepEqual(untyped([wrong], options), ['a = JSON.parse("1")', "b: any", "any", "b"].map((one) => `untyped.ts: ${one}`));
});

test("the generated types have no any, but for a field of the class of documents that nothing uses", () => {
  const text = readFileSync(new URL("src/generated/graphql.ts", ROOT), "utf8");
  const code = text.replace(/\/\*.*?\*\/|`.*?`/gs, "").replace(/export class TypedDocumentString\b.*?\n}\n/s, "");
  assert.deepEqual(code.match(/.*\bany\b(?!\??:).*/g), null);
});

test("there is a document for every operation", () => {
  const folder = new URL("../operations/", ROOT);
  const text = readFileSync(new URL("src/generated/graphql.ts", ROOT), "utf8");
  const named = readdirSync(folder).flatMap((name) =>
    [...readFileSync(new URL(name, folder), "utf8").matchAll(/^(?:query|mutation|subscription) (\w+)/gm)].map((one) => one[1]),
  );
  assert.ok(named.length > 50);
  assert.deepEqual(named.filter((name) => !text.includes(`export const ${name}Document = `)), []);
});

test("the library asks nothing of Node.js, and no module is longer than can be read in a sitting", () => {
  for (const name of sources()) {
    const text = readFileSync(new URL(`src/${name}`, ROOT), "utf8");
    assert.doesNotMatch(text, /from "node:|\bprocess\b|\bBuffer\b|require\(/, name);
    assert.ok(text.split("\n").length <= 300, name);
  }
});
