// Stores a plan to draw: node seed.mjs deploy-lantern

import { createClient } from "stratagraph-client";

const { STRATAGRAPH_URL: url = "http://127.0.0.1:8000", STRATAGRAPH_API_KEY: apiKey } = process.env;
const [planId = "deploy-lantern"] = process.argv.slice(2);
const follows = { build: ["checkout"], test: ["build"], scan: ["build"], deploy: ["test", "scan"], announce: ["deploy"] };
const nodes = ["checkout", ...Object.keys(follows)].map((op) => ({ id: op, op }));
const edges = Object.entries(follows).flatMap(([target, sources]) =>
  sources.map((source) => ({ source, target, kind: "CONTROL" })),
);
const memory = createClient({ url, source: "plan_front_end", ...(apiKey && { apiKey }) });
await memory.remember({ plan: { planId, version: "1", intent: "deploy a release", nodes, edges } });
