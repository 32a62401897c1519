/** Several cells of one process, as `up --cells` and the demo start them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startCells } from "../../local/cells.ts";
import type { LocalCells } from "../../local/cells.ts";
import { call } from "../support/activator-bench.ts";
import { eventually } from "../support/eventually.ts";

const SERVICE = fileURLToPath(new URL("../../examples/echo/cells.yaml", import.meta.url));
const CELLS = ["eu", "us"] as const;
const LIMIT_MS = 60_000;

const runFolder = mkdtempSync(join(tmpdir(), "pilotlight-cells-"));
let cells: LocalCells;

beforeAll(async () => {
  const specs = CELLS.map((name) => ({ name, roundTripMs: 20 }));
  cells = await startCells({ cells: specs, files: [SERVICE], port: 0, runFolder });
}, LIMIT_MS);
afterAll(async () => {
  await cells.stop(0);
  rmSync(runFolder, { recursive: true, force: true });
  rmSync(`${runFolder}-words`, { recursive: true, force: true });
}, LIMIT_MS);

function addressesIn(cell: string): readonly string[] {
  const pods = cells.platforms.get(cell)?.pods() ?? [];
  return pods.flatMap(({ address }) => address || []);
}

/** All cells began at the same place in 127.0.0.0/8, and of two pods with one address one never got up. */
it(
  "gives pods that start at the same moment in two cells addresses of their own",
  async () => {
    const calls = CELLS.flatMap((cell) =>
      Array.from({ length: 3 }, () =>
        call(cells.platforms.get(cell)?.urls.ingress ?? "", "/sleep?ms=3000", {
          host: "echo.default.localhost",
        }),
      ),
    );
    await eventually(() => CELLS.every((cell) => addressesIn(cell).length > 0), {
      timeoutMs: 20_000,
      what: "a pod in each cell",
    });
    const all = CELLS.flatMap((cell) => addressesIn(cell));
    expect(new Set(all).size).toBe(all.length);
    const statuses = (await Promise.all(calls)).map(({ status }) => status);
    expect(statuses).toEqual(calls.map(() => 200));
  },
  LIMIT_MS,
);

/** Read with the other start times it took up to 30 s, and until then other cells reckoned with two minutes. */
it("knows how long the first start took a moment later", async () => {
  const startTimes = async (): Promise<readonly number[]> => {
    const read = [...cells.platforms.values()].map(({ routing }) =>
      routing.readRevision("default/echo-00001"),
    );
    return (await Promise.all(read)).map((config) => config?.startTimeMs ?? 0);
  };
  await eventually(async () => (await startTimes()).every((ms) => ms > 0), {
    timeoutMs: 10_000,
    what: "a start time in each cell",
  });
});
