/** The keys about budgets and urgency: objective, stages, order of the queue, binding, alpha. */
import type { QueueOrder } from "../../../common/contracts/routing.ts";
import { parseDuration } from "./duration.ts";
import { parseNumber, splitList } from "./reader.ts";
import type { Found, SettingsReader } from "./reader.ts";
import type { UrgencySettings } from "./types.ts";

const MAX_STAGES = 32;
const DAY_MS = 86_400_000;
/** `llf_wf` is the published name of what we call `urgency`. */
const ORDER_WORDS = ["fifo", "urgency", "llf_wf", "pq", "edf_wf", "wfifo"] as const;
/** Requests that a sidecar may hold per slot under early binding, as stock lets a breaker do. */
const EARLY_QUEUE_PER_SLOT = 10;
const MAX_LOCAL_QUEUE = 10_000;

export function readUrgencySettings(
  reader: SettingsReader,
  containerConcurrency: number,
): UrgencySettings {
  const slo = reader.own("slo");
  const sloMs =
    slo === null ? null : reader.durationMs(slo, { boundsMs: [1, DAY_MS], fallbackMs: 0 }) || null;
  const binding = reader.word(reader.own("binding"), ["late", "early"], "late");
  return {
    sloMs,
    stages: readStages(reader),
    alpha: readAlpha(reader),
    binding,
    queueOrder: readOrder(reader, sloMs === null ? "fifo" : "urgency"),
    starvationLimitMs: reader.durationMs(reader.own("starvation-limit"), {
      boundsMs: [1_000, 3_600_000],
      fallbackMs: 60_000,
    }),
    localQueue: reader.integer(
      reader.own("local-queue"),
      [0, MAX_LOCAL_QUEUE],
      binding === "late"
        ? 0
        : Math.min(MAX_LOCAL_QUEUE, EARLY_QUEUE_PER_SLOT * Math.max(1, containerConcurrency)),
    ),
  };
}

function readOrder(reader: SettingsReader, fallback: QueueOrder): QueueOrder {
  const word = reader.word(reader.own("queue-order"), ORDER_WORDS, fallback);
  return word === "llf_wf" ? "urgency" : word;
}

function readAlpha(reader: SettingsReader): "auto" | number {
  const found = reader.own("alpha");
  if (found === null || found.text === "auto") return "auto";
  const value = parseNumber(found.text);
  if (value !== null && value >= 0 && value <= 1) return value;
  reader.problems.invalid(found.text, found.path, "must be auto or a number from 0 to 1");
  return "auto";
}

function readStages(reader: SettingsReader): UrgencySettings["stages"] {
  const found = reader.own("stages");
  if (found === null) return [];
  const parts = splitList(found.text);
  if (parts.length < 1 || parts.length > MAX_STAGES) {
    reader.problems.outOfBounds(parts.length, [1, MAX_STAGES], found.path);
    return [];
  }
  return parts.flatMap((part) => readStage(reader, found, part));
}

function readStage(
  reader: SettingsReader,
  found: Found,
  part: string,
): { name: string; durationMs: number }[] {
  const [name = "", text] = part.split("=", 2).map((piece) => piece.trim());
  if (name === "" || text === undefined || text === "") {
    reader.problems.add(`stage "${name}" has no duration`, found.path);
    return [];
  }
  const durationMs = parseDuration(text);
  if (durationMs === null || durationMs <= 0) {
    reader.problems.invalid(text, found.path, `stage "${name}" needs a duration above 0s`);
    return [];
  }
  return [{ name, durationMs }];
}
