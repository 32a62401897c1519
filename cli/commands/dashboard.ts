/** `pilotlight dashboard`: where the dashboard is, and a way to that of a cluster. */
import { PlatformError } from "../../common/errors.ts";
import { PLACE_OPTIONS, wantsCluster } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { findPlatform } from "../run-client.ts";

const USUAL_PORT = 8090;

export const dashboard: Command = {
  name: "dashboard",
  summary: "print the dashboard's address, or open a way to that of a cluster",
  usage: "[--cluster [--port N] | --run-folder FOLDER]",
  options: {
    port: {
      type: "string",
      value: "N",
      help: `port on this machine for a cluster's (default ${USUAL_PORT}; 0 = any)`,
    },
    ...PLACE_OPTIONS,
  },
  details:
    "Prints where the dashboard of the running platform is. That of a cluster listens for nobody but\n" +
    "forwarded ports: with --cluster one is opened, with your rights there, until Ctrl-C.",
  examples: ["pilotlight dashboard", "pilotlight dashboard --context staging"],
  run: async (context) => {
    if (wantsCluster(context)) return forward(context);
    const { run } = await findPlatform(context);
    print(context, run.dashboardUrl);
    return EXIT.ok;
  },
};

async function forward(context: CommandContext): Promise<ExitCode> {
  const port = portOf(context.options.text("port"));
  const { forwardDashboard, openCluster } = await import("../cluster/open-cluster.ts");
  const cluster = await openCluster(context);
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const off = context.onSignal(() => resolve());
  try {
    const forwarded = await forwardDashboard(cluster, port);
    print(context, forwarded.url);
    context.out.note(`The dashboard of ${cluster.context}, until Ctrl-C.`);
    await asked;
    await forwarded.close();
    return EXIT.ok;
  } finally {
    off();
    cluster.client.close();
  }
}

function print({ out, options }: CommandContext, url: string): void {
  out.print(options.flag("json") ? JSON.stringify({ url }) : url);
}

function portOf(text: string | undefined): number {
  if (text === undefined) return USUAL_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new PlatformError("ERR_USAGE", `--port ${text}: expected a port from 0 to 65535.`);
}
