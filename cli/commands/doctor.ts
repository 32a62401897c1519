/** `pilotlight doctor`: looks at everything that the platform needs, and says what to do. */
import { PLACE_OPTIONS, wantsCluster } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext } from "../command.ts";
import type { Check, Finding } from "../doctor/check.ts";
import {
  checkLimits,
  checkLoopback,
  checkMachine,
  checkNames,
  checkNode,
} from "../doctor/machine-checks.ts";
import {
  checkCluster,
  checkEngine,
  checkFolder,
  checkPorts,
  checkRunning,
  checkStore,
} from "../doctor/platform-checks.ts";
import { runFolderOf } from "../run-client.ts";
import { formatColumns } from "../table.ts";

const CHECKS: readonly Check[] = [
  () => Promise.resolve(checkMachine()),
  () => Promise.resolve(checkNode()),
  checkStore,
  checkPorts,
  checkLoopback,
  checkNames,
  checkLimits,
  checkFolder,
  checkEngine,
  checkCluster,
  checkRunning,
];

export const doctor: Command = {
  name: "doctor",
  summary: "check the machine and a running platform, and say what to do",
  usage: "[--cluster | --run-folder FOLDER]",
  options: PLACE_OPTIONS,
  details:
    "Looks at the machine, Node, Valkey, ports, the loopback block, names, limits, the run folder,\n" +
    "a container engine and the platform that runs here; with --cluster instead at a cluster: its API\n" +
    "server, Knative, the parts of Pilotlight and your rights. Each line is ok, warn or fail; the exit\n" +
    "code is 1 when one of them is fail. It changes nothing.",
  examples: ["pilotlight doctor", "pilotlight doctor --json", "pilotlight doctor --cluster"],
  run: async (context) => {
    const findings = await findingsOf(context);
    const asJson = context.options.flag("json");
    context.out.print(asJson ? JSON.stringify(findings, null, 2) : doctorPage(findings));
    return findings.some(({ health }) => health === "fail") ? EXIT.failure : EXIT.ok;
  },
};

async function findingsOf(context: CommandContext): Promise<readonly Finding[]> {
  if (wantsCluster(context)) {
    const { checkInCluster } = await import("../cluster/cluster-checks.ts");
    return checkInCluster(context);
  }
  const about = { env: context.env, runFolder: runFolderOf(context) };
  return Promise.all(CHECKS.map((check) => check(about)));
}

export function doctorPage(findings: readonly Finding[]): string {
  const rows = findings.map(({ health, name, text }) => [health.padEnd(4), name, text]);
  const lines = formatColumns(rows).split("\n");
  return findings
    .flatMap(({ cure }, index) => [
      lines[index] ?? "",
      ...(cure === "" ? [] : [`      -> ${cure}`]),
    ])
    .join("\n");
}
