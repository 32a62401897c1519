/**
 * A pod as the platform runs it: a real queue-proxy process on an address of its own, in front of a
 * container of the rig. Killed as a whole, without a word.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { signToken } from "../../support/activator-stub-pod.ts";
import { Container } from "./container.ts";
import type { ContainerEvents } from "./container.ts";
import { NAMESPACE, POD_CAPACITY, POD_PORT, SECRET } from "./settings.ts";

const MAIN = fileURLToPath(new URL("../../../queue-proxy/main.ts", import.meta.url));
let made = 0;

export interface PodOptions {
  readonly revision: string;
  /** `host:port` of the push side of each activator, in the order in which they are tried. */
  readonly activators: readonly string[];
  readonly events: ContainerEvents;
  readonly record: (uid: string, address: string) => void;
}

export interface FaultPod {
  readonly uid: string;
  readonly address: string;
  readonly container: Container;
  readonly pid: number;
  setActivators(endpoints: readonly string[]): void;
  /** Sidecar and container at once, by force. */
  kill(): Promise<void>;
}

/** An address in 127.0.0.0/8 that no other pod of this machine uses. */
export function podAddress(): { readonly uid: string; readonly address: string } {
  made += 1;
  const uid = `fault-${process.pid}-${made}`;
  const address = `127.${150 + (process.pid % 100)}.${(process.pid >> 7) % 250}.${made % 250}`;
  return { uid, address };
}

export async function startPod(options: PodOptions): Promise<FaultPod> {
  const { uid, address } = podAddress();
  const root = mkdtempSync(join(tmpdir(), "pilotlight-fault-pod-"));
  const tokens = join(root, "var/run/secrets/tokens");
  mkdirSync(tokens, { recursive: true });
  writeFileSync(join(tokens, "pilotlight"), await signToken(SECRET, uid));
  writeActivators(root, options.activators);
  options.record(uid, address);
  const container = new Container(options.events);
  await container.listen();
  const child = spawn(process.execPath, [MAIN], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, ...environment({ root, address, options, port: container.port, uid }) },
  });
  return {
    uid,
    address,
    container,
    pid: child.pid ?? 0,
    setActivators: (endpoints) => writeActivators(root, endpoints),
    kill: async () => {
      await Promise.all([killed(child), container.kill()]);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function environment(pod: {
  readonly root: string;
  readonly address: string;
  readonly options: PodOptions;
  readonly port: number;
  readonly uid: string;
}): Readonly<Record<string, string>> {
  return {
    SERVING_NAMESPACE: NAMESPACE,
    SERVING_CONFIGURATION: pod.options.revision.replace(/-\d+$/, ""),
    SERVING_REVISION: pod.options.revision,
    SERVING_POD: `pod-${pod.uid}`,
    SERVING_POD_IP: pod.address,
    SERVING_LOGGING_LEVEL: "fatal",
    QUEUE_SERVING_PORT: String(POD_PORT),
    QUEUE_SERVING_TLS_PORT: "8112",
    CONTAINER_CONCURRENCY: String(POD_CAPACITY),
    REVISION_TIMEOUT_SECONDS: "60",
    USER_PORT: String(pod.port),
    SERVING_READINESS_PROBE: JSON.stringify({
      httpGet: { path: "/ready", port: pod.port, host: "127.0.0.1" },
      periodSeconds: 1,
      failureThreshold: 1,
    }),
    PILOTLIGHT_POD_ROOT: pod.root,
  };
}

function writeActivators(root: string, endpoints: readonly string[]): void {
  writeFileSync(join(root, "activators.new"), endpoints.map((line) => `${line}\n`).join(""));
  renameSync(join(root, "activators.new"), join(root, "activators"));
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await ended;
}
