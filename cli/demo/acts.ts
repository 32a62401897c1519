/**
 * The acts of the demo: from zero, scale out, streams, back to zero. Each sends real requests,
 * shows what happens while it happens, and counts what came back.
 */
import { makePage } from "../../examples/ocr/make-page.ts";
import type { ColdStartRecord } from "../../common/contracts/channels.ts";
import type { Caller, CallResult } from "./http.ts";
import type { DemoPlatform, PodCounts } from "./platform-view.ts";
import type { Tally } from "./tally.ts";
import { isSuccess } from "./tally.ts";
import type { Terminal } from "./terminal.ts";
import { bar } from "./terminal.ts";
import {
  drawWaterfall,
  formatMs,
  percentile,
  platformShareMs,
  waterfallLegend,
} from "./waterfall.ts";

export interface Stage {
  readonly platform: DemoPlatform;
  readonly terminal: Terminal;
  readonly caller: Caller;
  readonly tally: Tally;
  readonly counts: PodCounts;
  /** Aborted by Ctrl-C; acts stop at once. */
  readonly signal: AbortSignal;
  /** What each answer of `ocr` says of the most pages that its container ever had at once. */
  readonly pagesAtOnce: number[];
  /** When the container that answered a request was ready, as it says itself, by request id. */
  readonly containerReadyAt: Map<string, number>;
}

const COLD_LIMIT_MS = 60_000;
const OCR_PAGES = 24;
const OCR_LINES = 12;
/** More callers than pods may exist, so that requests wait and the autoscaler is asked for more. */
const OCR_CALLERS = 10;
const STREAMS = 6;
const ZERO_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 100;
/** Of a timeline: its bar at most, at least, and what stands beside the bar. */
const TIMELINE = { mostColumns: 52, leastColumns: 12, besideColumns: 24 };

/** One first request to each small service, all at once; then each start as a timeline. */
export async function fromZero(stage: Stage): Promise<void> {
  const { terminal } = stage;
  terminal.heading("1. From zero: one request to each of three services that have no pod");
  const calls = [
    { service: "echo", path: "/hello" },
    { service: "llm", path: "/v1/models" },
    { service: "chat", path: "/" },
  ];
  const startedAt = performance.now();
  const progress = setInterval(
    () => terminal.live(`waiting for first answers ... ${formatMs(performance.now() - startedAt)}`),
    LOOK_EVERY_MS,
  );
  const results = await Promise.all(
    calls.map(({ service, path }) => send(stage, { service, path })),
  ).finally(() => clearInterval(progress));

  if (stage.signal.aborted) return;
  for (const [index, { service, path }] of calls.entries()) {
    const result = results[index];
    if (result === undefined) continue;
    terminal.settle(
      `${mark(stage, result)} GET ${hostOf(stage, service)}${path}: ${words(result)}`,
    );
    await showStart(stage, service);
  }
}

/** Pages for the OCR model, more at once than one pod can read. */
export async function scaleOut(stage: Stage): Promise<void> {
  const { terminal, counts, platform } = stage;
  terminal.heading(
    `2. Scale out: ${OCR_PAGES} pages to read by a real OCR model, one page per pod at a time`,
  );
  terminal.live("drawing the pages ...");
  const pages = Array.from({ length: OCR_PAGES }, (_, index) =>
    makePage({ lines: OCR_LINES, seed: index + 1 }),
  );
  let done = 0;
  let waiting = 0;
  const progress = setInterval(() => {
    void platform.waiting("ocr").then((count) => (waiting = count));
    terminal.live(
      `${bar(done, OCR_PAGES)} ${done}/${OCR_PAGES} pages   ` +
        `pods ${counts.ready("ocr")} ready of ${counts.now("ocr")}   waiting ${waiting}`,
    );
  }, LOOK_EVERY_MS);
  const times: number[] = [];
  let sample = "";
  const next = pages.entries();
  const work = async (): Promise<void> => {
    for (const [index, page] of next) {
      if (stage.signal.aborted) return;
      const result = await send(stage, {
        service: "ocr",
        path: "/read",
        body: page.png,
        contentType: "image/png",
        // Every second request through the other activator: both see every pod.
        activator: index % 2,
      });
      done += 1;
      times.push(result.totalMs);
      const reading = readingOf(result);
      if (reading.most_at_once !== undefined) stage.pagesAtOnce.push(reading.most_at_once);
      if (index === 0) sample = (reading.text ?? "").split("\n")[0] ?? "";
    }
  };
  await Promise.all(Array.from({ length: OCR_CALLERS }, work)).finally(() =>
    clearInterval(progress),
  );
  if (stage.signal.aborted) return;
  showReading(stage, times, sample);
  await showStart(stage, "ocr");
}

function showReading({ terminal, counts }: Stage, times: readonly number[], sample: string): void {
  const pages = `${times.length}/${OCR_PAGES} pages`;
  terminal.settle(`${bar(times.length, OCR_PAGES)} ${pages}, up to ${counts.largest("ocr")} pods`);
  const [median, p95] = [percentile(times, 0.5), percentile(times, 0.95)];
  terminal.line(`  answers after ${formatMs(median)} (median) and ${formatMs(p95)} (p95)`);
  if (sample !== "") terminal.line(`  the first line that it read: ${terminal.paint.cyan(sample)}`);
}

