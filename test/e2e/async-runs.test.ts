/**
 * Asynchronous runs on the local platform as its users meet them: by the command line, and through
 * the death of an activator and of the store.
 */
import { request } from "node:http";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunRecord as AsyncRun } from "../../common/contracts/async-runs.ts";
import type { RunRecord } from "../../common/contracts/local-run.ts";
import { BIN, startCli } from "../support/cli.ts";
import type { CliResult, CliRun } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";

const SOON = { timeoutMs: 60_000, everyMs: 50 };
const APP = fileURLToPath(new URL("../fixtures/local/events.mjs", import.meta.url));

const SERVICE = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: events }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        pilotlight.dev/async: enabled
        pilotlight.dev/webhook-hosts: 127.0.0.1
        pilotlight.dev/local-command: node ${APP}
    spec:
      containers: [{ image: x }]
`;

let folder = "";
let up: CliRun;

const pilotlight = (...args: string[]): Promise<CliResult> => startCli(folder, args).done;
const platform = async (): Promise<RunRecord> =>
  JSON.parse(await readFile(join(folder, ".pilotlight/run/run.json"), "utf8")) as RunRecord;
const runOf = async (id: string): Promise<AsyncRun> =>
  JSON.parse((await pilotlight("runs", "events", id, "--json")).out) as AsyncRun;

/** Asked on the service's own URL, as its callers ask; what a machine has to tell comes after. */
async function untilState(id: string, state: string): Promise<AsyncRun> {
  const { ingressUrl } = await platform();
  await eventually(async () => {
    const path = `${ingressUrl}/.well-known/gpu-runs/${id}`;
    const answer = await get(path);
    return (JSON.parse(answer) as { readonly state: string }).state === state;
  }, SOON);
  return runOf(id);
}

function get(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const host = "events.default.localhost";
    request(url, { agent: false, headers: { host } }, (response) => {
      text(response).then(resolve, reject);
    })
      .on("error", reject)
      .end();
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-runs-"));
  await writeFile(join(folder, "service.yaml"), SERVICE);
  up = startCli(folder, ["up", "service.yaml", "--port", "0"], { script: BIN });
  await eventually(() => up.text().out.includes("Stop: Ctrl-C"), SOON);
});

afterAll(async () => {
  up.child.kill("SIGTERM");
  up.child.kill("SIGTERM");
  await up.done;
  await rm(folder, { recursive: true, force: true });
});

describe("a run", () => {
  it("starts from zero, is listed, and gives its answer", async () => {
    const { code, out } = await pilotlight("invoke", "events", "/", "-d", "hello", "--async");
    expect(code).toBe(0);
    const id = out.trim();
    expect(await untilState(id, "success")).toMatchObject({ status: 200, attempts: 1 });
    const list = await pilotlight("runs", "events");
    expect(list.out).toMatch(new RegExp(`${id}\\s+success\\s+200\\s`));
    const answer = await pilotlight("runs", "events", id, "--answer");
    expect(JSON.parse(answer.out)).toMatchObject({ method: "POST", body: "hello" });
    expect((await pilotlight("runs", "events", "nobody")).code).toBe(4);
  });

  it("outlives the activator that took it in, and is not made twice", async () => {
    const before = (await platform()).activators;
    const { out } = await pilotlight("invoke", "events", "/?ms=45000", "-d", "slow", "--async");
    const id = out.trim();
    const { owner } = await untilState(id, "running");
    const holder = before.find(({ id: name }) => owner.startsWith(`${name}.`));
    process.kill(holder?.pid ?? 0, "SIGKILL");
    // A container has seen it, and nobody said that repeating does no harm.
    expect(await untilState(id, "unknown")).toMatchObject({ attempts: 1, status: 0 });
  });

  it("outlives the store's server", async () => {
    const { out } = await pilotlight("invoke", "events", "/", "-d", "kept", "--async");
    const id = out.trim();
    await untilState(id, "success");
    const { storePid: store = 0 } = await platform();
    process.kill(store, "SIGKILL");
    await eventually(async () => (await platform()).storePid !== store, SOON);
    expect(await untilState(id, "success")).toMatchObject({ status: 200 });
    expect(up.text().err).not.toContain("do not survive");
  });
});
