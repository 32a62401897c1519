/** The serving side of a local platform: services, their pods, and the activators in front. */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { PlatformError, errorText } from "../common/errors.ts";
import { systemClock } from "../foundation/clock.ts";
import { Activators } from "./activators.ts";
import { cellVariables } from "./cell-place.ts";
import { findFreePort, isFree } from "./addresses.ts";
import type { AddressBook } from "./addresses.ts";
import type { Base } from "./base.ts";
import { ChildPods } from "./child-pods.ts";
import { ServiceBook } from "./object-files.ts";
import type { ServiceChange } from "./object-files.ts";
import type { ServiceSummary } from "./platform-types.ts";
import { localTracing } from "./pod-environment.ts";
import { TOKEN_REFRESH_MS } from "./pod-identity.ts";
import type { PodEvent, PodSummary } from "./pod-types.ts";
import { RouteFile } from "./route-file.ts";
import { RUN_FILES } from "./run-folder.ts";
import { settingsOf } from "./settings-check.ts";
import { ScalerStatuses, StatusFile } from "./status.ts";
import { summarizeServices } from "./summaries.ts";

export const HOST = "127.0.0.1";
const ACTIVATOR_STOP_MS = 3_000;
const FORGET_EVERY_MS = 2_000;

export interface ServingOptions {
  readonly port: number;
  readonly activatorCount: number;
  /** Of pods; one for all platforms of a process. */
  readonly addresses: AddressBook;
}

export interface Serving {
  readonly base: Base;
  readonly port: number;
  readonly book: ServiceBook;
  readonly pods: ChildPods;
  readonly activators: Activators;
  readonly routes: RouteFile;
  readonly statuses: ScalerStatuses;
  readonly statusFile: StatusFile;
  /** Longest drain at the stop; may be lowered while it runs. */
  readonly grace: { ms: number; stopping: boolean };
  summaries(): readonly ServiceSummary[];
  /** What else wants to know of new or lost activators. */
  readonly onActivators: Set<() => void>;
}

/** Everything is joined before anything starts; `startServing` is the second half. */
export function openServing(base: Base, options: ServingOptions): Serving {
  const { port, addresses } = options;
  const statuses = new ScalerStatuses(() => statusFile.touch());
  const book = new ServiceBook(systemClock, (change) => onService(serving, change));
  const pods = createPods(base, port, {
    book,
    addresses,
    activators: () => activators.records().map(({ push }) => push),
    onEvent: (pod, event) => onPod(serving, pod, event),
  });
  const activators = createActivators(base, options, () => {
    pods.refreshActivators();
    for (const listener of serving.onActivators) listener();
    statusFile.touch();
  });
  const summaries = (): readonly ServiceSummary[] =>
    summarizeServices({ book, pods, ingressPort: port }, statuses);
  const statusFile = new StatusFile(base.folder, () => ({
    at: systemClock.now(),
    services: summaries(),
    activators: activators.records(),
  }));
  const routes = new RouteFile(base.folder, () => book.routeTable());
  const serving: Serving = {
    base,
    port,
    book,
    pods,
    activators,
    routes,
    statuses,
    statusFile,
    grace: { ms: 0, stopping: false },
    summaries,
    onActivators: new Set(),
  };
  return serving;
}

export async function startServing(serving: Serving): Promise<void> {
  const { base, activators, pods, statusFile, routes, grace } = serving;
  await routes.write();
  base.stops.add("status file", () => statusFile.close());
  base.stops.add("activators", () => activators.stop(Math.min(grace.ms, ACTIVATOR_STOP_MS)));
  await Promise.all([activators.start(), pods.warmUp()]);
  base.stops.add("pods", () => pods.stop(grace.ms));
  const tokens = setInterval(() => pods.refreshTokens(), TOKEN_REFRESH_MS);
  const forget = setInterval(() => forgetWhatIsGone(serving), FORGET_EVERY_MS);
  base.stops.add("timers", () => {
    clearInterval(tokens);
    clearInterval(forget);
  });
}

function forgetWhatIsGone({ book, pods, statuses }: Serving): void {
  book.forgetUnreachable((key) => pods.hasPods(key));
  const exists = (key: RevisionKey): boolean => book.get(key) !== undefined;
  statuses.prune(exists);
  pods.prune(exists);
}

/** 0 picks a free one. The sharing of the port hides a second owner, so it is asked for alone first. */
export async function claimPort(wished: number): Promise<number> {
  if (wished === 0) return findFreePort(HOST, 0);
  if (await isFree(HOST, wished)) return wished;
  throw new PlatformError(
    "ERR_PORT_IN_USE",
    `Port ${wished} on ${HOST} is in use. Stop what listens there, or choose another with --port.`,
    { details: { port: wished } },
  );
}

interface PodParts {
  readonly book: ServiceBook;
  readonly addresses: AddressBook;
  readonly activators: () => readonly string[];
  readonly onEvent: (pod: PodSummary, event: PodEvent) => void;
}

function createPods(base: Base, port: number, parts: PodParts): ChildPods {
  const { folder, secret, watchdog, gate, env, compileCache } = base;
  const tracing = localTracing(env);
  return new ChildPods({
    world: {
      clock: systemClock,
      folder,
      secret,
      watchdog,
      gate,
      extras: {
        compileCache,
        gatePort: gate.port,
        path: env["PATH"] ?? "",
        ...(tracing === undefined ? {} : { tracing }),
      },
      host: {
        env,
        ingressUrl: `http://${HOST}:${port}`,
        compileCache: folder.at(RUN_FILES.cache),
      },
      activators: parts.activators,
    },
    addresses: parts.addresses,
    plan: (key) => parts.book.podPlan(key),
    onEvent: parts.onEvent,
  });
}

function createActivators(base: Base, options: ServingOptions, onChange: () => void): Activators {
  const { folder, watchdog, env, compileCache, storePrefix, events, server } = base;
  return new Activators({
    ids: Array.from({ length: options.activatorCount }, (_, index) => `activator-${index + 1}`),
    sharedListen: `${HOST}:${options.port}`,
    storeUrl: server.url,
    storePrefix,
    folder,
    watchdog,
    env,
    compileCache,
    cell: cellVariables(base.cell),
    onChange,
    onWarning: (text) => events.warn(text),
  });
}

function onPod(serving: Serving, pod: PodSummary, event: PodEvent): void {
  serving.base.events.pod(pod, event);
  if (event.kind === "ready") serving.book.markReady(pod.key);
  serving.statusFile.touch();
}

function offersRuns({ book }: Serving, key: RevisionKey): boolean {
  const plan = book.podPlan(key);
  return plan !== undefined && settingsOf({}, plan.template).async === "enabled";
}

/** What was accepted with 202 must outlive the store's server. */
function keepRuns({ server, events }: Base): void {
  server.keepFile().catch((error: unknown) => {
    events.warn(`asynchronous runs do not survive a restart of Valkey: ${errorText(error)}`);
  });
}

function onService(serving: Serving, change: ServiceChange): void {
  const { base, pods, routes, statusFile } = serving;
  base.events.service(change);
  if (change.kind !== "removed") {
    for (const { key } of change.service.revisions) pods.refreshAnnotations(key);
    if (change.service.revisions.some(({ key }) => offersRuns(serving, key))) keepRuns(base);
  }
  routes.write().catch((error: unknown) => base.logger.error("cannot write routes", { error }));
  statusFile.touch();
}
