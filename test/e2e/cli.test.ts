/** The command line against a running platform, as real processes. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunRecord } from "../../common/contracts/local-run.ts";
import type { ServiceSummary } from "../../local/platform-types.ts";
import { isAlive } from "../../local/process-groups.ts";
import { startCli } from "../support/cli.ts";
import type { CliResult, CliRun } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { APP } from "../support/local-pods.ts";

const SOON = { timeoutMs: 30_000 };

let folder = "";
let up: CliRun;

const start = (args: readonly string[]): CliRun => startCli(folder, args);

const pilotlight = (...args: string[]): Promise<CliResult> => start(args).done;

const run = async (): Promise<RunRecord> =>
  JSON.parse(await readFile(join(folder, ".pilotlight/run/run.json"), "utf8")) as RunRecord;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-cli-"));
  await writeFile(
    join(folder, "echo.yaml"),
    `apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: echo }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        pilotlight.dev/local-command: node ${APP}
    spec:
      containers: [{ image: example.com/echo }]
`,
  );
  up = start(["up", "echo.yaml", "--port", "0"]);
  await eventually(() => up.text().out.includes("Stop: Ctrl-C"), SOON);
});

afterAll(async () => {
  up.child.kill("SIGINT");
  up.child.kill("SIGINT");
  await up.done;
  await rm(folder, { recursive: true, force: true });
});

describe("up", () => {
  it("says where everything is and tells what happens", async () => {
    const { out } = up.text();
    expect(out).toMatch(/echo +http:\/\/echo\.default\.localhost:\d+/);
    expect(out).toMatch(/dashboard +http:\/\/127\.0\.0\.1:\d+/);
    expect(out).toContain("default/echo: added");
  });

  it("refuses a taken port with a cure, and bad usage with another code", async () => {
    const { port } = new URL((await run()).ingressUrl);
    const taken = await pilotlight("up", "echo.yaml", "--port", port, "--run-folder", "other");
    expect(taken.code).toBe(1);
    expect(taken.err).toContain(`Port ${port} on 127.0.0.1 is in use`);
    expect(taken.err).toContain("--port");
    expect(existsSync(join(folder, "other"))).toBe(false);
    expect((await pilotlight("up")).code).toBe(2);
    expect((await pilotlight("up", "missing.yaml", "--run-folder", "o", "--port", "0")).code).toBe(
      2,
    );
  });
});

describe("commands on a running platform", () => {
  it("invoke prints the answer on standard output and the times on standard error", async () => {
    const cold = await pilotlight("invoke", "echo", "/env", "--timings");
    expect(cold.code).toBe(0);
    expect(JSON.parse(cold.out)).toMatchObject({ greeting: "hello" });
    expect(cold.err).toContain("HTTP 200, cold start");
    expect(cold.err).toMatch(/coldstart +\d+\.\d ms/);
    const warm = await pilotlight("invoke", "echo", "--json");
    const seen = JSON.parse(warm.out) as { status: number; timings: Record<string, number> };
    expect(seen.status).toBe(200);
    expect(seen.timings["total"]).toBeGreaterThan(0);
  });

  it("invoke passes the service's error status on as an exit code", async () => {
    const answer = await pilotlight("invoke", "echo", "/sicken");
    expect(answer.code).toBe(0);
    expect((await pilotlight("invoke", "echo", "/live")).code).toBe(5);
  });

  it("ls and describe show pods, also as JSON", async () => {
    await pilotlight("invoke", "echo");
    const table = await pilotlight("ls");
    expect(table.out).toMatch(/^SERVICE +READY +STATE +URL\necho +1\/1 +serving +http:/);
    const json = await pilotlight("ls", "--json");
    const [service] = JSON.parse(json.out) as ServiceSummary[];
    expect(service?.revisions[0]?.pods[0]?.phase).toBe("ready");
    const page = await pilotlight("describe", "echo");
    expect(page.out).toContain("Revision echo-00001");
    expect(page.out).toMatch(/echo-00001-[0-9a-f]{5} +ready/);
  });

  it("explain says why there are pods, also as JSON, and plan takes a recorded trace", async () => {
    await pilotlight("invoke", "echo");
    const words = await pilotlight("explain", "echo", "--limit", "0");
    expect(words.out).toContain("default/echo-00001\n");
    expect(words.out).toMatch(/0 to 1 pod \(\w+\): .*1 waiting need 1/);
    expect(words.out).toMatch(/formula: window \d+, waiting \d+, burst \d+/);
    const [revision] = JSON.parse((await pilotlight("explain", "echo", "--json")).out) as {
      key: string;
      decisions: { explanation: object }[];
    }[];
    expect(revision?.key).toBe("default/echo-00001");
    expect(revision?.decisions.length).toBeGreaterThan(0);

    const recording = start(["simulate", "echo", "--record", "5m", "--save", "echo.csv", "--json"]);
    await eventually(() => recording.text().err.includes("Recording"), SOON);
    await Promise.all([pilotlight("invoke", "echo"), pilotlight("invoke", "echo")]);
    // Ends the recording early; what was recorded counts.
    recording.child.kill("SIGINT");
    const { out, code } = await recording.done;
    expect(code).toBe(0);
    const rows = JSON.parse(out) as { requests: number }[];
    expect(rows[0]?.requests).toBeGreaterThan(0);
    expect(rows[0]?.requests).toBeLessThanOrEqual(2);
  });

  it("logs prints what a container wrote, and follows", async () => {
    const follow = start(["logs", "echo", "-f"]);
    await eventually(async () => {
      await pilotlight("invoke", "echo", "/die");
      return follow.text().out.includes("starts again") || follow.text().out.includes("next start");
    }, SOON);
    expect(follow.text().out).toMatch(
      /^echo-00001-[0-9a-f]{5} {2}--- container exited with code 9/m,
    );
    follow.child.kill("SIGTERM");
    expect((await follow.done).code).toBe(0);
    expect((await pilotlight("logs", "activator-1")).out).toContain('"message":"listening"');
  });

  it("name what does not exist with a code of its own", async () => {
    for (const command of ["invoke", "describe", "logs", "delete"]) {
      const { code, err } = await pilotlight(command, "nobody");
      expect(code).toBe(4);
      expect(err).toContain("nobody");
    }
  });
});

describe("without a platform", () => {
  it("says how to start one", async () => {
    const { code, err } = await pilotlight("ls", "--run-folder", "nowhere");
    expect(code).toBe(3);
    expect(err).toContain("pilotlight up FILE");
  });

  it("has help for every command, with an example", async () => {
    const { out } = await pilotlight("help", "--json");
    const commands = JSON.parse(out) as { name: string; examples: string[] }[];
    for (const { name, examples } of commands) {
      expect(examples.length, name).toBeGreaterThan(0);
      expect(examples.join("\n")).toContain(`pilotlight ${name}`);
    }
    expect((await pilotlight("frobnicate")).code).toBe(2);
    const unknown = await pilotlight("ls", "--frobnicate");
    expect(unknown.code).toBe(2);
    expect(unknown.err.trim().split("\n")).toEqual([
      "pilotlight ls: Unknown option '--frobnicate'. `pilotlight help ls` shows what it takes.",
    ]);
    const extra = await pilotlight("ls", "echo");
    expect(extra.code).toBe(2);
    expect(extra.err).toContain('It has no use for "echo".');
  });
});

describe("the end of up", () => {
  it("leaves nothing when it is killed without a chance to tidy up", async () => {
    await pilotlight("invoke", "echo");
    const { activators, storePid } = await run();
    const { out } = await pilotlight("ls", "--json");
    const pods = (JSON.parse(out) as ServiceSummary[]).flatMap(({ revisions }) =>
      revisions.flatMap((revision) => revision.pods),
    );
    const pids = [
      ...activators.map(({ pid }) => pid),
      storePid ?? 0,
      ...pods.flatMap(({ userPid, sidecarPid }) => [userPid, sidecarPid]),
    ].filter((pid) => pid > 0);
    expect(pids.length).toBeGreaterThanOrEqual(5);
    expect(pids.every(isAlive)).toBe(true);
    up.child.kill("SIGKILL");
    await eventually(() => !pids.some(isAlive), { timeoutMs: 10_000 });
    await eventually(() => !existsSync(join(folder, ".pilotlight/run")));
  });

  it("on Ctrl-C stops in order and exits with 0", async () => {
    up = start(["up", "echo.yaml", "--port", "0"]);
    await eventually(() => up.text().out.includes("Stop: Ctrl-C"), SOON);
    await pilotlight("invoke", "echo");
    up.child.kill("SIGINT");
    const { code, err } = await up.done;
    expect(code).toBe(0);
    expect(err).toContain("Stopped.");
    expect(existsSync(join(folder, ".pilotlight/run"))).toBe(false);
  });
});
