import assert from "node:assert/strict";
import { test } from "node:test";

import { Writes } from "../dist/writes.js";

interface Write {
  readonly sequence: string;
  readonly begun: number;
  readonly answered: number;
}

/** Return a generator of numbers from 0 to 1, the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

test("the writes that are carried are those after whose answer no other began", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = seeded(seed);
    const writes = new Writes(undefined);
    const open: { sequence: string; begun: number; token: number }[] = [];
    const answered: Write[] = [];
    for (let moment = 1; moment <= 40; moment += 1) {
      if (open.length === 0 || (random() < 0.5 && open.length < 8)) {
        open.push({ sequence: `${seed}-${moment}`, begun: moment, token: writes.begin() });
        continue;
      }
      const [{ sequence, begun, token }] = open.splice(Math.floor(random() * open.length), 1) as [(typeof open)[number]];
      writes.answered(token, sequence, false);
      answered.push({ sequence, begun, answered: moment });
      const newest = answered.filter((one) => !answered.some((other) => other.begun > one.answered));
      assert.deepEqual(new Set(writes.sequence?.split(".")), new Set(newest.map((one) => one.sequence)), `seed ${seed}`);
      assert.ok(writes.isOwn);
    }
  }
});

test("no more is carried than the API takes", () => {
  const writes = new Writes("given");
  assert.ok(!writes.isOwn);
  for (let number = 0; number < 50; number += 1) writes.answered(-1, String(number), false);
  assert.equal(writes.sequence?.split(".").length, 32);
  assert.ok(writes.isOwn);
});
