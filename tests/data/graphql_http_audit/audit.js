// Runs the audits of graphql-http on the GraphQL endpoint that the first argument names, with the token that the second
// one is, and prints what each found as JSON.
import { serverAudits } from "graphql-http";

const [url, token] = process.argv.slice(2);
const fetchFn = (at, init = {}) =>
  fetch(at, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
const found = [];
for (const audit of serverAudits({ url, fetchFn })) {
  const result = await audit.fn();
  found.push({ id: audit.id, name: audit.name, status: result.status, reason: result.reason ?? null });
}
console.log(JSON.stringify(found));
