/** The page of `pilotlight describe`, from what status and dashboard say of one service. */
import type { RevisionSnapshot } from "../local/platform-types.ts";
import { podsText, serviceState } from "./commands/ls.ts";
import type { SeenRevision, SeenService } from "./platform-view.ts";
import { formatColumns, formatDuration } from "./table.ts";

export type DescribedRevision = SeenRevision &
  Pick<RevisionSnapshot, "load" | "targets" | "decisions" | "coldStarts" | "activatorsWanted">;

export type DescribedService = Omit<SeenService, "revisions"> & {
  readonly revisions: readonly DescribedRevision[];
  /** Activators that are up. */
  readonly activators: number;
};

const SHOWN_DECISIONS = 5;

export function describePage(service: DescribedService, now: number): string {
  const shown = service.revisions.filter(({ active }) => active).toReversed();
  const kept = service.revisions.filter(({ active }) => !active).map(({ name }) => name);
  return [
    formatColumns([
      ["Service:", service.key],
      ["URL:", service.url],
      ["State:", `${serviceState(service)} (${podsText(service)} pods ready)`],
      ...(service.file === undefined ? [] : [["File:", service.file]]),
    ]),
    conditionTable("Conditions", service.conditions),
    trafficTable(service),
    ...shown.map((revision) => revisionPart(revision, service.activators, now)),
    kept.length === 0 ? "" : `Kept for a roll back: ${kept.join(", ")}`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

interface ConditionRow {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function conditionTable(title: string, conditions: readonly ConditionRow[], indent = ""): string {
  if (conditions.length === 0) return "";
  const rows = conditions.map(({ type, status, reason, message }) => [
    `${indent}  ${type}`,
    status,
    [reason, message].filter((text) => text !== "").join(": "),
  ]);
  return `${indent}${title}:\n${formatColumns(rows)}`;
}

function trafficTable({ traffic, rollout, revisions }: DescribedService): string {
  const rows = traffic.map(({ revision, percent, tag }) => {
    const url = revisions.flatMap(({ tags }) => tags).find((one) => one.tag === tag)?.url ?? "";
    return [`  ${percent} %`, revision ?? "latest ready revision", tag, url];
  });
  const moving =
    rollout === null
      ? ""
      : `\n  Moving to ${rollout.to}: ${rollout.percent} % of the latest's share`;
  return `Traffic:\n${formatColumns(rows)}${moving}`;
}

function revisionPart(revision: DescribedRevision, activators: number, now: number): string {
  const { percent, tags, load, problem, activatorsWanted } = revision;
  const serving = Math.min(activatorsWanted ?? activators, activators);
  const tagged = tags.length === 0 ? "" : `, tagged ${tags.map(({ tag }) => tag).join(", ")}`;
  const requests = load === null ? "unknown" : `${load.running} running, ${load.waiting} waiting`;
  const facts = [
    ["  Traffic:", `${percent} %${tagged}`],
    ["  Requests:", requests],
    ["  Pods wanted:", String(Math.max(0, revision.desiredScale))],
    ["  Activators:", `${serving} of ${activators}`],
    ["  Created:", `${formatDuration(now - revision.createdAt)} ago`],
    ["  Runs:", revision.command || "unknown"],
    ...settingRows(revision),
    ...(problem === "" ? [] : [["  Problem:", problem.replaceAll("\n", "\n    ")]]),
  ];
  return [
    `Revision ${revision.name}`,
    formatColumns(facts),
    conditionTable("Conditions", revision.conditions, "  "),
    podTable(revision, now),
    targetTable(revision, now),
    decisionTable(revision, now),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function settingRows({ settings, containerConcurrency }: DescribedRevision): readonly string[][] {
  const { minScale, maxScale, serviceMinScale, buffer, windowMs, cooldownMs } = settings;
  const share = serviceMinScale === null ? "" : `, service ${serviceMinScale}`;
  const spare =
    buffer.kind === "pods" ? String(buffer.pods) : `${Math.round(buffer.ratio * 100)} %`;
  const target =
    settings.metric === "concurrency"
      ? `${Math.round(settings.targetUtilization * 100)} % of the slots`
      : String(settings.target ?? "default");
  return [
    ["  Slots per pod:", containerConcurrency === 0 ? "no limit" : String(containerConcurrency)],
    ["  Scale:", `min ${minScale}${share}, max ${maxScale === 0 ? "no limit" : maxScale}`],
    ["  Target:", `${settings.metric} ${target}, ${spare} spare`],
    ["  Window:", `${formatDuration(windowMs)}, cooldown ${formatDuration(cooldownMs)}`],
    ["  Routing:", `${settings.loadBalancing}, queue ${settings.queueDepth}`],
    [
      "  Limits:",
      `run ${formatDuration(settings.timeoutMs)}, start ${formatDuration(settings.activationTimeoutMs)}`,
    ],
  ];
}

function podTable(revision: DescribedRevision, now: number): string {
  if (revision.pods.length === 0) return "";
  const rows = revision.pods.map((pod) => [
    `  ${pod.name}`,
    pod.phase,
    formatDuration(now - pod.createdAt),
    String(pod.restarts),
    pod.address || "none yet",
  ]);
  return formatColumns([["  POD", "PHASE", "AGE", "RESTARTS", "ADDRESS"], ...rows]);
}

/** The same pods in the eyes of the router. */
function targetTable(revision: DescribedRevision, now: number): string {
  if (revision.targets.length === 0) return "";
  const rows = revision.targets.map((target) => [
    `  ${target.podName}`,
    target.state,
    `${target.inFlight}/${target.capacity === 0 ? "no limit" : target.capacity}`,
    target.card,
    formatDuration(Math.max(0, now - target.changedAt)),
    target.reason,
  ]);
  return formatColumns([["  TARGET", "STATE", "BUSY", "CARD", "SINCE", "REASON"], ...rows]);
}

function decisionTable(revision: DescribedRevision, now: number): string {
  const rows = revision.decisions
    .slice(-SHOWN_DECISIONS)
    .toReversed()
    .map(({ at, from, to, reason }) => [
      `    ${formatDuration(Math.max(0, now - at))} ago`,
      `${from} -> ${to}`,
      reason,
    ]);
  return rows.length === 0 ? "" : `  Last decisions:\n${formatColumns(rows)}`;
}
