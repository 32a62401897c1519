/** The tier of tests that need a real API server only: one of their own, beside the cluster's. */
import { join } from "node:path";
import { binFolder } from "../../../scripts/cluster/build/go-modules.ts";
import { GO_TOOLS } from "../../../scripts/cluster/build/pins.ts";
import { ROOT } from "../../../scripts/cluster/layout.ts";
import { attempt } from "../../../scripts/cluster/run.ts";
import { expect } from "./step.ts";
import type { Step } from "./step.ts";

const LIMIT_MS = 15 * 60_000;

export const apiServerSteps: readonly Step[] = [
  {
    name: "the tests on an API server of their own pass",
    async run() {
      const program = join(ROOT, "scripts/run-tests.ts");
      const { code, stdout, stderr } = await attempt(
        process.execPath,
        [program, "--project=cluster-api"],
        {
          cwd: ROOT,
          env: { PILOTLIGHT_KUBE_BIN: binFolder(GO_TOOLS.kubernetes) },
          timeoutMs: LIMIT_MS,
        },
      );
      const said = stdout.trim().split("\n");
      // What failed and why stands in the errors; the end of the output is only the list of what ran.
      expect(code === 0, [...stderr.trim().split("\n").slice(-80), ...said.slice(-4)].join("\n"));
      return said.at(-1) ?? "";
    },
  },
];
