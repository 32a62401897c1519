/** Knative Services of the test server, and what becomes of them. */
import { applyText, getObject, kubectl } from "../../../scripts/cluster/kubectl.ts";
import { WORKLOAD_IMAGE } from "../../../scripts/cluster/images/stock.ts";
import { toText } from "../../../scripts/cluster/manifests.ts";
import { waitFor } from "../../../scripts/cluster/waiting.ts";

export const NAMESPACE = "default";

export interface ServiceOptions {
  readonly name: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly concurrency?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly resources?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly image?: string;
  readonly timeoutSeconds?: number;
  readonly traffic?: readonly object[];
  readonly revision?: string;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface KnativeService {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly url?: string;
    readonly latestReadyRevisionName?: string;
    readonly conditions?: readonly Condition[];
  };
}

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string; readonly terminationGracePeriodSeconds?: number };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly Condition[];
  };
}

export const SCALING = "autoscaling.knative.dev";

/** The manifest of a Service; scaling annotations are named without their prefix. */
export function serviceManifest(options: ServiceOptions): string {
  const { name, annotations = {}, env = {}, image = WORKLOAD_IMAGE, revision } = options;
  const container = {
    image,
    imagePullPolicy: "IfNotPresent",
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    resources: options.resources ?? { requests: { cpu: "20m", memory: "16Mi" } },
  };
  const metadata = {
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [
        key.includes("/") ? key : `${SCALING}/${key}`,
        value,
      ]),
    ),
    ...(revision === undefined ? {} : { name: `${name}-${revision}` }),
  };
  const spec = {
    ...(options.concurrency === undefined ? {} : { containerConcurrency: options.concurrency }),
    ...(options.timeoutSeconds === undefined ? {} : { timeoutSeconds: options.timeoutSeconds }),
    containers: [container],
  };
  return toText([
    {
      apiVersion: "serving.knative.dev/v1",
      kind: "Service",
      metadata: { name, namespace: NAMESPACE },
      spec: {
        template: { metadata, spec },
        ...(options.traffic === undefined ? {} : { traffic: options.traffic }),
      },
    },
  ]);
}

/** Applies a Service and waits until it is Ready; returns how long that took. */
export async function deploy(options: ServiceOptions, timeoutMs = 120_000): Promise<number> {
  const startedAt = performance.now();
  await applyText(serviceManifest(options));
  await waitForReady(options.name, timeoutMs);
  return performance.now() - startedAt;
}

export async function waitForReady(name: string, timeoutMs = 120_000): Promise<KnativeService> {
  return waitFor(
    `Service ${name} Ready`,
    async () => {
      const service = await getObject<KnativeService>("ksvc", name, "-n", NAMESPACE);
      if (service !== undefined && isServiceReady(service)) return service;
      const conditions = service?.status?.conditions ?? [];
      throw new Error(conditions.map(inWords).join(", "));
    },
    { timeoutMs, everyMs: 150 },
  );
}

function isServiceReady({ metadata, status }: KnativeService): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return status?.observedGeneration === metadata.generation && ready?.status === "True";
}

const inWords = ({ type, status, reason = "", message = "" }: Condition): string =>
  `${type} ${status} ${reason} ${message}`.trim();

/** Deletes Services; their pods may still drain for half a minute. */
export async function remove(...names: readonly string[]): Promise<void> {
  await kubectl("delete", "ksvc", ...names, "-n", NAMESPACE, "--ignore-not-found", "--wait=false");
}

export async function podsOf(service: string): Promise<readonly Pod[]> {
  const selector = `serving.knative.dev/service=${service}`;
  const list = await getObject<{ items: readonly Pod[] }>("pods", "-n", NAMESPACE, "-l", selector);
  return list?.items ?? [];
}

export const isReady = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status.conditions ?? []).some(({ type, status: value }) => type === "Ready" && value === "True");

export async function waitForReadyPods(
  service: string,
  count: number,
  timeoutMs = 120_000,
): Promise<readonly Pod[]> {
  return waitFor(
    `${count} ready pods of ${service}`,
    async () => {
      const ready = (await podsOf(service)).filter(isReady);
      if (ready.length === count) return ready;
      throw new Error(`${ready.length} are`);
    },
    { timeoutMs, everyMs: 250 },
  );
}

/** Waits until no pod is left that is not already going. */
export async function waitForZero(service: string, timeoutMs = 180_000): Promise<void> {
  await waitFor(
    `${service} at zero`,
    async () => {
      const pods = await podsOf(service);
      if (pods.every(({ metadata }) => metadata.deletionTimestamp !== undefined)) return true;
      throw new Error(`${pods.length} pods`);
    },
    { timeoutMs, everyMs: 250 },
  );
}

/** Waits until the last pod is gone: one that is going still answers. */
export async function waitForNone(service: string): Promise<void> {
  await waitForZero(service);
  await waitFor(`no pod of ${service}`, async () => (await podsOf(service)).length === 0, {
    timeoutMs: 120_000,
    everyMs: 250,
  });
}

/** How many pods a revision's Deployment asks for. */
export async function replicasOf(revision: string): Promise<number> {
  interface Deployments {
    readonly items: readonly { readonly spec: { readonly replicas: number } }[];
  }
  const selector = `serving.knative.dev/revision=${revision}`;
  const list = await getObject<Deployments>("deployments", "-n", NAMESPACE, "-l", selector);
  const [found] = list?.items ?? [];
  if (found === undefined) throw new Error(`${revision} has no Deployment`);
  return found.spec.replicas;
}

/** The conditions of a revision's PodAutoscaler in words. */
interface Scaler {
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly actualScale?: number;
  };
}

const scalerOf = (revision: string): Promise<Scaler | undefined> =>
  getObject<Scaler>("podautoscaler", revision, "-n", NAMESPACE);

export async function scalerWords(revision: string): Promise<string> {
  const scaler = await scalerOf(revision);
  return (scaler?.status?.conditions ?? []).map(inWords).join("; ");
}

/** Ready pods as the scaler counts them, which hears of them before Kubernetes does. */
export async function actualScaleOf(revision: string): Promise<number> {
  const scaler = await scalerOf(revision);
  return scaler?.status?.actualScale ?? 0;
}
