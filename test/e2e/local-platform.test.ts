/** The whole platform on one machine, as a user has it: files in, requests answered, nothing left. */
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunRecord } from "../../common/contracts/local-run.ts";
import { startPlatform } from "../../local/main.ts";
import type { Platform, PlatformEvent } from "../../local/main.ts";
import { isAlive } from "../../local/process-groups.ts";
import { eventually } from "../support/eventually.ts";
import { callService } from "../support/call-service.ts";
import { APP } from "../support/local-pods.ts";

const SOON = { timeoutMs: 30_000 };
const HOST = "tiny.default.localhost";

let folder = "";
let platform: Platform;
const events: PlatformEvent[] = [];

const serviceFile = (name: string, env: Record<string, string>, annotations: string[] = []) =>
  `apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: ${name}
  annotations:
    pilotlight.dev/cooldown: 1s
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        autoscaling.knative.dev/window: 6s
        pilotlight.dev/local-command: node ${APP}
${annotations.map((line) => `        ${line}`).join("\n")}
    spec:
      timeoutSeconds: 20
      containers:
        - image: example.com/${name}
          env: ${JSON.stringify(Object.entries(env).map(([key, value]) => ({ name: key, value })))}
`;

async function runRecord(): Promise<RunRecord> {
  return JSON.parse(await readFile(join(platform.runFolder, "run.json"), "utf8")) as RunRecord;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-e2e-"));
  await writeFile(join(folder, "tiny.yaml"), serviceFile("tiny", { GREETING: "one" }));
  platform = await startPlatform({
    files: [folder],
    port: 0,
    runFolder: join(folder, "run"),
    onEvent: (event) => void events.push(event),
  });
});

afterAll(async () => {
  await platform.stop(0);
  await rm(folder, { recursive: true, force: true });
});

describe("a service at zero", () => {
  it("answers a cold request through each activator with one pod, and goes back to zero", async () => {
    expect(platform.pods()).toEqual([]);
    const { activators } = await runRecord();
    expect(activators).toHaveLength(2);
    const answers = await Promise.all(activators.map(({ url }) => callService(url, HOST)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers.map(({ headers }) => headers["pilotlight-cold-start"])).toContain("true");
    const pids = answers.map(({ body }) => (JSON.parse(body) as { pid: number }).pid);
    expect(new Set(pids).size).toBe(1);
    await eventually(() => platform.pods().length === 0, { timeoutMs: 40_000, what: "zero pods" });
    await eventually(() => !pids.some(isAlive));
  });

  it("answers through the shared port and tells what happened", async () => {
    const answer = await callService(platform.urls.ingress, HOST);
    expect(answer.status, answer.body).toBe(200);
    const kinds = events.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(["service-added", "pod-starting", "pod-ready"]));
    const dashboard = await fetch(`${platform.urls.dashboard}/api/snapshot`);
    expect(await dashboard.text()).toContain('"tiny"');
  });

  it("is unknown under another name", async () => {
    const answer = await callService(platform.urls.ingress, "nobody.default.localhost");
    expect(answer.status).toBe(404);
    expect(answer.headers["pilotlight-reason"]).toBe("no_such_service");
  });
});

describe("a changed file", () => {
  it("moves traffic to a new revision without an error, and the old one leaves", async () => {
    await callService(platform.urls.ingress, HOST);
    await writeFile(join(folder, "tiny.yaml"), serviceFile("tiny", { GREETING: "two" }));
    const seen: string[] = [];
    await eventually(async () => {
      const answer = await callService(platform.urls.ingress, HOST);
      expect(answer.status).toBe(200);
      seen.push((JSON.parse(answer.body) as { greeting: string }).greeting);
      return seen.at(-1) === "two";
    }, SOON);
    await eventually(() => {
      const [service] = platform.services();
      const [old, latest] = service?.revisions ?? [];
      // It stays for a roll back, without traffic and without pods.
      return old?.percent === 0 && old.pods.length === 0 && latest?.percent === 100;
    }, SOON);
  });

  it("that is faulty changes nothing and names the faults; mended, it holds again", async () => {
    const bad = serviceFile("tiny", { GREETING: "three" }, ["pilotlight.dev/retry: always"]);
    events.length = 0;
    await writeFile(join(folder, "tiny.yaml"), bad);
    await eventually(() => events.some(({ level }) => level === "error"), SOON);
    expect(events.find(({ level }) => level === "error")?.text).toContain(
      "invalid value: always: pilotlight.dev/retry",
    );
    const answer = await callService(platform.urls.ingress, HOST);
    expect(JSON.parse(answer.body)).toMatchObject({ greeting: "two", revision: "tiny-00002" });
  });
});

