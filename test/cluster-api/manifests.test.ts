/**
 * The manifests on a real API server, beside the manifests of stock Knative as they are shipped:
 * there, the rights that result, and the way back.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubeBinaries, startKubeApi } from "../support/kube-api.ts";
import type { KubeApi } from "../support/kube-api.ts";
import { MANIFESTS } from "../support/manifest-files.ts";

const binaries = kubeBinaries();
const run = promisify(execFile);
const MINUTE_MS = 60_000;
const MANAGER = ["--server-side", "--force-conflicts", "--field-manager=pilotlight"];
const MAPS = ["autoscaler", "defaults", "deployment", "features", "observability"];
const STOCK_IMAGE = "stock.example/queue@sha256:1";

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
const apply = (name: string, ...more: string[]): Promise<string> =>
  kubectl("apply", ...MANAGER, ...more, "-k", overlay(name));

interface StockObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: unknown;
}

async function get(kind: string, name: string): Promise<StockObject> {
  const text = await kubectl("-n", "knative-serving", "get", kind, name, "-o", "json");
  return JSON.parse(text) as StockObject;
}

/** What an operator would compare: content, labels and annotations, not versions. */
async function stockState(): Promise<object> {
  const objects = await Promise.all([
    ...MAPS.map((name) => get("configmap", `config-${name}`)),
    get("deployment", "activator"),
    get("service", "activator-service"),
    get("poddisruptionbudget", "activator-pdb"),
    get("horizontalpodautoscaler", "activator"),
  ]);
  return objects.map(({ metadata, data, spec }) => {
    const { name, labels, annotations } = metadata;
    return { name, labels, annotations, data, spec };
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

const describeWithServer = binaries === undefined ? describe.skip : describe;

describeWithServer("manifests on a real API server", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "pilotlight-manifests-"));
    api = await startKubeApi();
    stock = writeStock();
    await kubectl("apply", "-f", stock);
  }, 3 * MINUTE_MS);
  afterAll(async () => {
    await api.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(["pilotlight", "existing-valkey", "sidecar", "take-over", "default-class"])(
    "%s passes a dry run of the server, without a warning",
    async (name) => {
      const args = ["apply", ...MANAGER, "--dry-run=server", "-k", overlay(name)];
      const { stdout, stderr } = await runKubectl(args);
      expect(stdout).toContain("serverside-applied (server dry run)");
      expect(stderr).toBe("");
    },
    MINUTE_MS,
  );

  it("conflicts with stock in one key only, which is the image", async () => {
    const args = ["--server-side", "--field-manager=pilotlight", "--dry-run=server"];
    const refused = await kubectl("apply", ...args, "-k", overlay("sidecar")).then(
      () => "",
      (error: { readonly stderr: string }) => error.stderr,
    );
    expect(refused).toContain('conflict with "kubectl-client-side-apply"');
    expect([...refused.matchAll(/\.data\.([\w.-]+)/g)].map((match) => match[1])).toEqual([
      "queue-sidecar-image",
    ]);
  });

  it(
    "turns stock into Pilotlight and back, exactly",
    async () => {
      const before = await stockState();
      for (const name of ["sidecar", "pilotlight", "take-over", "default-class"]) await apply(name);

      const { data } = await get("configmap", "config-deployment");
      expect(data?.["queue-sidecar-image"]).toContain("pilotlight/queue-proxy");
      expect(data?.["_example"]).toContain("progress-deadline");
      expect((await get("deployment", "activator")).spec).toMatchObject({ replicas: 0 });
      const autoscaler = (await get("configmap", "config-autoscaler")).data;
      expect(autoscaler).toMatchObject({
        "allow-zero-initial-scale": "true",
        "pod-autoscaler-class": "scaler.pilotlight.dev",
      });

      // As docs/guides/move-to-pilotlight.md goes back.
      await kubectl("-n", "knative-serving", "scale", "deployment/activator", "--replicas=1");
      await kubectl("delete", "-k", overlay("pilotlight"), "--wait=false");
      const patch = JSON.stringify({ data: { "queue-sidecar-image": STOCK_IMAGE } });
      const map = ["configmap", "config-deployment", "--type=merge", "-p", patch];
      await kubectl("-n", "knative-serving", "patch", ...map);
      await apply("stock");
      expect(await stockState()).toEqual(before);
      const kinds = "deployments,statefulsets,services,configmaps,networkpolicies,roles";
      const left = await kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/part-of=pilotlight");
      expect(left).toBe("");
    },
    3 * MINUTE_MS,
  );

  it(
    "keeps what a new stock release brings, and the stock activator at zero",
    async () => {
      for (const name of ["sidecar", "take-over"]) await apply(name);
      await kubectl("apply", "-f", stock);
      expect((await get("deployment", "activator")).spec).toMatchObject({ replicas: 0 });
      const { data } = await get("configmap", "config-deployment");
      expect(data?.["queue-sidecar-image"]).toBe(STOCK_IMAGE);
      expect(data?.["queue-sidecar-token-audiences"]).toBe("pilotlight");
      await apply("sidecar");
      const again = (await get("configmap", "config-deployment")).data;
      expect(again?.["queue-sidecar-image"]).toContain("pilotlight/queue-proxy");
    },
    2 * MINUTE_MS,
  );
});

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

describeWithServer("rights", () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "pilotlight-rights-"));
    api = await startKubeApi();
    await apply("pilotlight");
  }, 3 * MINUTE_MS);
  afterAll(async () => {
    await api.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(RIGHTS)("%s may %s %s in %s: %s", async (account, verb, resource, namespace, allowed) => {
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
