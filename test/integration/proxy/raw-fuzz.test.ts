/** A few seconds of the request fuzzer from a fixed seed; `npm run fuzz` goes on for longer. */
import { expect, it } from "vitest";
import { fuzzRequestHeads } from "../../fuzz/request-head.ts";

it("finds nothing that crashes, hangs or desynchronises a front", async () => {
  const { runs, passed, findings } = await fuzzRequestHeads({ seed: 20_260_821, ms: 5_000 });
  expect(findings).toEqual([]);
  // Both kinds of input were there.
  expect(runs).toBeGreaterThan(20);
  expect(passed).toBeGreaterThan(0);
  expect(passed).toBeLessThan(runs);
});