describe("a folder of files", () => {
  it("takes in a new file, and a removed one takes its service along", async () => {
    const second = join(folder, "second.yaml");
    await writeFile(second, serviceFile("second", { GREETING: "new" }));
    const host = "second.default.localhost";
    const status = async (): Promise<number> =>
      (await callService(platform.urls.ingress, host)).status;
    await eventually(async () => (await status()) === 200, SOON);
    await rm(second);
    await eventually(async () => (await status()) === 404, SOON);
    await eventually(() => !platform.pods().some(({ service }) => service === "second"), SOON);
    expect(platform.services().map(({ name }) => name)).toEqual(["tiny"]);
  });
});

describe("a service that cannot start", () => {
  it("ends the wait of its callers with the container's last words", async () => {
    await writeFile(join(folder, "tiny.yaml"), serviceFile("tiny", { CRASH: "no such model" }));
    const answer = await eventually(async () => {
      const latest = await callService(platform.urls.ingress, HOST);
      return latest.status === 200 ? undefined : latest;
    }, SOON);
    expect(answer?.status).toBe(503);
    expect(answer?.headers["pilotlight-reason"]).toBe("activation_failed");
    expect(answer?.body).toContain("no such model");
    await writeFile(join(folder, "tiny.yaml"), serviceFile("tiny", { GREETING: "four" }));
    await eventually(
      async () => (await callService(platform.urls.ingress, HOST)).status === 200,
      SOON,
    );
  });
});

describe("a service whose pods never become ready", () => {
  it("tells its callers which pod, and what its probe said last", async () => {
    const limit = 'pilotlight.dev/activation-timeout: "12s"';
    const file = serviceFile("tiny", { GREETING: "five" }, [limit]).replace(
      "- image:",
      "- readinessProbe: {httpGet: {path: /never-ready}}\n          image:",
    );
    await writeFile(join(folder, "tiny.yaml"), file);
    const answer = await eventually(
      async () => {
        const latest = await callService(platform.urls.ingress, HOST);
        return latest.status === 200 ? undefined : latest;
      },
      { timeoutMs: 40_000 },
    );
    expect(answer?.status).toBe(504);
    expect(answer?.headers["pilotlight-reason"]).toBe("activation_timeout");
    expect(answer?.body).toMatch(/no pod became ready in time: pod tiny-\S+ is not ready/);
    expect(answer?.body).toContain("probe answered 503");
    await writeFile(join(folder, "tiny.yaml"), serviceFile("tiny", { GREETING: "six" }));
    await eventually(
      async () => (await callService(platform.urls.ingress, HOST)).status === 200,
      SOON,
    );
  }, 90_000);
});

describe("a dead part", () => {
  it("activator: the other serves on, it comes back, sidecars learn of it", async () => {
    const before = await runRecord();
    const [victim, survivor] = before.activators;
    process.kill(victim?.pid ?? 0, "SIGKILL");
    expect((await callService(survivor?.url ?? "", HOST)).status).toBe(200);
    const after = await eventually(async () => {
      const record = await runRecord();
      const back = record.activators.length === 2;
      return back && record.activators.every(({ pid }) => pid !== victim?.pid) ? record : undefined;
    }, SOON);
    const urls = after?.activators.map(({ url }) => url) ?? [];
    const answers = await Promise.all(urls.map((url) => callService(url, HOST)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("store: it comes back empty, and requests are answered again", async () => {
    const { storePid } = await runRecord();
    process.kill(storePid ?? 0, "SIGKILL");
    await eventually(
      async () => (await callService(platform.urls.ingress, HOST)).status === 200,
      SOON,
    );
    const again = await eventually(async () => {
      const record = await runRecord();
      return record.storePid !== storePid && isAlive(record.storePid ?? 0) ? record : undefined;
    }, SOON);
    expect(again?.storePid).not.toBe(storePid);
  });
});

describe("the end", () => {
  it("is told at once when the port is taken, with nothing left", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const runFolder = join(folder, "second");
    await expect(startPlatform({ files: [folder], port, runFolder })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is in use. Stop what listens there, or choose another with --port.`,
    );
    expect(existsSync(runFolder)).toBe(false);
    await new Promise((resolve) => server.close(resolve));
  });

  it("leaves no process and no file behind", async () => {
    await callService(platform.urls.ingress, HOST);
    const { activators, storePid } = await runRecord();
    const pods = platform.pods().flatMap(({ userPid, sidecarPid }) => [userPid, sidecarPid]);
    // A process that is between two lives has none.
    const running = pods.filter((pid) => pid > 0);
    expect(running.length).toBeGreaterThanOrEqual(2);
    const pids = [...activators.map(({ pid }) => pid), storePid ?? 0, ...running];
    expect(pids.every(isAlive)).toBe(true);
    await platform.stop();
    await eventually(() => !pids.some(isAlive), { what: "all processes are gone" });
    expect(existsSync(platform.runFolder)).toBe(false);
  });
});
