/** The run folder that the activators of a run share: secret, routes, records of pods. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PodRecord, RouteTable } from "../../../common/contracts/local-run.ts";
import { HOST, NAMESPACE, REVISION_NAME, SECRET, SERVICE } from "./settings.ts";

const ROUTES: RouteTable = {
  generation: 1,
  routes: [
    {
      host: HOST,
      namespace: NAMESPACE,
      service: SERVICE,
      targets: [{ revision: REVISION_NAME, percent: 100 }],
    },
  ],
};

export interface RunFolder {
  readonly path: string;
  writePod(pod: Pick<PodRecord, "uid" | "revision" | "address">): void;
  remove(): void;
}

export function makeRunFolder(): RunFolder {
  const path = mkdtempSync(join(tmpdir(), "pilotlight-faults-"));
  mkdirSync(join(path, "pods"));
  writeFileSync(join(path, "secret"), SECRET);
  writeFileSync(join(path, "routes.json"), JSON.stringify(ROUTES));
  return {
    path,
    writePod: (pod) => {
      const record: PodRecord = {
        ...pod,
        name: `pod-${pod.uid}`,
        namespace: NAMESPACE,
        service: pod.revision.replace(/-\d+$/, ""),
        configuration: pod.revision.replace(/-\d+$/, ""),
        card: "default",
        decidedAt: Date.now(),
        spawnedAt: Date.now(),
      };
      writeFileSync(join(path, "pods", `${pod.uid}.json`), JSON.stringify(record));
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}
