/** `pilotlight top`: what every service does at this moment, live in a terminal. */
import type { RevisionSnapshot, ServiceSnapshot, Snapshot } from "../../local/platform-types.ts";
import { PLACE_OPTIONS } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { isTerminal, showLive } from "../live-screen.ts";
import { withPlatform } from "../platform-view.ts";
import type { PlatformView } from "../platform-view.ts";
import { formatColumns, formatDuration } from "../table.ts";

const EVERY_MS = 1_000;
const HEAD = ["SERVICE", "TRAFFIC", "READY", "WANTED", "RUNNING", "WAITING", "OLDEST", "REQ/S"];

export const top: Command = {
  name: "top",
  summary: "show pods, running and waiting requests of every service, live",
  usage: "[--once] [--cluster | --run-folder FOLDER]",
  options: {
    once: { type: "boolean", help: "print one look and stop, as without a terminal" },
    ...PLACE_OPTIONS,
  },
  details:
    "Looks once per second: pods ready and wanted, requests that run and wait, how long the eldest\n" +
    "waits, requests per second. q or Ctrl-C ends it.",
  examples: ["pilotlight top", "pilotlight top --once", "pilotlight top --json"],
  run: (context) => withPlatform(context, (view) => show(context, view)),
};

async function show(context: CommandContext, view: PlatformView): Promise<ExitCode> {
  const { out, options } = context;
  if (options.flag("json")) {
    out.print(JSON.stringify((await view.snapshot()).services.map(figuresOf), null, 2));
  } else if (options.flag("once") || !isTerminal()) {
    out.print(topPage(await view.snapshot()));
  } else {
    const page = async (): Promise<string> => topPage(await view.snapshot());
    await showLive(context, { page, everyMs: EVERY_MS });
  }
  return EXIT.ok;
}

export function topPage({ at, services, store, activators }: Snapshot): string {
  const live = activators.filter(({ state }) => state === "ready").length;
  const problem = store.state === "ready" ? "" : ` (${store.reason})`;
  const head = [
    `pilotlight ${new Date(at).toISOString().slice(11, 19)} UTC`,
    `${services.length} services`,
    `store ${store.state}${problem}`,
    `${live} of ${activators.length} activators ready`,
  ].join("   ");
  const rows = services.flatMap(rowsOf);
  return [head, "", formatColumns([HEAD, ...rows])].join("\n");
}

/** One row per service; more where traffic or pods are on several revisions. */
function rowsOf(service: ServiceSnapshot): readonly (readonly string[])[] {
  const name =
    service.namespace === "default" ? service.name : `${service.namespace}/${service.name}`;
  const busy = service.revisions.filter(
    ({ percent, targetCount, load }) =>
      percent > 0 || targetCount > 0 || (load?.running ?? 0) + (load?.waiting ?? 0) > 0,
  );
  const [only, second] = busy;
  if (second === undefined) return [[name, ...cellsOf(only)]];
  return [[name, ""], ...busy.map((revision) => [`  ${revision.name}`, ...cellsOf(revision)])];
}

function cellsOf(revision: RevisionSnapshot | undefined): readonly string[] {
  if (revision === undefined) return ["0 %", "0", "0", "0", "0", "-", "0.0"];
  const { percent, desiredScale, load } = revision;
  const share = `${percent} %`;
  const wanted = String(Math.max(0, desiredScale));
  if (load === null) return [share, "?", wanted, "?", "?", "?", "?"];
  const oldest = load.waiting === 0 ? "-" : formatDuration(load.oldestWaitMs);
  const { ready } = load.targetsByState;
  const counts = [load.running, load.waiting].map(String);
  return [share, String(ready), wanted, ...counts, oldest, load.arrivalRate.toFixed(1)];
}

/** For `--json`. */
function figuresOf({ namespace, name, state, revisions }: ServiceSnapshot): unknown {
  return {
    key: `${namespace}/${name}`,
    state,
    revisions: revisions.map(({ percent, desiredScale, load, ...revision }) => ({
      name: revision.name,
      percent,
      wantedPods: Math.max(0, desiredScale),
      // Nothing where the store could not be read.
      load: load === null ? null : loadFigures(load),
    })),
  };
}

function loadFigures(load: NonNullable<RevisionSnapshot["load"]>): unknown {
  const { running, waiting, oldestWaitMs, arrivalRate, targetsByState } = load;
  const readyPods = targetsByState.ready;
  return { readyPods, running, waiting, oldestWaitMs, requestsPerSecond: arrivalRate };
}
