/**
 * The command line and the dashboard against a cluster: a real API server, the dashboard process
 * with the rights of our manifests, the command line as a process with a kubeconfig.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collectionPath } from "../../autoscaler/kubernetes/objects.ts";
import { PUSH_PORT } from "../../common/contracts/push.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { Snapshot } from "../../local/platform-types.ts";
import { CellRig } from "../support/cell-rig.ts";
import { startCli } from "../support/cli.ts";
import type { CliResult } from "../support/cli.ts";
import { eventually } from "../support/eventually.ts";
import { create, setStatus, startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { Demand, startController } from "../support/kube-rig.ts";
import type { RunningController } from "../support/kube-rig.ts";
import { grant } from "../support/kube-rights.ts";
import { KubeWorld } from "../support/kube-world.ts";
import { KubeletPorts } from "../support/kubelet-ports.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";

const ROOT = join(import.meta.dirname, "../..");
const SOON = { timeoutMs: 40_000, everyMs: 100 };
const LIMIT_MS = 60_000;
const SYSTEM = "knative-serving";

let api: KubeApi;
let store: ValkeyServer;
let world: KubeWorld;
let demand: Demand;
let kubelet: KubeletPorts;
let controller: RunningController;
let dashboard: ChildProcess;
let page = "";
let key: RevisionKey;
let folder = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pilotlight-cluster-cli-"));
  [api, store] = await Promise.all([startKubeApi(), startValkey()]);
  const prefix = store.freshPrefix();
  await grant(api, "manifests/base/230-dashboard-roles.yaml");
  world = new KubeWorld(api.client);
  await world.start();
  kubelet = KubeletPorts.create();
  await kubelet.serve(api, world.node);
  demand = new Demand(store, prefix);
  const { url: apiUrl, accountFolder } = api;
  controller = await startController({ apiUrl, accountFolder, store, prefix });
  key = await world.define("ocr-00001", {
    annotations: { "autoscaling.knative.dev/min-scale": "1", "pilotlight.dev/async": "enabled" },
  });
  await makeService("ocr", "ocr-00001");
  page = await startDashboard(prefix);
  await makeDashboardPod();
  writeKubeconfig("admin");
  writeKubeconfig("nobody");
}, 120_000);

afterAll(async () => {
  dashboard?.kill("SIGKILL");
  await controller?.stop();
  await demand?.close();
  await world?.stop();
  await kubelet?.close();
  await Promise.all([api?.stop(), store?.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** As Knative's controllers leave it. */
async function makeService(name: string, revision: string): Promise<void> {
  await create(api.client, collectionPath("services", "default"), {
    apiVersion: "serving.knative.dev/v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: { template: { spec: { containers: [{ image: "example.com/app" }] } } },
    status: {
      url: `http://${name}.default.example.com`,
      latestCreatedRevisionName: revision,
      latestReadyRevisionName: revision,
      conditions: [{ type: "Ready", status: "True" }],
      traffic: [{ revisionName: revision, latestRevision: true, percent: 100 }],
    },
  });
}

async function startDashboard(prefix: string): Promise<string> {
  dashboard = spawn(process.execPath, [join(ROOT, "dashboard/main.ts")], {
    env: {
      PATH: process.env["PATH"],
      PILOTLIGHT_API_URL: api.url,
      PILOTLIGHT_ACCOUNT_FOLDER: api.account("dashboard"),
      PILOTLIGHT_STORE_URL: store.url,
      PILOTLIGHT_STORE_PREFIX: prefix,
      PILOTLIGHT_DASHBOARD_LISTEN: "127.0.0.1:0",
      PILOTLIGHT_ADMIN_LISTEN: "127.0.0.1:0",
      PILOTLIGHT_LOG_LEVEL: "warn",
    },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const urls = new Map<string, string>();
  dashboard.on("message", ({ name, url }: { name: string; url: string }) => urls.set(name, url));
  await eventually(() => urls.has("page") && urls.has("admin"), SOON);
  const admin = urls.get("admin") ?? "";
  await eventually(async () => (await fetch(`${admin}/readyz`)).status === 200, SOON);
  return urls.get("page") ?? "";
}

/** The pod that would run it; its port is that of the process. */
async function makeDashboardPod(): Promise<void> {
  kubelet.ports.set(8090, Number(new URL(page).port));
  await makePod("dashboard", {});
}

async function makePod(part: string, status: Readonly<Record<string, unknown>>): Promise<void> {
  const path = collectionPath("pods", SYSTEM);
  await create(api.client, path, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `pilotlight-${part}-1`,
      namespace: SYSTEM,
      labels: { "pilotlight.dev/part": part },
    },
    spec: {
      nodeName: world.node,
      containers: [{ name: part, image: `example.invalid/${part}` }],
    },
  });
  await setStatus(api.client, `${path}/pilotlight-${part}-1`, {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }],
    ...status,
  });
}

