/** A few seconds of the push fuzzer from a fixed seed; `npm run fuzz` goes on for longer. */
import { expect, it } from "vitest";
import { fuzzPushesAtActivator } from "../../support/push-fuzz-bench.ts";

it("finds no report that breaks an activator or gets a stranger into the store", async () => {
  const { runs, passed, findings } = await fuzzPushesAtActivator({ seed: 20_260_821, ms: 3_000 });
  expect(findings).toEqual([]);
  // Both kinds of input were there.
  expect(passed).toBeGreaterThan(0);
  expect(passed).toBeLessThan(runs);
});
