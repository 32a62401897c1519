/** The images of everything that is not ours: Knative's programs, the cluster's DNS, the pod's holder. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { binFolder } from "../build/go-modules.ts";
import { GO_TOOLS } from "../build/pins.ts";
import type { GoTool } from "../build/pins.ts";
import { NODES } from "../layout.ts";
import { PAUSE_IMAGE, socketOf } from "../node.ts";
import { run } from "../run.ts";
import { writeProgramArchive } from "./programs.ts";
import type { ProgramImage } from "./programs.ts";

export const DNS_IMAGE = "dev.local/coredns:rig";
export const WORKLOAD_IMAGE = "dev.local/workload:rig";
const SERVING = ["activator", "autoscaler", "autoscaler-hpa", "controller", "queue", "webhook"];

/** Where Knative's own program of that name stands in the rig. */
export const stockImage = (program: string): string => `dev.local/knative-${program}:stock`;

interface Group {
  readonly tool: GoTool;
  readonly images: readonly Omit<ProgramImage, "program">[];
  readonly programs: readonly string[];
}

const groups: readonly Group[] = [
  {
    tool: GO_TOOLS.support,
    programs: ["pause", "workload"],
    images: [{ name: PAUSE_IMAGE }, { name: WORKLOAD_IMAGE }],
  },
  {
    tool: GO_TOOLS.coredns,
    programs: ["coredns"],
    images: [{ name: DNS_IMAGE, args: ["-conf", "/etc/coredns/Corefile"] }],
  },
  {
    tool: GO_TOOLS.serving,
    programs: SERVING,
    images: SERVING.map((name) => ({ name: stockImage(name) })),
  },
];

/** Makes the archives that are not there yet and returns their paths. */
export async function ensureStockArchives(): Promise<readonly string[]> {
  return Promise.all(
    groups.map(async ({ tool, images, programs }) => {
      const bin = binFolder(tool);
      const file = join(bin, "../images.tar");
      const all = images.map((image, index) => ({
        ...image,
        program: join(bin, programs[index] ?? ""),
      }));
      if (!existsSync(file)) await writeProgramArchive(all, file);
      return file;
    }),
  );
}

/** Brings an archive of images into every node. */
export async function importArchive(
  file: string,
  names = NODES.map(({ name }) => name),
): Promise<void> {
  await Promise.all(
    names.map((name) =>
      run("ctr", ["-a", socketOf(name), "-n", "k8s.io", "images", "import", file]),
    ),
  );
}