function writeKubeconfig(account: string): void {
  const read = (name: string): Buffer => readFileSync(join(api.account(account), name));
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "test",
        cluster: {
          server: api.url,
          "certificate-authority-data": read("ca.crt").toString("base64"),
        },
      },
    ],
    users: [{ name: account, user: { token: read("token").toString() } }],
    contexts: [{ name: "here", context: { cluster: "test", user: account } }],
    "current-context": "here",
  };
  // JSON is YAML.
  writeFileSync(join(folder, account), JSON.stringify(config));
}

function pilotlight(args: readonly string[], account = "admin"): Promise<CliResult> {
  const env = { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: join(folder, account) };
  return startCli(folder, args, { env }).done;
}

const snapshot = async (): Promise<Snapshot> =>
  (await (await fetch(`${page}/api/snapshot`)).json()) as Snapshot;

describe("the dashboard of a cluster", () => {
  it(
    "shows services, what is wanted and the decisions, with the rights of the manifests",
    async () => {
      for (let request = 0; request < 3; request += 1) await demand.ask(key);
      await eventually(async () => {
        const [service] = (await snapshot()).services;
        const [revision] = service?.revisions ?? [];
        return (revision?.desiredScale ?? 0) > 1 && (revision?.decisions.length ?? 0) > 0;
      }, SOON);
      const { run, services, store: health } = await snapshot();
      expect(run.mode).toBe("cluster");
      expect(health.state).toBe("ready");
      expect(services).toMatchObject([
        { name: "ocr", url: "http://ocr.default.example.com", runs: [] },
      ]);
      expect(services[0]?.revisions[0]?.load?.waiting).toBe(3);
      await demand.leave();
    },
    LIMIT_MS,
  );

  it("shows asynchronous runs out of the store", async () => {
    const runs = (await snapshot()).services[0]?.runs;
    expect(runs).toEqual([]);
  });

  it("refuses a revision that is no name", async () => {
    const answer = await fetch(`${page}/api/records?revision=secret`);
    expect(answer.status).toBe(400);
  });
});

