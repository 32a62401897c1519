/** `pilotlight cells [forget NAME]`: the cells as one of them sees them, and a cell declared lost. */
import { createInterface } from "node:readline/promises";
import type { CellsPage } from "../../common/contracts/cells-page.ts";
import { CELLS_PATH } from "../../common/contracts/cells-page.ts";
import { PlatformError } from "../../common/errors.ts";
import { withActivator } from "../cells/open-activator.ts";
import { readCellsAt } from "../cells/read-cells.ts";
import { PLACE_OPTIONS } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext, ExitCode } from "../command.ts";
import { formatColumns, formatDuration } from "../table.ts";

export const cells: Command = {
  name: "cells",
  summary: "show the cells of a platform, or declare one lost",
  usage: "[forget NAME] [--cluster | --run-folder FOLDER]",
  mostArguments: 2,
  options: {
    yes: { type: "boolean", help: "do not ask before a cell is declared lost" },
    ...PLACE_OPTIONS,
  },
  details:
    "Shows every cell as one activator of this one sees it: whether it is heard of, its round trip,\n" +
    "and per service what is warm, starting and waiting there, its share and price; then the latest\n" +
    "choices with their reasons. `forget` frees the shares of a cell that is gone for good. In a\n" +
    "cluster it forwards the port of an activator.",
  examples: ["pilotlight cells", "pilotlight cells --cluster", "pilotlight cells forget us"],
  run: async (context) => {
    const [verb, name] = context.positionals;
    if (verb === undefined) return withActivator(context, (url) => show(context, url));
    if (verb !== "forget" || name === undefined) {
      throw new PlatformError("ERR_USAGE", "Expected nothing, or: forget NAME.");
    }
    return withActivator(context, (url) => forget(context, url, name));
  },
};

async function show({ out, options }: CommandContext, url: string): Promise<ExitCode> {
  const page = await fetchPage(url);
  if (options.flag("json")) {
    out.print(JSON.stringify(page));
    return EXIT.ok;
  }
  const header = [
    "CELL",
    "HEARD",
    "ROUND TRIP",
    "SERVICE",
    "WARM",
    "STARTING",
    "WAITING",
    "PODS/SHARE",
    "PRICE",
  ];
  const rows = page.cells.flatMap(({ name, isHere, isFresh, roundTripMs, services }) => {
    const heard = isHere ? "here" : word(isFresh);
    const trip = roundTripMs === null || isHere ? "-" : formatDuration(roundTripMs);
    if (services.length === 0) return [[name, heard, trip, "-", "-", "-", "-", "-", "-"]];
    return services.map((one) => [
      name,
      heard,
      trip,
      one.service,
      String(one.warm),
      String(one.starting),
      String(one.waiting),
      `${one.pods}/${one.share}`,
      String(one.price),
    ]);
  });
  out.print(formatColumns([header, ...rows]));
  for (const fault of page.faults) out.note(`refused: ${fault}`);
  for (const { at, service, words } of page.choices.slice(-10)) {
    out.print(`${new Date(at).toISOString().slice(11, 19)}  ${service}  ${words}`);
  }
  return EXIT.ok;
}

function word(isFresh: boolean): string {
  return isFresh ? "yes" : "no";
}

async function forget(
  { out, options }: CommandContext,
  url: string,
  name: string,
): Promise<ExitCode> {
  const page = await fetchPage(url);
  const cell = page.cells.find((one) => one.name === name);
  if (cell === undefined) {
    throw new PlatformError("ERR_USAGE", `No cell is named ${name}; see pilotlight cells.`);
  }
  if (cell.isHere) throw new PlatformError("ERR_USAGE", "A cell cannot declare itself lost.");
  out.note(
    `Cell ${name} is ${cell.isFresh ? "HEARD OF RIGHT NOW" : "not heard of"}. Its shares go to the others.\n` +
      "If it still runs, its pods and theirs together may be more than max-scale, and cost more,\n" +
      "until it is heard again.",
  );
  if (!options.flag("yes") && !(await isConfirmed(name))) {
    out.note("Nothing was changed.");
    return EXIT.failure;
  }
  const path = `${CELLS_PATH}/${encodeURIComponent(name)}/forget`;
  const response = await fetch(`${url}${path}`, { method: "POST" });
  if (!response.ok) {
    throw new PlatformError("ERR_INTERNAL", `The activator answered ${response.status}.`);
  }
  const { pods } = (await response.json()) as { pods: number };
  out.print(
    `Cell ${name} is declared lost; ${pods} pods of its shares are free in this cell's books.`,
  );
  return EXIT.ok;
}

async function isConfirmed(name: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await prompt.question(`Type ${name} to go on: `)).trim() === name;
  } finally {
    prompt.close();
  }
}

async function fetchPage(url: string): Promise<CellsPage> {
  const page = await readCellsAt(url);
  if (page !== null) return page;
  throw new PlatformError("ERR_USAGE", "This platform has one cell only; see up --cells.");
}
