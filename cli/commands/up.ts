/** `pilotlight up FILE...`: starts the platform and tells what happens until it is stopped. */
import { PlatformError } from "../../common/errors.ts";
import { DEFAULT_PORT, DEFAULT_RUN_FOLDER, DEFAULT_STOP_GRACE_MS } from "../../local/defaults.ts";
import type { Platform, PlatformEvent } from "../../local/main.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext, Output } from "../command.ts";
import { upCells } from "../cells/up-cells.ts";
import { formatColumns, formatDuration } from "../table.ts";

export const up: Command = {
  name: "up",
  summary: "start the platform on this machine with the services of some files",
  usage: "FILE... [--port N] [--run-folder FOLDER] [--cells CELLS]",
  mostArguments: Infinity,
  options: {
    port: { type: "string", value: "N", help: `public port (default ${DEFAULT_PORT}; 0 = any)` },
    "dashboard-port": {
      type: "string",
      value: "N",
      help: "port of the dashboard (default: the one after the public port)",
    },
    cells: {
      type: "string",
      value: "CELLS",
      help: "several cells side by side with the round trips from the first, e.g. eu,us=80ms",
    },
    "run-folder": {
      type: "string",
      value: "FOLDER",
      help: `where it keeps its files (default ${DEFAULT_RUN_FOLDER})`,
    },
  },
  details:
    "Runs every Knative Service of the files (or folders of files): activators, autoscaler, Valkey\n" +
    "and dashboard here, pods as child processes, none of them until a request comes. Changes of\n" +
    "the files are applied at once. Ctrl-C lets running requests end and stops everything.",
  examples: ["pilotlight up examples/echo/service.yaml", "pilotlight up services/ --port 9000"],
  run: async (context) => {
    const { positionals, out } = context;
    if (positionals.length === 0) {
      throw new PlatformError("ERR_USAGE", "Name at least one service file, e.g. service.yaml.");
    }
    if (context.options.text("cells") !== undefined) {
      return upCells(context, portOption(context.options.text("port"), "--port"));
    }
    const startedAt = performance.now();
    const interrupt = interruptible(context);
    // Loaded only here: the other commands start in a fraction of the time without it.
    const { startPlatform } = await import("../../local/main.ts");
    const platform = await startPlatform({
      ...platformOptions(context),
      onEvent: (event) => printEvent(context, event),
    });
    try {
      if (platform.services().length === 0) {
        out.note(
          "No service was found, or all of them are faulty (then see above). A folder stands for the " +
            "YAML files directly in it; where there are none, for those one folder further down. " +
            "Nothing is left running.",
        );
        return EXIT.failure;
      }
      if (!context.options.flag("json")) {
        out.print(summary(platform, performance.now() - startedAt));
      }
      await interrupt.asked;
      out.note(`Stopping; running requests have ${formatDuration(DEFAULT_STOP_GRACE_MS)}.`);
      out.note("Press Ctrl-C again to stop at once.");
    } finally {
      await interrupt.stop(platform);
    }
    out.note("Stopped.");
    return EXIT.ok;
  },
};

function platformOptions({ positionals, options }: CommandContext): {
  files: readonly string[];
  port?: number;
  dashboardPort?: number;
  runFolder?: string;
} {
  const port = portOption(options.text("port"), "--port");
  const dashboardPort = portOption(options.text("dashboard-port"), "--dashboard-port");
  const runFolder = options.text("run-folder");
  return {
    files: positionals,
    ...(port === undefined ? {} : { port }),
    ...(dashboardPort === undefined ? {} : { dashboardPort }),
    ...(runFolder === undefined ? {} : { runFolder }),
  };
}

function portOption(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new PlatformError("ERR_USAGE", `${name} ${text}: expected a port from 0 to 65535.`);
}

interface Interrupt {
  /** The first signal came. */
  readonly asked: Promise<void>;
  stop(platform: Platform): Promise<void>;
}

/** A first signal stops with grace, a second one at once. */
function interruptible(context: CommandContext): Interrupt {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  let signals = 0;
  // While it starts there is nothing to drain, and a start may hang: the watchdog clears it away.
  let hurry = (): void => process.exit(EXIT.failure);
  const off = context.onSignal(() => {
    signals += 1;
    resolve();
    if (signals > 1) hurry();
  });
  return {
    asked,
    stop: async (platform) => {
      hurry = () => void platform.stop(0);
      await platform.stop(signals > 1 ? 0 : DEFAULT_STOP_GRACE_MS);
      off();
    },
  };
}

function summary(platform: Platform, tookMs: number): string {
  const { urls, store, runFolder } = platform;
  const services = platform.services();
  const first = services[0];
  return [
    "",
    `Pilotlight is up after ${formatDuration(tookMs)}.`,
    "",
    formatColumns([
      ...services.map(({ name, url }) => [`  ${name}`, url]),
      ["  dashboard", urls.dashboard],
      ["  store", store],
      ["  run folder", runFolder],
    ]),
    "",
    first === undefined ? "" : `  Try:  curl ${first.url}`,
    `        npx pilotlight invoke ${first?.name ?? "NAME"} --timings`,
    "  Stop: Ctrl-C",
    "",
  ].join("\n");
}

function printEvent({ out, options }: CommandContext, event: PlatformEvent): void {
  if (options.flag("json")) return out.print(JSON.stringify(event));
  const time = new Date(event.at).toISOString().slice(11, 23);
  const subject = event.subject === "" || event.kind === "file" ? "" : `${event.subject}: `;
  const mark = event.level === "info" ? "" : `${event.level}: `;
  const line = `${time}  ${mark}${subject}${event.text.replaceAll("\n", "\n              ")}`;
  return writerFor(out, event)(line);
}

function writerFor(out: Output, event: PlatformEvent): (text: string) => void {
  return event.level === "info" ? (text) => out.print(text) : (text) => out.note(text);
}
