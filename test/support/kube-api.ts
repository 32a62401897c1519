/**
 * A real API server with its etcd for tests, on free loopback ports: no kubelet, no controllers, so
 * a test decides what happens. The resources of Knative come from its own modules.
 */
import { spawn, execFileSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, globSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import { accountAccess } from "../../autoscaler/kubernetes/api-access.ts";
import { apiStatus, createApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import type { ApiClient } from "../../autoscaler/kubernetes/api-client.ts";
import { systemClock } from "../../foundation/clock.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./valkey.ts";

export interface KubeApi {
  readonly url: string;
  readonly port: number;
  /** Folder with `token` and `ca.crt` of an administrator, as a pod would have it. */
  readonly accountFolder: string;
  readonly client: ApiClient;
  /** Folder of a service account of its own, with nobody's rights at first. */
  account(name: string): string;
  /** Ends the server by force; etcd keeps what was written. */
  killServer(): Promise<void>;
  startServer(): Promise<void>;
  stop(): Promise<void>;
}

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const ACCOUNTS = ["admin", "autoscaler", "webhook", "dashboard", "nobody"];
const READY = { timeoutMs: 60_000, everyMs: 50 };

/** Folder of kube-apiserver; undefined where the cluster's programs were not built yet. */
export function kubeBinaries(): string | undefined {
  const named = process.env["PILOTLIGHT_KUBE_BIN"] ?? "";
  const built = globSync(join(REPOSITORY, ".cache/cluster/kubernetes-*/bin"));
  return [named, ...built].find((folder) => existsSync(join(folder, "kube-apiserver")));
}

export async function startKubeApi(): Promise<KubeApi> {
  const binaries = kubeBinaries();
  if (binaries === undefined) {
    throw new Error(
      "These tests need kube-apiserver: npm run cluster:up builds it, " +
        "or set PILOTLIGHT_KUBE_BIN to its folder",
    );
  }
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-kube-"));
  const [port, etcdPort, peerPort] = [await freePort(), await freePort(), await freePort()];
  const etcd = run("etcd", etcdArguments({ folder, etcdPort, peerPort }));
  const keys = writeKeys(folder);
  const url = `https://127.0.0.1:${port}`;
  const program = join(binaries, "kube-apiserver");
  const start = (): ChildProcess => run(program, apiArguments({ folder, keys, port, etcdPort }));
  let server = start();
  const accountFolder = join(folder, "accounts/admin");
  const client = createApiClient(accountAccess({ apiUrl: url, accountFolder, clock: systemClock }));
  const stop = async (): Promise<void> => {
    client.close();
    await end(server);
    await end(etcd);
    rmSync(folder, { recursive: true, force: true });
  };
  const ready = async (): Promise<void> => {
    await eventually(() => existsSync(join(folder, "certs/apiserver.crt")), READY);
    writeAccounts(folder);
    await eventually(async () => {
      if (server.exitCode !== null) throw new Error("kube-apiserver ended");
      await client.read("/api/v1/namespaces/default");
      return true;
    }, READY);
  };
  try {
    await ready();
    await installResources(client);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    url,
    port,
    accountFolder,
    client,
    account: (name) => join(folder, "accounts", name),
    killServer: () => end(server, "SIGKILL"),
    startServer: async () => {
      server = start();
      await ready();
    },
    stop,
  };
}

function run(program: string, args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore"] });
  child.on("error", () => undefined);
  // A test run that is killed must not leave servers behind.
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}

function etcdArguments(given: { folder: string; etcdPort: number; peerPort: number }): string[] {
  const client = `http://127.0.0.1:${given.etcdPort}`;
  const peer = `http://127.0.0.1:${given.peerPort}`;
  return [
    `--data-dir=${join(given.folder, "etcd")}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    "--unsafe-no-fsync",
    "--logger=zap",
    "--log-level=error",
  ];
}

interface ApiPlace {
  readonly folder: string;
  readonly keys: { readonly private: string; readonly public: string };
  readonly port: number;
  readonly etcdPort: number;
}

function apiArguments({ folder, keys, port, etcdPort }: ApiPlace): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    // Makes a certificate of its own there.
    `--cert-dir=${join(folder, "certs")}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--authorization-mode=RBAC",
    // There is no controller that would make the accounts.
    "--disable-admission-plugins=ServiceAccount",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${keys.public}`,
    `--service-account-signing-key-file=${keys.private}`,
    "--service-cluster-ip-range=10.96.0.0/16",
    // No endpoints for itself: loopback addresses are refused there.
    "--endpoint-reconciler-type=none",
  ];
}

function writeKeys(folder: string): ApiPlace["keys"] {
  const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const files = { private: join(folder, "accounts.key"), public: join(folder, "accounts.pub") };
  writeFileSync(files.private, pair.privateKey.export({ type: "pkcs8", format: "pem" }));
  writeFileSync(files.public, pair.publicKey.export({ type: "spki", format: "pem" }));
  const rows = ACCOUNTS.map((name) => {
    mkdirSync(join(folder, "accounts", name), { recursive: true });
    const token = randomBytes(16).toString("hex");
    writeFileSync(join(folder, "accounts", name, "token"), token);
    const user =
      name === "admin" ? "admin" : `system:serviceaccount:knative-serving:pilotlight-${name}`;
    return `${token},${user},${name}${name === "admin" ? ',"system:masters"' : ""}`;
  });
  writeFileSync(join(folder, "tokens.csv"), `${rows.join("\n")}\n`);
  return files;
}

function writeAccounts(folder: string): void {
  const ca = readFileSync(join(folder, "certs/apiserver.crt"));
  for (const name of ACCOUNTS) writeFileSync(join(folder, "accounts", name, "ca.crt"), ca);
}

async function end(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await ended;
  clearTimeout(timer);
}

interface Manifest {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name?: string };
  readonly spec?: Record<string, unknown>;
}

const SYSTEM_NAMESPACE = "knative-serving";
const CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async function installResources(client: ApiClient): Promise<void> {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM_NAMESPACE } };
  await client.write({ method: "POST", path: "/api/v1/namespaces", body: namespace });
  const files = [
    ...yamlFiles(join(moduleFolder("knative.dev/serving"), "config/core/300-resources")),
    join(moduleFolder("knative.dev/networking"), "config/serverlessservice.yaml"),
  ];
  const definitions = files.flatMap(manifestsOf);
  for (const definition of definitions) {
    // Nothing here converts between versions.
    const { conversion: _conversion, ...spec } = definition.spec ?? {};
    await client.write({ method: "POST", path: CRD_PATH, body: { ...definition, spec } });
  }
  for (const path of [
    "/apis/serving.knative.dev/v1/services",
    "/apis/serving.knative.dev/v1/revisions",
    "/apis/autoscaling.internal.knative.dev/v1alpha1/podautoscalers",
    "/apis/autoscaling.internal.knative.dev/v1alpha1/metrics",
    "/apis/networking.internal.knative.dev/v1alpha1/serverlessservices",
  ]) {
    await eventually(() => client.read(path), READY);
  }
}

function manifestsOf(file: string): Manifest[] {
  const documents = parseAllDocuments(readFileSync(file, "utf8"));
  return documents
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest?.kind === "CustomResourceDefinition")
    .filter((manifest) => manifest !== null);
}

function yamlFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => join(folder, name));
}

/** Where Go keeps the module that the cluster's tools are built from. */
function moduleFolder(module: string): string {
  const cwd = join(REPOSITORY, "test/cluster/tools/serving");
  const format = "{{.Dir}}";
  const answer = execFileSync("go", ["list", "-mod=readonly", "-m", "-f", format, module], { cwd });
  return answer.toString("utf8").trim();
}

/** Creates an object, and its status where it has one. */
export async function create<T extends object>(
  client: ApiClient,
  path: string,
  object: T & { readonly metadata: { readonly name: string }; readonly status?: unknown },
): Promise<T> {
  const made = await client.write<T>({ method: "POST", path, body: object });
  if (object.status === undefined) return made;
  return setStatus(client, `${path}/${object.metadata.name}`, object.status);
}

export function setStatus<T>(client: ApiClient, path: string, status: unknown): Promise<T> {
  return client.write<T>({
    method: "PATCH",
    patch: "merge-patch",
    path: `${path}/status`,
    body: { status },
  });
}

export async function remove(client: ApiClient, path: string): Promise<void> {
  try {
    await client.write({ method: "DELETE", path });
  } catch (error) {
    if (apiStatus(error) !== 404) throw error;
  }
}
