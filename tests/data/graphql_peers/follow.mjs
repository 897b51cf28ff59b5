// Follows changes by the clients graphql-ws and graphql-sse, and prints each change as a line of JSON.
// node follow.mjs ws|sse URL TOKEN POSITION COUNT
import { createClient as createSseClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import WebSocket from "ws";

const [kind, url, token, position, count] = process.argv.slice(2);
const authorization = token ? { Authorization: `Bearer ${token}` } : {};
const client =
  kind === "ws"
    ? createSocketClient({ url: url.replace("http", "ws"), webSocketImpl: WebSocket, connectionParams: authorization })
    : createSseClient({ url, headers: authorization, retryAttempts: 3 });
const query =
  "subscription($after: String) { changed(after: $after) { position kind recordId record { name } } }";
let left = Number(count);
for await (const result of client.iterate({ query, variables: { after: position || null } })) {
  console.log(JSON.stringify(result));
  if (--left === 0) break;
}
await client.dispose?.();
process.exit(0);
