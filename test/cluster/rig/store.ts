/** The store inside the cluster, read by its own event log: what no client can see from outside. */
import { kubectl, getObject } from "../../../scripts/cluster/kubectl.ts";
import { KNATIVE_NAMESPACE } from "../../../scripts/cluster/knative.ts";
import type { RevisionKey } from "../../../common/contracts/routing.ts";
import { createStore } from "../../../store/store.ts";
import { idleBesideWaiting } from "../../support/idle-beside-waiting.ts";
import type { IdleBesideWaiting } from "../../support/idle-beside-waiting.ts";
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
  const secret = await getObject<{ data: { password: string } }>(
    "secret",
    "pilotlight-store",
    ...NAMESPACE,
  );
  const password = Buffer.from(secret?.data.password ?? "", "base64").toString();
  const list = await getObject<{ items: readonly Pod[] }>(
    "pods",
    ...NAMESPACE,
    "-l",
    "pilotlight.dev/part=store",
  );
  for (const { metadata, status } of list?.items ?? []) {
    const ask = ["valkey-cli", "--no-auth-warning", "--user", "pilotlight", "--pass", password];
    const inPod = ["exec", metadata.name, ...NAMESPACE, "-c", "valkey", "--"];
    const said = await kubectl(...inPod, ...ask, "info", "replication");
    if (said.includes("role:master")) return `redis://pilotlight:${password}@${status.podIP}:6379`;
  }
  throw new Error("No pod of the store says that it is the primary");
}
