// Draws the plan that the address names, and draws it anew whenever a plan changes:
// http://127.0.0.1:8080/?service=http://127.0.0.1:8000&plan=deploy-lantern

import { createClient } from "stratagraph-client";
import { PlanGraphDocument } from "stratagraph-client/operations";
import { draw } from "./drawing.mjs";

const asked = new URLSearchParams(location.search);
// A key belongs into the fragment, which a browser sends to no server.
const apiKey = new URLSearchParams(location.hash.slice(1)).get("key");
const client = createClient({
  url: asked.get("service") ?? "http://127.0.0.1:8000",
  ...(apiKey && { apiKey }),
  ...(asked.get("transport") && { transport: asked.get("transport") }),
});

async function show() {
  const { planGraph } = await client.run(PlanGraphDocument, { id: asked.get("plan") });
  document.querySelector("#plan").innerHTML = planGraph ? draw(planGraph) : "";
  document.querySelector("#note").textContent = planGraph
    ? `${planGraph.planId}, version ${planGraph.version}, ${planGraph.stepCount} steps`
    : "There is no such plan yet.";
}

try {
  const after = await client.position(); // whatever changes from here on is seen below
  await show();
  for await (const _ of client.changes({ types: ["PLAN_GRAPH"] }, { after })) await show();
} catch (error) {
  document.querySelector("#note").textContent = `${error.message} ${error.nextStep ?? ""}`;
}
