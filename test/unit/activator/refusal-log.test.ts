/** Refused pushes in the log: said once, counted meanwhile. */
import { expect, it } from "vitest";
import { RefusalLog } from "../../../activator/refusal-log.ts";
import { createLogger } from "../../../foundation/logger.ts";

it("says each reason once a second, and how often it was silent", () => {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    lines.push(JSON.parse(line) as Record<string, unknown>);
  };
  let now = 0;
  const log = new RefusalLog({ now: () => now }, createLogger({ name: "test", write }));
  for (let n = 0; n < 50; n += 1) log.refused("forbidden", "10.0.0.1", new Error("not yours"));
  log.refused("unauthenticated", "10.0.0.2", new Error("no token"));
  now = 1_000;
  log.refused("forbidden", "10.0.0.3", new Error("not yours"));
  expect(lines.map(({ reason, from, more }) => [reason, from, more])).toEqual([
    ["forbidden", "10.0.0.1", undefined],
    ["unauthenticated", "10.0.0.2", undefined],
    ["forbidden", "10.0.0.3", 49],
  ]);
});
