/**
 * The manifests on a real API server, beside the manifests of stock Knative as they are shipped:
 * there, the rights that result, and the way back.
 */
import { execFile, execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { kubeBinaries, startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { MANIFESTS, podOf } from "../support/manifest-files.ts";
import type { ManifestObject } from "../support/manifest-files.ts";

const binaries = kubeBinaries();
const run = promisify(execFile);
const MINUTE_MS = 60_000;
const MAPS = ["autoscaler", "defaults", "deployment", "features", "observability"];
const STOCK_IMAGE = "stock.example/queue@sha256:1";
const STEPS = ["sidecar", "take-over", "default-class"];

let api: KubeApi;
let folder: string;
let stock: string;

async function kubectl(...args: string[]): Promise<string> {
  return (await runKubectl(args)).stdout;
}

async function runKubectl(
  args: readonly string[],
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const program = join(binaries ?? "", "kubectl");
  const { url, accountFolder } = api;
  const token = readFileSync(join(accountFolder, "token"), "utf8");
  const ca = join(accountFolder, "ca.crt");
  const access = ["--server", url, "--token", token, "--certificate-authority", ca];
  return run(program, [...access, ...args], {
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, HOME: folder, KUBECONFIG: join(folder, "none") },
  });
}

const overlay = (name: string): string => join(MANIFESTS, "overlays", name);

/** The release with some of our components over it, as the guide says to write it. */
function swapFolder(...components: readonly string[]): string {
  const path = join(folder, `with-${components.join("-")}`);
  mkdirSync(path, { recursive: true });
  copyFileSync(stock, join(path, "serving-core.yaml"));
  const listed = components.map((name) => relative(path, join(MANIFESTS, "components", name)));
  const kustomization = `resources: [serving-core.yaml]\ncomponents: [${listed.join(", ")}]\n`;
  writeFileSync(join(path, "kustomization.yaml"), kustomization);
  return path;
}

interface StockObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: unknown;
}

async function get(kind: string, name: string): Promise<StockObject> {
  const text = await kubectl("-n", "knative-serving", "get", kind, name, "-o", "json");
  return JSON.parse(text) as StockObject;
}

/** What an operator would compare: content and labels, not versions. */
async function stockState(): Promise<object> {
  const objects = await Promise.all([
    ...MAPS.map((name) => get("configmap", `config-${name}`)),
    get("deployment", "activator"),
    get("service", "activator-service"),
    get("poddisruptionbudget", "activator-pdb"),
    get("horizontalpodautoscaler", "activator"),
  ]);
  return objects.map(({ metadata, data, spec }) => {
    const { name, labels } = metadata;
    return { name, labels, data, spec };
  });
}

/** Stock objects as a release ships them, under image names of their own. */
function writeStock(): string {
  const cwd = join(MANIFESTS, "../test/cluster/tools/serving");
  const format = ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", "knative.dev/serving"];
  const core = join(execFileSync("go", format, { cwd, encoding: "utf8" }).trim(), "config/core");
  const files = [
    ...MAPS.map((name) => `configmaps/${name}.yaml`),
    "deployments/activator.yaml",
    "deployments/activator-hpa.yaml",
    ...readdirSync(join(core, "200-roles")).map((name) => `200-roles/${name}`),
    "200-serviceaccount.yaml",
  ];
  const documents = files.flatMap((file) => readFileSync(join(core, file), "utf8").split(/^---$/m));
  // Some hold nothing but a licence.
  const text = documents.filter((document) => /^kind:/m.test(document)).join("\n---\n");
  const path = join(folder, "stock.yaml");
  writeFileSync(path, text.replaceAll(/ko:\/\/knative\.dev\/serving\/cmd\/queue/g, STOCK_IMAGE));
  return path;
}

