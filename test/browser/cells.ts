/** Three cells on this machine that have sent each other requests, and the page that shows them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCellsPage } from "../../local/activator-figures.ts";
import { startCells } from "../../local/cells.ts";
import type { CellSpec } from "../../local/cells.ts";
import type { Platform } from "../../local/main.ts";
import { callService } from "../support/call-service.ts";
import { eventually } from "../support/eventually.ts";
import type { PageSpec } from "./pages.ts";

const APP = fileURLToPath(new URL("../fixtures/local/events.mjs", import.meta.url));

const SERVICE = `
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: model, annotations: { pilotlight.dev/regions: global } }
spec:
  template:
    metadata:
      annotations:
        autoscaling.knative.dev/initial-scale: "0"
        autoscaling.knative.dev/max-scale: "4"
        pilotlight.dev/local-command: node ${APP}
    spec:
      containerConcurrency: 1
      containers: [{ image: model }]
`;

const CELLS: readonly CellSpec[] = [
  { name: "eu", roundTripMs: 0, prices: { default: 0.0008 } },
  { name: "us", roundTripMs: 80, prices: { default: 0.0006 } },
  { name: "ap", roundTripMs: 200, prices: { default: 0.0007 } },
];
/** At one moment, more than one cell may run pods for. */
const BURST = 8;

export const CELLS_PAGE: PageSpec = {
  name: "cells",
  url: ({ urls }) => `${urls.dashboard}/#/cells`,
  shows: [
    ".cells tbody tr:nth-child(3) .pill.good",
    ".cell-services tbody tr:nth-child(3)",
    ".decisions li",
    ".health li .pill.good",
  ],
};

export interface CellsStage {
  /** The cell at which the requests entered. */
  readonly platform: Platform;
  stop(): Promise<void>;
}

export async function startCellsStage(): Promise<CellsStage> {
  const folder = mkdtempSync(join(tmpdir(), "pilotlight-cells-page-"));
  const runFolder = join(folder, "run");
  const file = join(folder, "model.yaml");
  writeFileSync(file, SERVICE);
  const cells = await startCells({ cells: CELLS, files: [file], port: 0, runFolder });
  const stop = async (): Promise<void> => {
    await cells.stop(0);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const platform = cells.platforms.get("eu");
    if (platform === undefined) throw new Error("cell eu did not start");
    const call = ({ urls }: Platform): Promise<unknown> =>
      callService(urls.ingress, "model.default.localhost", { path: "/?ms=500" });
    // Pods that are free elsewhere draw requests as soon as the cells have heard of each other.
    await eventually(
      async () => {
        await Promise.all([...cells.platforms.values()].map(call));
        await Promise.all(Array.from({ length: BURST }, () => call(platform)));
        const page = await readCellsPage(platform.activators());
        return page?.spills.some(({ outcome }) => outcome === "served") === true;
      },
      { timeoutMs: 60_000, everyMs: 500, what: "a request served by another cell" },
    );
    return { platform, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
