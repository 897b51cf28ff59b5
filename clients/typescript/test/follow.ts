// Follows changes of a scope and prints each as a line: node follow.js ws|sse URL SCOPE COUNT

import { memoryOf } from "./service.js";

const [transport, url, scope, count] = process.argv.slice(2);
const memory = memoryOf({ url: String(url), transport: transport === "ws" ? "ws" : "sse" });
const after = await memory.position();
console.log("ready");
let left = Number(count);
for await (const { recordId } of memory.changes({ scopes: [String(scope)] }, { after })) {
  console.log(recordId);
  left -= 1;
  if (left === 0) break;
}
