/** Services that come and go on a running platform by the command line, and its views of them. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunRecord } from "../../common/contracts/local-run.ts";
import type { AppliedServices } from "../../local/platform-types.ts";
import { BIN, startCli } from "../support/cli.ts";
import type { CliResult, CliRun } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { APP } from "../support/local-pods.ts";

const SOON = { timeoutMs: 60_000 };

let folder = "";
let up: CliRun;

const pilotlight = (...args: string[]): Promise<CliResult> => startCli(folder, args).done;

const serviceText = (name: string, greeting: string, more = ""): string =>
  `---
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: ${name} }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        pilotlight.dev/local-command: node ${APP}
    spec:
      containers: [{ image: x, env: [{ name: GREETING, value: ${greeting} }] }]
${more}`;

const write = (name: string, text: string): Promise<void> => writeFile(join(folder, name), text);

const run = async (): Promise<RunRecord> =>
  JSON.parse(await readFile(join(folder, ".pilotlight/run/run.json"), "utf8")) as RunRecord;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-cli-services-"));
  // A folder of folders, as `examples` is one.
  for (const name of ["one", "two"]) {
    await mkdir(join(folder, "services", name), { recursive: true });
    await write(`services/${name}/service.yaml`, serviceText(name, "hello"));
  }
  up = startCli(folder, ["up", "services", "--port", "0"], { script: BIN });
  await eventually(() => up.text().out.includes("Stop: Ctrl-C"), SOON);
});

afterAll(async () => {
  up.child.kill("SIGTERM");
  up.child.kill("SIGTERM");
  await up.done;
  await rm(folder, { recursive: true, force: true });
});

describe("apply", () => {
  it("adds a service, changes it, and says when nothing changed", async () => {
    await write("more.yaml", serviceText("more", "first"));
    const created = await pilotlight("apply", "more.yaml");
    expect(created).toMatchObject({
      code: 0,
      out: "service default/more created (revision more-00001)\n",
    });
    expect(JSON.parse((await pilotlight("invoke", "more")).out)).toMatchObject({
      greeting: "first",
    });
    expect((await pilotlight("apply", "more.yaml")).out).toBe("service default/more unchanged\n");
    await write("more.yaml", serviceText("more", "second"));
    const json = await pilotlight("apply", "more.yaml", "--json");
    const { services } = JSON.parse(json.out) as AppliedServices;
    expect(services.map(({ key, revision }) => [key, revision])).toEqual([
      ["default/more", "more-00002"],
    ]);
    await eventually(async () => (await run()).files.includes(join(folder, "more.yaml")));
  });

  it("names every fault, and keeps the last good version", async () => {
    await write("bad.yaml", serviceText("bad", "x", "  traffic: [{ percent: 7 }]\n"));
    const { code, err } = await pilotlight("apply", "bad.yaml");
    expect(code).toBe(1);
    expect(err).toContain("Traffic targets sum to 7, want 100: spec.traffic");
    expect((await pilotlight("apply", "missing.yaml")).code).toBe(2);
    expect((await pilotlight("apply")).code).toBe(2);
  });
});

describe("delete", () => {
  it("removes a service by name until it is applied again", async () => {
    const { out, code } = await pilotlight("delete", "one");
    expect([code, out]).toEqual([0, "service default/one deleted\n"]);
    await eventually(async () => (await pilotlight("invoke", "one")).code === 4, SOON);
    await write("services/one/service.yaml", serviceText("one", "again"));
    expect((await pilotlight("apply", "services/one/service.yaml")).out).toContain("created");
    const answer = await pilotlight("invoke", "one");
    expect(JSON.parse(answer.out)).toMatchObject({ greeting: "again" });
  });

  it("removes what came from a file", async () => {
    await write("pair.yaml", serviceText("left", "x") + serviceText("right", "x"));
    await pilotlight("apply", "pair.yaml");
    const { out } = await pilotlight("delete", "pair.yaml", "--json");
    expect(JSON.parse(out)).toEqual({ removed: ["default/left", "default/right"] });
    await write("strange.yaml", serviceText("strange", "x"));
    const strange = await pilotlight("delete", "strange.yaml");
    expect(strange.code).toBe(2);
    expect(strange.err).toContain("No service came from");
  });
});

describe("views", () => {
  it("top shows load and pods of every service, once without a terminal", async () => {
    await pilotlight("invoke", "two");
    const { out } = await eventually(async () => {
      const look = await pilotlight("top");
      return /two +100 % +1 +1/.test(look.out) ? look : undefined;
    }, SOON);
    expect(out).toMatch(/store ready +2 of 2 activators ready/);
    expect(out).toMatch(/SERVICE +TRAFFIC +READY +WANTED +RUNNING +WAITING +OLDEST +REQ\/S/);
    const seen = JSON.parse((await pilotlight("top", "--json")).out) as { key: string }[];
    expect(seen.map(({ key }) => key)).toContain("default/two");
  });

  it("describe shows conditions, traffic, settings, targets and decisions", async () => {
    await pilotlight("invoke", "two");
    const { out } = await eventually(async () => {
      const page = await pilotlight("describe", "two");
      return page.out.includes("Last decisions:") && /ready +0\/100/.test(page.out)
        ? page
        : undefined;
    }, SOON);
    for (const part of [
      "Conditions:",
      "ConfigurationsReady",
      "100 %  latest ready revision",
      "Revision two-00001",
      "Slots per pod:  100",
      "0 -> 1",
    ]) {
      expect(out).toContain(part);
    }
    expect(out).toMatch(/^ +Activators: +2 of 2$/m);
    const explained = await pilotlight("explain", "two");
    expect(explained.out).toContain("served by up to 2 activators");
  });

  it("doctor finds the platform well", async () => {
    const { code, out } = await pilotlight("doctor");
    expect(out).toMatch(/^ok +platform +process \d+, http:\S+, \d+ services, 2 of 2 activators$/m);
    expect(out).toMatch(/^ok +loopback/m);
    expect(out).toMatch(/^(ok|warn) +store +(Valkey )?\S+valkey-server, 8\./m);
    expect(code).toBe(0);
  });
});

describe("the control socket", () => {
  it("is for its owner alone, and goes with the platform", async () => {
    const { controlSocket = "" } = await run();
    const { mode } = await stat(join(controlSocket, ".."));
    expect(mode & 0o077).toBe(0);
    up.child.kill("SIGTERM");
    const { code, err } = await up.done;
    expect(code).toBe(0);
    expect(err).toContain("Stopped.");
    expect(existsSync(controlSocket)).toBe(false);
    expect((await pilotlight("apply", "more.yaml")).code).toBe(3);
  });
});
