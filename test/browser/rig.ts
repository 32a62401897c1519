/** The running platform that the pages show: example services and one that takes runs, under load. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startPlatform } from "../../local/main.ts";
import type { Platform } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import { createQuestions } from "./workflows.ts";

const EXAMPLES = ["chat", "echo", "llm", "ocr", "text2sql"].map((name) =>
  fileURLToPath(new URL(`../../examples/${name}/service.yaml`, import.meta.url)),
);
const APP = fileURLToPath(new URL("../fixtures/local/events.mjs", import.meta.url));

/** Takes runs beside ordinary calls, and needs several pods. */
const BATCH = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: batch }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        autoscaling.knative.dev/max-scale: "3"
        pilotlight.dev/cooldown: 20s
        pilotlight.dev/async: enabled
        pilotlight.dev/webhook-hosts: 127.0.0.1
        pilotlight.dev/local-command: node ${APP}
    spec:
      containerConcurrency: 1
      containers: [{ image: batch }]
`;

const BROKEN = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: whisper }
spec:
  template:
    metadata:
      annotations:
        pilotlight.dev/local-command: node -e "console.error('model weights not found'); process.exit(1)"
    spec:
      containers: [{ image: whisper }]
`;

export interface Rig {
  readonly platform: Platform;
  /** Ends the load; what runs is waited for. */
  rest(): Promise<void>;
  stop(): Promise<void>;
}

/** Charts with less than that say little about what they show. */
const WARM_UP_MS = 75_000;
/** Batches come and go, so that pods do. */
const BATCH_ON_MS = 12_000;
const BATCH_OFF_MS = 25_000;

export async function startRig(): Promise<Rig> {
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-pages-"));
  writeFileSync(join(folder, "batch.yaml"), BATCH);
  writeFileSync(join(folder, "whisper.yaml"), BROKEN);
  const platform = await startPlatform({
    files: [...EXAMPLES, join(folder, "batch.yaml"), join(folder, "whisper.yaml")],
    port: 0,
    runFolder: join(folder, "run"),
    env: { ...process.env, PILOTLIGHT_CARD_PRICES: "a100=2.90,a6000=0.80,*=1.20" },
  });
  const load = new AbortController();
  const questions = createQuestions(platform, load.signal);
  const batches = batchTurns();
  const loading = Promise.all([
    keep(load.signal, 2, () => call(platform, "ocr", "/nothing-to-read", { pauseMs: 500 })),
    keep(load.signal, 1, () => call(platform, "whisper", "/", { pauseMs: 1_000 })),
    keep(load.signal, 6, () => call(platform, "llm", "/v1/chat/completions", CHAT)),
    keep(load.signal, 2, () => call(platform, "echo", "/upper", { body: "hello", pauseMs: 500 })),
    keep(load.signal, 1, () => call(platform, "chat", "/", { pauseMs: 2_000 })),
    keep(load.signal, 3, async () => {
      await batches();
      await call(platform, "batch", "/?ms=400", { pauseMs: 100 });
    }),
    // Cut off at the end, or while its first pod starts.
    keep(load.signal, 3, () => questions.ask().catch(() => delay(500))),
    keep(load.signal, 1, () => call(platform, "batch", "/read?ms=900&async=true", RUN)),
  ]);
  const rest = async (): Promise<void> => {
    load.abort();
    await loading;
  };
  await delay(WARM_UP_MS);
  return {
    platform,
    rest,
    stop: async () => {
      await rest();
      await platform.stop(0);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface CallShape {
  readonly body?: string;
  readonly pauseMs: number;
}

const CHAT: CallShape = {
  body: JSON.stringify({
    model: "tiny",
    max_tokens: 40,
    messages: [{ role: "user", content: "Why does a pilot light burn all night?" }],
  }),
  pauseMs: 200,
};
const RUN: CallShape = { body: "page", pauseMs: 4_000 };

async function call(
  platform: Platform,
  service: string,
  path: string,
  { body, pauseMs }: CallShape,
): Promise<void> {
  const { ingress } = platform.urls;
  const what = body === undefined ? { path } : { path, body };
  await callService(ingress, `${service}.default.localhost`, what).catch(() => undefined);
  await delay(pauseMs);
}

/** Answers a function that holds its caller while batches pause. */
function batchTurns(): () => Promise<void> {
  const startedAt = performance.now();
  const period = BATCH_ON_MS + BATCH_OFF_MS;
  return async () => {
    const into = (performance.now() - startedAt) % period;
    if (into > BATCH_ON_MS) await delay(period - into);
  };
}

/** Bounded callers that go on until told to stop. */
async function keep(
  signal: AbortSignal,
  callers: number,
  once: () => Promise<void>,
): Promise<void> {
  const one = async (): Promise<void> => {
    while (!signal.aborted) await once();
  };
  await Promise.all(Array.from({ length: callers }, one));
}
