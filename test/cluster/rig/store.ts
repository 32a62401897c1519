/** The store inside the cluster, read by its own event log: what no client can see from outside. */
import { kubectl, getObject } from "../../../scripts/cluster/kubectl.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
import type { RevisionKey } from "../../../common/contracts/routing.ts";
import { createStore } from "../../../store/store.ts";
import { idleBesideWaiting } from "../../support/idle-beside-waiting.ts";
import type { IdleBesideWaiting } from "../../support/idle-beside-waiting.ts";
import { waitFor } from "../../../scripts/cluster/waiting.ts";
import { podsOfPart } from "./ours.ts";
import type { Pod } from "./services.ts";

const NAMESPACE = ["-n", KNATIVE_NAMESPACE] as const;
/** Default of PILOTLIGHT_STORE_PREFIX, which the manifests leave as it is. */
const PREFIX = "pl";
/** The store keeps a log only while somebody asks for it. */
const ASK_EVERY_MS = 2_000;

/** Keeps the event log of a revision while `work` runs, and tells when slots idled beside requests. */
export async function watchIdle(
  revision: RevisionKey,
  work: () => Promise<void>,
): Promise<IdleBesideWaiting> {
  const handle = createStore({ url: await primaryUrl(), prefix: PREFIX, timeoutMs: 10_000 });
  try {
    await handle.ready();
    await handle.store.recordEvents(revision, true);
    const asking = setInterval(() => {
      handle.store.recordEvents(revision, true).catch(() => undefined);
    }, ASK_EVERY_MS);
    await work().finally(() => clearInterval(asking));
    const seen = idleBesideWaiting(await handle.store.readEvents(revision));
    if (seen.entries === 0) throw new Error(`The store logged nothing of ${revision}`);
    return seen;
  } finally {
    await handle.store.recordEvents(revision, false).catch(() => undefined);
    await handle.close();
  }
}

/** The address of the primary as this machine reaches it; pods know it by a name of their own. */
async function primaryUrl(): Promise<string> {
  const { status } = await primary();
  return `redis://pilotlight:${await password("password")}@${status.podIP}:6379`;
}

async function password(key: string): Promise<string> {
  const secret = await getObject<{ data: Readonly<Record<string, string>> }>(
    "secret",
    "pilotlight-store",
    ...NAMESPACE,
  );
  return Buffer.from(secret?.data[key] ?? "", "base64").toString();
}

async function primary(): Promise<Pod> {
  const ask = ["valkey-cli", "--no-auth-warning", "--user", "pilotlight"];
  const words = [...ask, "--pass", await password("password"), "info", "replication"];
  for (const pod of await podsOfPart("store")) {
    if ((await inPod(pod, "valkey", words)).includes("role:master")) return pod;
  }
  throw new Error("No pod of the store says that it is the primary");
}

const inPod = ({ metadata }: Pod, container: string, words: readonly string[]): Promise<string> =>
  kubectl("exec", metadata.name, ...NAMESPACE, "-c", container, "--", ...words);

/**
 * The node that holds most of the store's pods, and the primary: it is led there if need be. With
 * the other one cut off the store goes on as it was, so that the loss of pods is what shows.
 */
export async function steadyNode(): Promise<string> {
  const names = (await podsOfPart("store")).map(({ spec }) => spec.nodeName ?? "");
  const most = (name: string): number => names.filter((other) => other === name).length;
  const [steady = ""] = names.toSorted((left, right) => most(right) - most(left));
  const cli = ["valkey-cli", "--no-auth-warning", "--user", "internal", "-p", "26379"];
  const order = [...cli, "--pass", await password("internal-password"), "sentinel", "failover"];
  await waitFor(
    `the primary on ${steady}`,
    async () => {
      const leads = await primary();
      if (leads.spec.nodeName === steady) return true;
      await inPod(leads, "sentinel", [...order, "pilotlight"]);
      throw new Error(`it is on ${leads.spec.nodeName ?? "none"}`);
    },
    { timeoutMs: 120_000, everyMs: 5_000 },
  );
  return steady;
}
