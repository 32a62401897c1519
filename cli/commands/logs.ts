/** `pilotlight logs SERVICE|POD`: what containers wrote, also of pods that are gone. */
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PlatformError } from "../../common/errors.ts";
import { RUN_FILES } from "../../local/run-folder.ts";
import { PLACE_OPTIONS, wantsCluster } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext, Output } from "../command.ts";
import { findPlatform, NotFoundError, readStatus } from "../run-client.ts";
import type { RunningPlatform } from "../run-client.ts";

const FOLLOW_EVERY_MS = 150;

export const logs: Command = {
  name: "logs",
  summary: "print what the pods of a service wrote",
  usage: "SERVICE|POD [-f] [--sidecar] [--cluster | --run-folder FOLDER]",
  mostArguments: 1,
  options: {
    follow: { type: "boolean", short: "f", help: "go on with what is written from now on" },
    sidecar: { type: "boolean", help: "the queue-proxy's log instead of the container's" },
    ...PLACE_OPTIONS,
  },
  details:
    "Prints the logs of one pod, or of all pods of a service with the name of the pod before each\n" +
    "line. On this machine pods that are gone are included, and parts of the platform have logs too:\n" +
    "platform, valkey, activator-1, activator-2.",
  examples: ["pilotlight logs echo", "pilotlight logs echo -f", "pilotlight logs echo-00001-3fa2c"],
  run: async (context) => {
    const [name] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service or a pod.");
    if (wantsCluster(context)) {
      const { clusterLogs } = await import("../cluster/cluster-logs.ts");
      return clusterLogs(context, name);
    }
    const platform = await findPlatform(context);
    const source = await logSource(context, platform, name);
    const printer = new LogPrinter(context, source);
    await printer.round();
    if (!context.options.flag("follow")) return EXIT.ok;
    let stopped = false;
    const off = context.onSignal(() => (stopped = true));
    while (!stopped && (await isThere(source.folder))) {
      await sleep(FOLLOW_EVERY_MS);
      await printer.round();
    }
    off();
    return EXIT.ok;
  },
};

interface LogSource {
  readonly folder: string;
  /** Names of log files, group 1 is the pod. */
  readonly pattern: RegExp;
  readonly single: boolean;
}

async function logSource(
  context: CommandContext,
  platform: RunningPlatform,
  name: string,
): Promise<LogSource> {
  const folder = join(platform.folder, RUN_FILES.logs);
  const suffix = context.options.flag("sidecar") ? "sidecar" : "user";
  const names = await readdir(folder).catch((): string[] => []);
  if (names.includes(`${name}.${suffix}.log`)) {
    return {
      folder,
      single: true,
      pattern: new RegExp(`^(${escaped(name)})\\.${suffix}\\.log$`),
    };
  }
  if (names.includes(`${name}.log`)) {
    return { folder, single: true, pattern: new RegExp(`^(${escaped(name)})\\.log$`) };
  }
  const { services } = await readStatus(platform);
  const service = services.find((candidate) => [candidate.name, candidate.key].includes(name));
  if (service === undefined) {
    throw new NotFoundError(
      `There is no service and no pod ${name}. \`pilotlight ls\` lists services.`,
    );
  }
  // A file may give revisions names of its own; older ones may be forgotten, their logs not yet.
  const own = service.revisions.map((revision) => escaped(revision.name));
  const pod = `(?:${[`${escaped(service.name)}-\\d{5,}`, ...own].join("|")})-[0-9a-f]{5}`;
  return { folder, single: false, pattern: new RegExp(`^(${pod})\\.${suffix}\\.log$`) };
}

/** Names may come with dots and brackets from the terminal. */
function escaped(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9-]/g, (character) => `\\${character}`);
}

/** Prints what is new in the matching files, whole lines only where several pods share the page. */
class LogPrinter {
  readonly #out: Output;
  readonly #source: LogSource;
  readonly #json: boolean;
  readonly #read = new Map<string, { offset: number; rest: string }>();

  constructor(context: CommandContext, source: LogSource) {
    this.#out = context.out;
    this.#source = source;
    this.#json = context.options.flag("json");
  }

  async round(): Promise<void> {
    const { folder, pattern } = this.#source;
    const names = await readdir(folder).catch((): string[] => []);
    for (const name of names.toSorted()) {
      const pod = pattern.exec(name)?.[1];
      if (pod !== undefined) await this.#more(join(folder, name), pod);
    }
  }

  async #more(path: string, pod: string): Promise<void> {
    const state = this.#read.get(path) ?? { offset: 0, rest: "" };
    this.#read.set(path, state);
    const text = await readFrom(path, state);
    const lines = (state.rest + text).split("\n");
    state.rest = lines.pop() ?? "";
    for (const line of lines) this.#print(pod, line);
  }

  #print(pod: string, line: string): void {
    if (this.#json) this.#out.print(JSON.stringify({ pod, line }));
    else this.#out.print(this.#source.single ? line : `${pod}  ${line}`);
  }
}

async function readFrom(path: string, state: { offset: number }): Promise<string> {
  const size = (await stat(path).catch(() => null))?.size ?? 0;
  // A log that reached its limit began anew.
  if (size < state.offset) state.offset = 0;
  if (size === state.offset) return "";
  const file = await open(path, "r");
  try {
    const chunk = Buffer.alloc(size - state.offset);
    const { bytesRead } = await file.read(chunk, 0, chunk.length, state.offset);
    state.offset += bytesRead;
    return chunk.subarray(0, bytesRead).toString("utf8");
  } finally {
    await file.close();
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}