describe("the command line in a cluster", () => {
  it(
    "lists services, without the dashboard too",
    async () => {
      const { code, out } = await pilotlight(["ls", "--cluster"]);
      expect(out).toMatch(/^ocr +\d\/\d +\S+.* http:\/\/ocr\.default\.example\.com$/m);
      expect(code).toBe(0);
      const json = await pilotlight(["ls", "--context", "here", "--json"]);
      expect(JSON.parse(json.out)).toMatchObject([
        { key: "default/ocr", traffic: [{ percent: 100 }] },
      ]);
    },
    LIMIT_MS,
  );

  it(
    "describes, explains and watches through a forwarded port",
    async () => {
      const described = await pilotlight(["describe", "ocr", "--cluster"]);
      expect(described.out).toContain("Revision ocr-00001");
      expect(described.out).toContain("Last decisions:");
      const explained = await pilotlight(["explain", "ocr", "--cluster"]);
      expect(explained.out).toContain("formula:");
      const top = await pilotlight(["top", "--cluster", "--json"]);
      expect(JSON.parse(top.out)).toMatchObject([{ key: "default/ocr" }]);
      const runs = await pilotlight(["runs", "ocr", "--cluster"]);
      expect(runs.err).toContain("No runs in the last hour");
      expect([described.code, explained.code, top.code, runs.code]).toEqual([0, 0, 0, 0]);
    },
    LIMIT_MS,
  );

  it(
    "prints the logs of a service's pods",
    async () => {
      await eventually(() => world.pods(key).length > 0, SOON);
      const [pod] = world.pods(key);
      const name = pod?.metadata.name ?? "";
      kubelet.logs.set(`default/${name}/user-container`, ["loading", "ready"]);
      const { out, code } = await pilotlight(["logs", "ocr", "--cluster"]);
      expect(out).toBe(`${name}  loading\n${name}  ready\n`);
      expect(code).toBe(0);
      const missing = await pilotlight(["logs", "ocrr", "--cluster"]);
      expect(missing.code).toBe(4);
      expect(missing.err).toContain("There is no service and no pod ocrr");
    },
    LIMIT_MS,
  );

  it(
    "applies, changes and deletes services",
    async () => {
      const file = (image: string): void =>
        writeFileSync(
          join(folder, "hello.yaml"),
          `apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: hello }
spec: { template: { spec: { containers: [{ image: ${image} }] } } }
---
apiVersion: v1
kind: Secret
metadata: { name: other }
`,
        );
      file("example.com/one");
      const first = await pilotlight(["apply", "hello.yaml", "--cluster"]);
      expect(first.out).toBe("service default/hello created\n");
      expect(first.err).toContain("hello.yaml:6: no Service of serving.knative.dev/v1");
      expect(first.code).toBe(1);
      expect((await pilotlight(["apply", "hello.yaml", "--cluster"])).out).toContain("unchanged");
      file("example.com/two");
      expect((await pilotlight(["apply", "hello.yaml", "--cluster"])).out).toContain("configured");
      const gone = await pilotlight(["delete", "hello.yaml", "--cluster"]);
      expect(gone.out).toBe("service default/hello deleted\n");
      const again = await pilotlight(["delete", "hello", "--cluster"]);
      expect(again.code).toBe(4);
      expect(again.err).toContain("There is no service hello. Known: ocr.");
    },
    LIMIT_MS,
  );

  it(
    "says what a caller lacks",
    async () => {
      const admin = await pilotlight(["doctor", "--cluster"]);
      expect(admin.out).toMatch(/ok +API server +Kubernetes v1\./);
      expect(admin.out).toMatch(/ok +dashboard +1 of 1 pods ready/);
      expect(admin.out).toMatch(/fail +activator +0 of 0 pods ready; no revision at zero/);
      expect(admin.out).toMatch(/ok +rights +you may apply services in default/);
      expect(admin.code).toBe(1);
      const nobody = await pilotlight(["doctor", "--cluster"], "nobody");
      expect(nobody.out).toContain("you may not list services in default");
      expect(nobody.out).toContain("Ask for list on services of serving.knative.dev in default.");
      const ls = await pilotlight(["ls", "--cluster"], "nobody");
      expect(ls.code).toBe(1);
      expect(ls.err).toContain("cannot list resource");
    },
    LIMIT_MS,
  );

  it(
    "names what is wrong with a context, a kubeconfig, a server",
    async () => {
      const context = await pilotlight(["ls", "--context", "there"]);
      expect(context.err).toContain("No context there in");
      expect(context.err).toContain("Known: here.");
      const none = await pilotlight(["ls", "--cluster"], "missing");
      expect(none.err).toContain("No kubeconfig");
      expect(none.code).toBe(3);
      const config = readFileSync(join(folder, "admin"), "utf8");
      writeFileSync(join(folder, "dead"), config.replace(api.url, "https://127.0.0.1:1"));
      const dead = await pilotlight(["ls", "--cluster"], "dead");
      expect(dead.err).toContain("No answer of the API server");
      expect(dead.code).toBe(3);
    },
    LIMIT_MS,
  );
});

describe("the cells of a cluster", () => {
  const EU_ACTIVATOR = "127.88.14.1:8014";
  let rig: CellRig;

  beforeAll(async () => {
    rig = await new CellRig(store, { names: ["eu", "us"] }).start();
    const { bench, folder: cells, certificates, activators } = rig.cell("eu");
    // The dashboard asks at the pod's address, the command line through the kubelet.
    await bench.activator({
      PILOTLIGHT_ACTIVATOR_ID: "eu-pod",
      PILOTLIGHT_PUSH_LISTEN: EU_ACTIVATOR,
      PILOTLIGHT_CELL: "eu",
      PILOTLIGHT_CELLS_FOLDER: cells,
      PILOTLIGHT_CELL_CERTIFICATES: certificates,
    });
    kubelet.ports.set(PUSH_PORT, Number(activators[0]?.push.split(":")[1]));
    await makePod("activator", { podIP: EU_ACTIVATOR.split(":")[0] });
  }, LIMIT_MS);
  afterAll(() => rig?.close());

  it(
    "are on the dashboard and the command line, and one is declared lost over a forwarded port",
    async () => {
      await eventually(async () => (await snapshot()).cells?.own === "eu", SOON);
      const { cells } = await snapshot();
      expect(cells?.cells.map(({ name }) => name)).toEqual(["eu", "us"]);
      const { out, code } = await pilotlight(["cells", "--cluster"]);
      expect(out).toMatch(/^eu +here/m);
      expect(out).toMatch(/^us +(yes|no)/m);
      expect(code).toBe(0);
      const lost = await pilotlight(["cells", "forget", "us", "--yes", "--context", "here"]);
      expect(lost.err).toContain("its pods and theirs together may be more than max-scale");
      expect(lost.out).toContain("Cell us is declared lost");
      expect(lost.code).toBe(0);
      const own = await pilotlight(["cells", "forget", "eu", "--yes", "--cluster"]);
      expect(own.err).toContain("A cell cannot declare itself lost.");
    },
    LIMIT_MS,
  );
});
