/** `pilotlight runs SERVICE [RUN]`: asynchronous runs of a service, and what one of them answered. */
import { RUNS_PATH } from "../../common/contracts/async-runs.ts";
import type { RunRecord } from "../../common/contracts/async-runs.ts";
import { PlatformError } from "../../common/errors.ts";
import { openRunReader } from "../../local/run-reader.ts";
import type { RunReader } from "../../local/run-reader.ts";
import { PLACE_OPTIONS, wantsCluster } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { withPlatform } from "../platform-view.ts";
import { NotFoundError, findPlatform, findService, readStatus } from "../run-client.ts";
import { formatColumns, formatDuration } from "../table.ts";

const MOST_RUNS = 50;
const HEAD = ["RUN", "STATE", "STATUS", "ACCEPTED", "WAITED", "RAN", "WEBHOOK"];

export const runs: Command = {
  name: "runs",
  summary: "show asynchronous runs of a service and their answers",
  usage: "SERVICE [RUN] [--answer] [--cluster | --run-folder FOLDER]",
  mostArguments: 2,
  options: {
    answer: { type: "boolean", help: "write the answer of the run to standard output" },
    ...PLACE_OPTIONS,
  },
  details:
    "Lists the newest 50 runs of a service, or shows one. State and answer are kept for an hour after\n" +
    "the end. `pilotlight invoke --async` starts a run. Of a cluster it lists the newest 20; a run's\n" +
    "answer is read at the service's own URL there.",
  examples: ["pilotlight runs ocr", "pilotlight runs ocr RUN", "pilotlight runs ocr RUN --answer"],
  run: async (context) => {
    const [name, id] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service.");
    if (id === undefined && context.options.flag("answer")) {
      throw new PlatformError("ERR_USAGE", "Name the run whose answer is wanted.");
    }
    if (wantsCluster(context)) return listOfCluster(context, name, id);
    const platform = await findPlatform(context);
    const { key } = findService(await readStatus(platform), name);
    const reader = await openRunReader(platform.run);
    try {
      if (id === undefined) return list(context, await reader.runs(key, MOST_RUNS));
      const run = await reader.run(key, id);
      if (run === null) throw new NotFoundError(`${name} has no run ${id}, or no longer.`);
      return context.options.flag("answer")
        ? await writeAnswer(context, reader, { key, run })
        : show(context, run);
    } finally {
      await reader.close();
    }
  },
};

/** Only what the dashboard shows: answers may be private, and their service guards them. */
async function listOfCluster(
  context: CommandContext,
  name: string,
  id: string | undefined,
): Promise<ExitCode> {
  const { services } = await withPlatform(context, (view) => view.snapshot());
  const keyed = services.map((one) => ({ ...one, key: `${one.namespace}/${one.name}` as const }));
  const { url, runs: found = [] } = findService({ services: keyed }, name);
  if (id !== undefined) {
    const where = `${url}${RUNS_PATH}${id}`;
    throw new PlatformError(
      "ERR_USAGE",
      `In a cluster a run is read at ${where}, and its answer at ${where}/answer.`,
    );
  }
  return list(context, found);
}

function list({ out, options }: CommandContext, found: readonly ListedRun[]): ExitCode {
  if (options.flag("json")) out.print(JSON.stringify(found, null, 2));
  else if (found.length === 0) {
    out.note("No runs in the last hour. Start one with: pilotlight invoke SERVICE --async");
  } else out.print(runsPage(found, Date.now()));
  return EXIT.ok;
}

function show({ out, options }: CommandContext, run: RunRecord): ExitCode {
  if (options.flag("json")) out.print(JSON.stringify(run, null, 2));
  else {
    const { method, target, webhook } = run.request;
    const rows = [
      ["run", run.id],
      ["call", `${method} ${target}`],
      ["state", run.status === 0 ? run.state : `${run.state} (status ${run.status})`],
      ["accepted", new Date(run.acceptedAt).toISOString()],
      ["waited", waited(run, Date.now())],
      ["ran", ran(run, Date.now())],
      ["attempts", String(run.attempts)],
      ...(webhook === null ? [] : [["webhook", `${webhook.url} (${run.delivery})`]]),
    ];
    out.print(formatColumns(rows));
  }
  return EXIT.ok;
}

async function writeAnswer(
  { out }: CommandContext,
  reader: RunReader,
  { key, run }: { readonly key: RunRecord["request"]["revision"]; readonly run: RunRecord },
): Promise<ExitCode> {
  if (run.answer === null) throw new NotFoundError(`Run ${run.id} has no answer: ${run.state}.`);
  if (run.answer.omitted) throw new NotFoundError(`The answer of ${run.id} was too large to keep.`);
  out.write(await reader.answer(key, run.id));
  return EXIT.ok;
}

type ListedRun = Pick<
  RunRecord,
  "id" | "state" | "status" | "acceptedAt" | "startedAt" | "endedAt" | "delivery"
>;

export function runsPage(found: readonly ListedRun[], now: number): string {
  const rows = found.map((run) => [
    run.id,
    run.state,
    run.status === 0 ? "-" : String(run.status),
    `${formatDuration(Math.max(0, now - run.acceptedAt))} ago`,
    waited(run, now),
    ran(run, now),
    run.delivery === "none" ? "-" : run.delivery,
  ]);
  return formatColumns([HEAD, ...rows]);
}

/** Until a pod had it. */
function waited({ acceptedAt, startedAt, endedAt }: ListedRun, now: number): string {
  const until = startedAt || endedAt || now;
  return formatDuration(Math.max(0, until - acceptedAt));
}

function ran({ startedAt, endedAt }: ListedRun, now: number): string {
  return startedAt === 0 ? "-" : formatDuration(Math.max(0, (endedAt || now) - startedAt));
}
