/** `simulate` and `plan` as a user types them, without a platform. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCli } from "../../../cli/main.ts";

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pilotlight-plan-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function pilotlight(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  let [out, err] = ["", ""];
  const code = await runCli({
    args,
    env: {},
    out: {
      print: (text) => void (out += `${text}\n`),
      note: (text) => void (err += `${text}\n`),
      write: (chunk) => void (out += chunk.toString()),
    },
  });
  return { code, out, err };
}

const SHAPE = ["--shape", "bursts", "--duration", "4m"] as const;
/** A plan is hundreds of simulations. */
const PLAN_MS = 60_000;

describe("pilotlight simulate", () => {
  it("compares ours, kpa and any settings, with what they cost", async () => {
    const args = ["simulate", ...SHAPE, "--with", "cooldown=2m", "--price", "3600"];
    const { code, out } = await pilotlight(...args);
    expect(code).toBe(0);
    const [head = "", ...rows] = out.trimEnd().split("\n");
    expect(head).toMatch(/^SETTINGS +COLD +WAIT P50 .* COST$/);
    expect(rows.map((row) => row.split(/ {2,}/)[0])).toEqual(["as it is", "kpa", "cooldown=2m"]);
    // At 3600 an hour the cost is the number of GPU seconds.
    for (const row of rows) {
      const cells = row.split(/ {2,}/);
      expect(Math.round(Number(cells.at(-1)))).toBe(Number(cells[5]));
    }
  });

  it("gives the same bytes for the same seed, others for another, and saves its trace", async () => {
    const csv = join(folder, "trace.csv");
    const first = await pilotlight("simulate", ...SHAPE, "--json", "--save", csv);
    expect((await pilotlight("simulate", ...SHAPE, "--json")).out).toBe(first.out);
    expect((await pilotlight("simulate", ...SHAPE, "--json", "--seed", "2")).out).not.toBe(
      first.out,
    );
    const requests = readFileSync(csv, "utf8").trimEnd().split("\n").length - 1;
    expect(JSON.parse(first.out)).toMatchObject([{ name: "as it is", requests }, { name: "kpa" }]);
    const replayed = await pilotlight("simulate", "--trace", csv, "--json");
    expect(JSON.parse(replayed.out)).toMatchObject([{ requests }, { requests }]);
  });

  it.each([
    [[], "Say which arrivals"],
    [["--shape", "zigzag"], "No shape zigzag. Known: poisson, bursts, on-off, day."],
    [["--shape", "day", "--trace", "x"], "give one"],
    [["--trace", "/nowhere.csv"], "/nowhere.csv cannot be read"],
    [[...SHAPE, "--with", "window=1s"], "expected 6s <= 1s <= 1h0m0s"],
    [[...SHAPE, "--rate", "0"], "--rate 0 is no number above 0"],
    [[...SHAPE, "--price", "much"], "--price much is no price"],
    [[...SHAPE, "--concurrency", "x"], "--concurrency x is no whole number"],
  ])("explains what is wrong with %j", async (args, message) => {
    const { code, err, out } = await pilotlight("simulate", ...args);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(out).toBe("");
  });

  it("refuses a trace without arrivals", async () => {
    const csv = join(folder, "empty.csv");
    writeFileSync(csv, "atMs,serviceMs\n");
    expect((await pilotlight("simulate", "--trace", csv)).err).toContain("no arrivals");
  });
});

describe("pilotlight plan", () => {
  it(
    "prints annotations that meet the target, and draws the frontier",
    async () => {
      const plot = join(folder, "plan.svg");
      const shape = ["--shape", "poisson", "--rate", "0.3", "--duration", "3m"];
      const args = ["plan", ...shape, "--slo", "p95=9s", "--plot", plot];
      const { code, out } = await pilotlight(...args);
      expect(code).toBe(0);
      expect(out).toMatch(/^Met: waiting p95 of at most 9\.0 s, with [\d.]+ GPU hours\. kpa /);
      expect(out).toContain("GPU HOURS  WAIT P95");
      expect(readFileSync(plot, "utf8")).toMatch(/^<svg /);
      const pasted = [...out.matchAll(/^ {2}(\S+): "(.*)"$/gm)].map(
        ([, key, value]) => `${key}=${value}`,
      );
      const settings = pasted.join(",");
      const check = await pilotlight("simulate", ...shape, "--with", settings, "--json");
      const rows = JSON.parse(check.out) as { name: string; waitMs: { p95: number } }[];
      expect(rows.find(({ name }) => name === settings)?.waitMs.p95).toBeLessThanOrEqual(9_000);
    },
    PLAN_MS,
  );

  it(
    "exits 1 and shows the nearest when the target cannot be met",
    async () => {
      const csv = join(folder, "one.csv");
      writeFileSync(csv, "0,1000\n");
      const { code, out } = await pilotlight("plan", "--trace", csv, "--slo", "max=1s");
      expect(code).toBe(1);
      expect(out).toMatch(/^Not met by any of \d+ settings: .* The nearest waits 10\.0 s/);
    },
    PLAN_MS,
  );

  it("needs a target", async () => {
    expect((await pilotlight("plan", ...SHAPE)).err).toContain("Name a target: --slo p95=2s");
    expect((await pilotlight("plan", ...SHAPE, "--slo", "fast")).code).toBe(2);
  });
});
