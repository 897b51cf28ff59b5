// Prints a plan as SVG: node plan.mjs deploy-lantern > plan.svg
// STRATAGRAPH_URL and STRATAGRAPH_API_KEY say where the service is, and who asks.

import { createClient } from "stratagraph-client";
import { PlanGraphDocument } from "stratagraph-client/operations";
import { draw } from "./drawing.mjs";

const { STRATAGRAPH_URL: url = "http://127.0.0.1:8000", STRATAGRAPH_API_KEY: apiKey } = process.env;
const [id] = process.argv.slice(2);
const { planGraph } = await createClient({ url, ...(apiKey && { apiKey }) }).run(PlanGraphDocument, { id });
if (planGraph === null) {
  console.error(`There is no plan ${id}, or you may not see it.`);
  process.exit(1);
}
process.stdout.write(draw(planGraph));