describe("manifests on a real API server", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "pilotlight-manifests-"));
    api = await startKubeApi();
    stock = writeStock();
  }, 3 * MINUTE_MS);
  afterAll(async () => {
    await api.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(["pilotlight", "pilotlight-tls", "existing-valkey"])(
    "%s defines each variable before another uses it",
    async (name) => {
      const documents = parseAllDocuments(await kubectl("kustomize", overlay(name)));
      const workloads = documents
        .map((document) => document.toJS() as ManifestObject)
        .filter(({ kind }) => ["Deployment", "StatefulSet"].includes(kind));
      expect(workloads.length).toBeGreaterThan(2);
      for (const { env = [] } of workloads.flatMap((it) => podOf(it).spec.containers)) {
        for (const [index, { value = "" }] of env.entries()) {
          const before = env.slice(0, index).map((it) => it.name);
          for (const [, used = ""] of value.matchAll(/\$\((\w+)\)/g)) {
            expect(before).toContain(used);
          }
        }
      }
    },
    MINUTE_MS,
  );

  it.each(["pilotlight", "pilotlight-tls", "existing-valkey"])(
    "%s passes a dry run of the server, without a warning",
    async (name) => {
      const { stdout, stderr } = await runKubectl([
        "apply",
        "--dry-run=server",
        "-k",
        overlay(name),
      ]);
      expect(stdout).toContain("deployment.apps/pilotlight-activator created (server dry run)");
      expect(stderr).toBe("");
    },
    MINUTE_MS,
  );

  it.each([
    { way: "plain", how: [] },
    { way: "server-side", how: ["--server-side", "--force-conflicts"] },
  ])(
    "turn stock into Pilotlight and back, exactly, where it was applied $way",
    async ({ how }) => {
      await kubectl("apply", ...how, "-f", stock);
      // What somebody set by hand is nobody's business here.
      await setByHand("config-autoscaler", "scale-to-zero-pod-retention-period", "1m");
      const before = await stockState();

      await kubectl("apply", ...how, "-k", swapFolder(...STEPS.slice(0, 1)));
      await kubectl("apply", ...how, "-k", overlay("pilotlight"));
      for (const count of [2, 3]) {
        await kubectl("apply", ...how, "-k", swapFolder(...STEPS.slice(0, count)));
      }
      const { data } = await get("configmap", "config-deployment");
      expect(data?.["queue-sidecar-image"]).toContain("pilotlight/queue-proxy");
      expect(data?.["_example"]).toContain("progress-deadline");
      expect((await get("deployment", "activator")).spec).toMatchObject({ replicas: 0 });
      expect((await get("configmap", "config-autoscaler")).data).toMatchObject({
        "allow-zero-initial-scale": "true",
        "pod-autoscaler-class": "scaler.pilotlight.dev",
        "scale-to-zero-pod-retention-period": "1m",
      });

      // As docs/guides/move-to-pilotlight.md goes back.
      await kubectl("apply", ...how, "-k", swapFolder("sidecar"));
      expect((await get("deployment", "activator")).spec).toMatchObject({ replicas: 1 });
      await kubectl("delete", "-k", overlay("pilotlight"), "--wait=false");
      await kubectl("apply", ...how, "-f", stock);
      expect(await stockState()).toEqual(before);
      const kinds = "deployments,statefulsets,services,configmaps,networkpolicies,roles";
      const left = await kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/part-of=pilotlight");
      expect(left).toBe("");
    },
    3 * MINUTE_MS,
  );
});

async function setByHand(map: string, key: string, value: string): Promise<void> {
  const patch = JSON.stringify({ data: { [key]: value } });
  await kubectl("-n", "knative-serving", "patch", "configmap", map, "--type=merge", "-p", patch);
}

type Right = readonly [
  account: string,
  verb: string,
  resource: string,
  namespace: string,
  allowed: boolean,
];
const RIGHTS: readonly Right[] = [
  ["activator", "get", "pods", "default", true],
  ["activator", "list", "pods", "default", false],
  ["activator", "get", "revisions.serving.knative.dev", "default", true],
  ["activator", "get", "secrets", "knative-serving", false],
  ["activator", "get", "/openid/v1/jwks", "", true],
  ["autoscaler", "watch", "pods", "default", true],
  ["autoscaler", "patch", "pods", "default", true],
  ["autoscaler", "delete", "pods", "default", true],
  ["autoscaler", "create", "pods", "default", false],
  ["autoscaler", "patch", "deployments.apps/scale", "default", true],
  ["autoscaler", "patch", "deployments.apps", "default", false],
  [
    "autoscaler",
    "update",
    "podautoscalers.autoscaling.internal.knative.dev/status",
    "default",
    true,
  ],
  ["autoscaler", "update", "podautoscalers.autoscaling.internal.knative.dev", "default", false],
  ["autoscaler", "create", "serverlessservices.networking.internal.knative.dev", "default", true],
  ["autoscaler", "delete", "serverlessservices.networking.internal.knative.dev", "default", false],
  ["autoscaler", "watch", "nodes", "", true],
  ["autoscaler", "list", "secrets", "knative-serving", false],
  ["autoscaler", "watch", "configmaps", "knative-serving", true],
  ["autoscaler", "watch", "configmaps", "default", false],
  ["webhook", "get", "secrets/pilotlight-webhook-certs", "knative-serving", true],
  ["webhook", "get", "secrets/pilotlight-store", "knative-serving", false],
  ["webhook", "list", "secrets", "knative-serving", false],
  ["webhook", "get", "pods", "default", false],
];

describe("rights", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "pilotlight-rights-"));
    api = await startKubeApi();
    await kubectl("apply", "-k", overlay("pilotlight"));
  }, 3 * MINUTE_MS);
  afterAll(async () => {
    await api.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(RIGHTS)("%s may %s %s in %s: %s", async (...right) => {
    const [account, verb, resource, namespace, allowed] = right;
    const user = `system:serviceaccount:knative-serving:pilotlight-${account}`;
    const where = namespace === "" ? [] : ["-n", namespace];
    const [kind = "", part = ""] = resource.split(/\/(?=scale$|status$)/);
    const subresource = part === "" ? [] : [`--subresource=${part}`];
    const question = ["auth", "can-i", verb, kind, ...subresource, ...where, "--as", user];
    const answer = await kubectl(...question).catch(
      (error: { readonly stdout: string }) => error.stdout,
    );
    expect(answer.trim()).toBe(allowed ? "yes" : "no");
  });
});
