// A program that shares a memory with others: for each line {"remember": TEXT} or {"recall": QUESTION} on its standard
// input it prints one line of JSON. node share.js URL

import { createInterface } from "node:readline";

import { memoryOf } from "./service.js";

const apiKey = process.env["STRATAGRAPH_API_KEY"];
const memory = memoryOf({ url: String(process.argv[2]), ...(apiKey === undefined ? {} : { apiKey }) });
for await (const line of createInterface({ input: process.stdin })) {
  const { remember, recall } = JSON.parse(line) as { remember?: string; recall?: string };
  if (remember !== undefined) console.log(JSON.stringify([(await memory.remember(remember)).text]));
  if (recall !== undefined) {
    const { memories } = await memory.recall(recall, { limit: 50 });
    console.log(JSON.stringify(memories.map((one) => one.text)));
  }
}