/** Streamed answers through the chat service and through the model's own URL. */
export async function streams(stage: Stage): Promise<void> {
  const { terminal } = stage;
  terminal.heading(`3. Streams: ${STREAMS} chats at once, token by token (simulated card)`);
  let chunks = 0;
  const progress = setInterval(() => terminal.live(`${chunks} pieces received`), LOOK_EVERY_MS);
  const ask = (index: number): Promise<CallResult> =>
    send(stage, {
      service: "llm",
      path: "/v1/chat/completions",
      method: "POST",
      body: JSON.stringify({
        model: "pilotlight-simulated-70b",
        stream: true,
        max_tokens: 60,
        messages: [{ role: "user", content: `Tell me about slot ${index}.` }],
      }),
      contentType: "application/json",
      activator: index % 2,
      onChunk: () => (chunks += 1),
    });
  const results = await Promise.all(
    Array.from({ length: STREAMS }, (_, index) => ask(index)),
  ).finally(() => clearInterval(progress));
  if (stage.signal.aborted) return;
  const first = percentile(
    results.map((result) => result.firstByteMs),
    0.5,
  );
  const whole = percentile(
    results.map((result) => result.totalMs),
    0.5,
  );
  terminal.settle(
    `${results.filter(isSuccess).length} of ${STREAMS} streams complete, ${chunks} pieces`,
  );
  terminal.line(
    `  first byte after ${formatMs(first)}, whole answer after ${formatMs(whole)} (medians)`,
  );
}

/** Nothing is sent any more; every service goes back to zero pods. Returns those that did not. */
export async function backToZero(stage: Stage): Promise<readonly string[]> {
  const { terminal, platform, counts, signal } = stage;
  terminal.heading("4. Back to zero: no more requests, so no more pods");
  const startedAt = performance.now();
  const left = (): string[] =>
    platform.services().flatMap(({ name }) => (counts.existing(name) > 0 ? [name] : []));
  while (left().length > 0 && performance.now() - startedAt < ZERO_LIMIT_MS && !signal.aborted) {
    const parts = platform.services().map(({ name }) => `${name} ${counts.existing(name)}`);
    terminal.live(`pods: ${parts.join("   ")}   ${formatMs(performance.now() - startedAt)}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
  const remaining = left();
  if (signal.aborted) return remaining;
  terminal.settle(
    remaining.length === 0
      ? `${terminal.paint.green("✓")} every service at 0 pods after ${formatMs(performance.now() - startedAt)}`
      : `${terminal.paint.red("✗")} still running: ${remaining.join(", ")}`,
  );
  return remaining;
}

interface Sending {
  readonly service: string;
  readonly path: string;
  readonly method?: string;
  readonly body?: Uint8Array | string;
  readonly contentType?: string;
  /** Which activator's own port to use; absent: the shared one. */
  readonly activator?: number;
  readonly onChunk?: () => void;
}

async function send(stage: Stage, sending: Sending): Promise<CallResult> {
  const { platform, caller, tally, signal } = stage;
  const { service, activator, path, body, contentType, onChunk } = sending;
  const host = hostOf(stage, service);
  const own = activator === undefined ? undefined : platform.activatorUrls[activator];
  const result = await caller.call({
    via: own ?? platform.ingressUrl,
    host,
    path,
    method: sending.method ?? (body === undefined ? "GET" : "POST"),
    limitMs: COLD_LIMIT_MS,
    signal,
    ...(body === undefined ? {} : { body }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(onChunk === undefined ? {} : { onChunk }),
  });
  // A call that Ctrl-C cut has no outcome to count.
  if (signal.aborted && result.status === 0) return result;
  stage.containerReadyAt.set(result.requestId, result.containerReadyAt);
  return tally.add(service, result);
}

function hostOf({ platform }: Stage, service: string): string {
  return platform.services().find(({ name }) => name === service)?.host ?? service;
}

/** The platform's own part of a start, where the container told when it was ready. */
export function shareOf(stage: Stage, record: ColdStartRecord): number | null {
  return platformShareMs(record, stage.containerReadyAt.get(record.requestId) ?? 0);
}

/** The newest cold start of a service, once its record has arrived in the store. */
async function showStart(stage: Stage, service: string): Promise<void> {
  const record = (await stage.platform.coldStarts(service)).at(0);
  if (record === undefined) return;
  const { terminal } = stage;
  const { dim, yellow, cyan } = terminal.paint;
  const { mostColumns, leastColumns, besideColumns } = TIMELINE;
  const room = terminal.columns() - besideColumns;
  const lines = drawWaterfall(record, {
    width: Math.max(leastColumns, Math.min(mostColumns, room)),
    paint: { platform: yellow, container: dim, answer: cyan },
  });
  for (const text of lines) terminal.line(`    ${text}`);
  terminal.line(dim(`    ${waterfallLegend(shareOf(stage, record))}`));
}

function mark(stage: Stage, result: CallResult): string {
  const { green, red } = stage.terminal.paint;
  return isSuccess(result) ? green("✓") : red("✗");
}

function words(result: CallResult): string {
  if (result.status === 0) return `no answer (${result.reason})`;
  return `${result.status} after ${formatMs(result.totalMs)}${result.coldStart ? ", cold start" : ""}`;
}

interface Reading {
  readonly text?: string;
  readonly most_at_once?: number;
}

function readingOf(result: CallResult): Reading {
  try {
    return JSON.parse(result.body.toString("utf8")) as Reading;
  } catch {
    return {};
  }
}
