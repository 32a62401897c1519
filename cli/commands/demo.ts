/** `pilotlight demo`: the platform on this machine, from zero and back, in about 90 seconds. */
import { resolve } from "node:path";
import { PlatformError } from "../../common/errors.ts";
import { createTerminal } from "../demo/terminal.ts";
import { EXIT } from "../command.ts";
import type { Command, ExitCode } from "../command.ts";

const DEFAULT_PORT = 0;

export const demo: Command = {
  name: "demo",
  summary: "start the platform with the examples, show the way from zero and back, and stop it",
  usage: "[--cells | --port N] [--json FILE]",
  options: {
    cells: { type: "boolean", help: "three cells under one URL, in place of the examples" },
    port: { type: "string", value: "N", help: "public port (default: any free one)" },
    json: { type: "string", value: "FILE", help: "write the figures as a report to FILE" },
  },
  details:
    "Starts Valkey, two activators, the autoscaler and the dashboard, deploys the example services\n" +
    "from their Knative Service files, sends real requests, shows each cold start as a timeline, the\n" +
    "scale out and the way back to zero, and prints a summary. Leaves nothing behind, also after\n" +
    "Ctrl-C. Exits 0 when every answer was 2xx and every bar was met. With --cells it shows instead\n" +
    "how three cells serve one URL, and lose one of them.",
  examples: ["pilotlight demo", "pilotlight demo --cells", "pilotlight demo --json demo.json"],
  run: async (context) => {
    const abort = new AbortController();
    const off = context.onSignal(() => {
      // A second one: even the end takes too long. The watchdog clears away what is left.
      if (abort.signal.aborted) process.exit(EXIT.failure);
      abort.abort();
    });
    const jsonFile = context.options.text("json");
    try {
      if (context.options.flag("cells")) return await demoCells(abort.signal);
      // Loads the whole platform, which the other commands start without.
      const { runDemo } = await import("../demo/run.ts");
      const code = await runDemo({
        terminal: createTerminal(process.stdout),
        port: portOf(context.options.text("port")),
        signal: abort.signal,
        ...(jsonFile === undefined ? {} : { jsonFile: resolve(jsonFile) }),
      });
      return code === 0 ? EXIT.ok : EXIT.failure;
    } finally {
      off();
    }
  },
};

async function demoCells(signal: AbortSignal): Promise<ExitCode> {
  const { runCellsDemo } = await import("../demo/cells-demo.ts");
  const code = await runCellsDemo(createTerminal(process.stdout), signal);
  return code === 0 ? EXIT.ok : EXIT.failure;
}

function portOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new PlatformError("ERR_USAGE", `--port ${text}: expected a port from 0 to 65535.`);
}
