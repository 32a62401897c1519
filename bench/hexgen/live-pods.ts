/**
 * Pods of the live run as real processes: for each card of the pool a simulated engine (`llm`
 * example) with its speeds and cache, and the sidecar in front of it.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { knownCard } from "../../common/hexgen/known-cards.ts";
import { signPodToken } from "../../local/pod-identity.ts";
import { SECRET } from "../../test/support/activator-bench.ts";
import type { ActivatorBench } from "../../test/support/activator-bench.ts";

const START_MS = 30_000;

export interface LivePods {
  stop(): Promise<void>;
}

export interface LivePodOptions {
  readonly rig: ActivatorBench;
  /** Push address of the activator. */
  readonly push: string;
  readonly cards: readonly string[];
  readonly timeScale: number;
  /** Calls that an engine takes at once; its cache is the real bound. */
  readonly concurrency: number;
}

export async function startPods(options: LivePodOptions): Promise<LivePods> {
  const children: ChildProcess[] = [];
  const root = mkdtempSync(join(tmpdir(), "pilotlight-live-"));
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(ended));
    rmSync(root, { recursive: true, force: true });
  };
  try {
    for (const [index, card] of options.cards.entries()) {
      await startPod(options, { index, card, root, children });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

interface Place {
  readonly index: number;
  readonly card: string;
  readonly root: string;
  readonly children: ChildProcess[];
}

async function startPod(options: LivePodOptions, place: Place): Promise<void> {
  const { rig, push } = options;
  const { index, card, children } = place;
  const uid = `live-${process.pid}-${index}`;
  const address = `127.${60 + (process.pid % 100)}.${(process.pid >> 8) % 250}.${index + 1}`;
  const podRoot = join(place.root, uid);
  const tokens = join(podRoot, "var/run/secrets/tokens");
  mkdirSync(tokens, { recursive: true });
  const now = Date.now();
  const identity = { namespace: "default", podName: uid, podUid: uid };
  writeFileSync(join(tokens, "pilotlight"), signPodToken(SECRET, identity, now));
  writeFileSync(join(podRoot, "activators"), `${push}\n`);
  rig.writePod({
    uid,
    name: uid,
    namespace: "default",
    service: "echo",
    configuration: "echo",
    revision: "echo-00001",
    address,
    card,
    decidedAt: now,
    spawnedAt: now,
  });
  const engine = launch("examples/llm/server.ts", engineEnvironment(options, card, address));
  children.push(engine);
  const port = Number(/listens on http:\S+:(\d+)/.exec(await output(engine, "listens on"))?.[1]);
  const sidecar = launch("queue-proxy/main.ts", {
    ...SIDECAR,
    SERVING_POD: uid,
    SERVING_POD_IP: address,
    USER_PORT: String(port),
    CONTAINER_CONCURRENCY: String(options.concurrency),
    PILOTLIGHT_POD_ROOT: podRoot,
  });
  children.push(sidecar);
  await output(sidecar, '"started"');
}

const SIDECAR = {
  SERVING_NAMESPACE: "default",
  SERVING_SERVICE: "echo",
  SERVING_CONFIGURATION: "echo",
  SERVING_REVISION: "echo-00001",
  QUEUE_SERVING_PORT: "8012",
  REVISION_TIMEOUT_SECONDS: "600",
  SERVING_READINESS_PROBE: "",
  SERVING_LOGGING_LEVEL: "info",
};

function engineEnvironment(
  { timeScale }: LivePodOptions,
  card: string,
  address: string,
): Record<string, string> {
  const known = knownCard(card);
  if (known === undefined) throw new Error(`no figures for card ${card}`);
  return {
    PORT: "0",
    K_REVISION: "echo-00001",
    PILOTLIGHT_STATE_URL: `http://${address}:8022/state`,
    LLM_CARD: "a100",
    LLM_LOAD_MS: "0",
    LLM_PREFILL_TOKENS_PER_S: String(known.profile.prefillTokensPerS),
    LLM_DECODE_MS_PER_TOKEN: String(known.profile.tokenUs / 1_000),
    LLM_KV_TOKENS: String(known.kvTokens),
    LLM_PREFIX_CACHE_TOKENS: "0",
    LLM_TIME_SCALE: String(timeScale),
  };
}

function launch(file: string, env: Readonly<Record<string, string>>): ChildProcess {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  return spawn(process.execPath, [path], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** What a child said when it says `mark`; what comes later is read off. */
function output(child: ChildProcess, mark: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const limit = setTimeout(() => reject(new Error(`no "${mark}" in:\n${text}`)), START_MS);
    const look = (part: Buffer): void => {
      if (text.includes(mark)) return;
      text += part.toString();
      if (!text.includes(mark)) return;
      clearTimeout(limit);
      resolve(text);
    };
    child.stdout?.on("data", look);
    child.stderr?.on("data", look);
    child.once("exit", (code) => reject(new Error(`ended with ${code}:\n${text}`)));
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
