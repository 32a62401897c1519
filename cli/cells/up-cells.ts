/** `pilotlight up --cells ...`: several cells side by side until somebody stops them. */
import { DEFAULT_PORT, DEFAULT_RUN_FOLDER, DEFAULT_STOP_GRACE_MS } from "../../local/defaults.ts";
import type { LocalCells } from "../../local/cells.ts";
import type { CommandContext, ExitCode } from "../command.ts";
import { EXIT } from "../command.ts";
import { formatColumns } from "../table.ts";
import { parseCells } from "./cell-option.ts";

export async function upCells(
  context: CommandContext,
  port: number | undefined,
): Promise<ExitCode> {
  const { positionals, options, out } = context;
  const cells = parseCells(options.text("cells") ?? "");
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const off = context.onSignal(() => resolve());
  // Loaded only here: the other commands start in a fraction of the time without it.
  const { startCells } = await import("../../local/cells.ts");
  const running = await startCells({
    cells,
    files: positionals,
    port: port ?? DEFAULT_PORT,
    runFolder: options.text("run-folder") ?? DEFAULT_RUN_FOLDER,
    onEvent: (cell, event) => {
      const subject = event.subject === "" ? "" : `${event.subject}: `;
      out.print(`${cell.padEnd(6)} ${subject}${event.text}`);
    },
  });
  try {
    out.print(summary(running));
    await asked;
    out.note("Stopping all cells.");
  } finally {
    await running.stop(DEFAULT_STOP_GRACE_MS);
    off();
  }
  return EXIT.ok;
}

function summary({ platforms }: LocalCells): string {
  const rows = [...platforms].flatMap(([cell, platform]) => [
    ...platform.services().map(({ name, url }) => [`  ${cell}`, name, url]),
    [`  ${cell}`, "dashboard", platform.urls.dashboard],
    [`  ${cell}`, "run folder", platform.runFolder],
  ]);
  return [
    "",
    `Pilotlight is up in ${platforms.size} cells.`,
    "",
    formatColumns(rows),
    "",
    "  A service runs in several cells when pilotlight.dev/regions names them, or says global.",
    "  Look: npx pilotlight cells --run-folder RUN_FOLDER_OF_A_CELL",
    "  Stop: Ctrl-C",
    "",
  ].join("\n");
}
