/** Load in an open loop: so many requests a second whatever becomes of them, each with a number. */
import { pause } from "../../../scripts/cluster/waiting.ts";
import { call } from "./client.ts";
import type { Answer, Call } from "./client.ts";

export interface Numbered {
  readonly number: string;
  readonly answer: Answer;
}

export interface LoadOptions {
  readonly target: Call;
  readonly perSecond: number;
  readonly seconds: number;
  /** Runs beside the load and may end before it. */
  readonly beside?: (signal: AbortSignal) => Promise<void>;
}

let round = 0;

/** Sends the load, waits for every answer, and returns them in the order of sending. */
export async function sendLoad(options: LoadOptions): Promise<readonly Numbered[]> {
  const { target, perSecond, seconds, beside } = options;
  round += 1;
  const ended = new AbortController();
  const other = beside?.(ended.signal);
  const pending: Promise<Numbered>[] = [];
  const startedAt = performance.now();
  for (let index = 0; index < perSecond * seconds; index += 1) {
    const dueAt = startedAt + (index * 1000) / perSecond;
    const waitMs = dueAt - performance.now();
    if (waitMs > 0) await pause(waitMs);
    pending.push(numbered(target, `${process.pid}-${round}-${index}`));
  }
  const answers = await Promise.all(pending);
  ended.abort();
  await other;
  return answers;
}

async function numbered(target: Call, number: string): Promise<Numbered> {
  const headers = { ...target.headers, "x-request-number": number };
  return { number, answer: await call({ ...target, headers }) };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.slice(Math.ceil(sorted.length / 2) - 1, Math.floor(sorted.length / 2) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** How often each outcome came, for the note beside a count. */
export function reasons(answers: readonly Numbered[]): string {
  const counts = new Map<string, number>();
  for (const { answer } of answers.filter((one) => one.answer.status !== 200)) {
    const text = answer.status === 0 ? answer.error : `${answer.status} ${answer.body.trim()}`;
    const key = text.replaceAll(/\d+\.\d+\.\d+\.\d+:\d+/g, "ADDRESS").slice(0, 120);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => `${count}x ${text}`).join("; ");
}
