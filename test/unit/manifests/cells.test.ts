/** The overlay of one of several cells, against the code that reads what it mounts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readCellConfig } from "../../../activator/cell-config.ts";
import { readAutoscalerConfig } from "../../../autoscaler/config.ts";
import { readCellEntry } from "../../../cells/core/cell-entry.ts";
import { CERTIFICATE_FILES } from "../../../common/contracts/cells.ts";
import { find, MANIFESTS, objectsIn } from "../../support/manifest-files.ts";

const FOLDER = "overlays/cells";
const objects = objectsIn(FOLDER);
const patch = readFileSync(join(MANIFESTS, FOLDER, "kustomization.yaml"), "utf8");
const scaler = readFileSync(join(MANIFESTS, FOLDER, "autoscaler.yaml"), "utf8");
const guide = readFileSync(join(MANIFESTS, "../docs/guides/cells.md"), "utf8");
const { name: own = "" } = find(objects, "ConfigMap", "pilotlight-cell-name").data ?? {};
const cells = Object.entries(find(objects, "ConfigMap", "pilotlight-cells").data ?? {});
const config = readCellConfig({ PILOTLIGHT_CELL: own });

it("names cells that are read as they stand, its own among them", () => {
  const read = cells.map(([name, text]) => readCellEntry(name, text));
  expect(read.filter(({ kind }) => kind === "faulty")).toEqual([]);
  expect(cells.map(([name]) => name)).toContain(own);
  expect(cells.length).toBeGreaterThan(1);
});

it("mounts cells and certificates where activators and autoscalers look for them", () => {
  const { cellsFolder, cellCertificates } = readAutoscalerConfig({ PILOTLIGHT_STORE_URL: "x" });
  expect([cellsFolder, cellCertificates]).toEqual([config.cellsFolder, config.cellCertificates]);
  for (const path of [config.cellsFolder, config.cellCertificates]) {
    for (const text of [patch, scaler]) {
      expect(text.replaceAll(/\s+/g, " ")).toContain(`mountPath: ${path}, readOnly: true`);
    }
  }
  expect(patch).toContain("name: PILOTLIGHT_CELL,");
  expect(patch).toContain("path: autoscaler.yaml");
  expect(scaler).toContain("name: PILOTLIGHT_CELL\n");
  for (const file of Object.values(CERTIFICATE_FILES)) expect(guide).toContain(file);
});

it("opens the port for other cells everywhere, and no other", () => {
  const { port } = config.cellListen;
  expect(patch).toContain(`containerPort: ${port} }`);
  expect(find(objects, "Service", "pilotlight-cells").spec?.["ports"]).toEqual([
    { name: "cells", port, targetPort: port },
  ]);
  expect(find(objects, "NetworkPolicy", "pilotlight-cells").spec).toMatchObject({
    policyTypes: ["Ingress"],
    ingress: [{ ports: [{ port }] }],
  });
  for (const [name, text] of cells) {
    const entry = readCellEntry(name, text);
    if (entry.kind === "cell") expect(entry.cell.peer).toMatch(new RegExp(`:${port}$`));
  }
});
