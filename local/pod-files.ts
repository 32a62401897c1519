/**
 * The files of one pod: its record for the activators, and under its root what a sidecar finds at
 * the same paths in a cluster (token, pod annotations) or in place of a headless Service
 * (`activators`). Written synchronously: it is a fraction of a ms on the path of a cold start.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PodRecord } from "../common/contracts/local-run.ts";
import { TOKEN_AUDIENCE } from "../common/contracts/push.ts";

const TOKEN_FOLDER = "var/run/secrets/tokens";
const INFO_FOLDER = "etc/podinfo";
/** Never on pods in a cluster either: the controller leaves them out. */
const NOT_ON_PODS = /^(autoscaling\.knative\.dev|serving\.knative\.dev\/(lastPinned|no-gc|routes))/;

export function createPodRoot(root: string): void {
  mkdirSync(join(root, TOKEN_FOLDER), { recursive: true, mode: 0o700 });
  mkdirSync(join(root, INFO_FOLDER), { recursive: true, mode: 0o700 });
}

export function writeToken(root: string, token: string): void {
  replaceFile(join(root, TOKEN_FOLDER, TOKEN_AUDIENCE), token);
}

/** `push` sides of the living activators, one `host:port` per line. */
export function writeActivators(root: string, addresses: readonly string[]): void {
  replaceFile(join(root, "activators"), addresses.map((address) => `${address}\n`).join(""));
}

/** As the downward API prints them: `key="escaped value"`, sorted. */
export function writeAnnotations(
  root: string,
  annotations: Readonly<Record<string, string>>,
): void {
  const lines = Object.entries(annotations)
    .filter(([key]) => !NOT_ON_PODS.test(key))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}\n`);
  replaceFile(join(root, INFO_FOLDER, "annotations"), lines.join(""));
}

export function writePodRecord(folder: string, record: PodRecord): void {
  replaceFile(join(folder, `${record.uid}.json`), JSON.stringify(record));
}

export function removePodFiles(folder: string, root: string, uid: string): void {
  rmSync(join(folder, `${uid}.json`), { force: true });
  rmSync(root, { recursive: true, force: true });
}

export function removePodLogs(folder: string, podName: string): void {
  for (const which of ["user", "sidecar"]) {
    rmSync(join(folder, `${podName}.${which}.log`), { force: true });
    rmSync(join(folder, `${podName}.${which}.log.1`), { force: true });
  }
}

function replaceFile(path: string, text: string): void {
  const draft = `${path}.tmp`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, path);
}
