/** `pilotlight explain SERVICE`: why it has as many pods as it has, and why which cell serves it. */
import { PlatformError } from "../../common/errors.ts";
import { decisionInWords } from "../../local/decision-words.ts";
import type { DecisionRecord } from "../../local/decision-words.ts";
import type { RevisionKnowledge } from "../../common/hexgen/knowledge.ts";
import { learntInWords } from "../../local/learnt-words.ts";
import { PLACE_OPTIONS } from "../cluster/cluster-option.ts";
import { EXIT } from "../command.ts";
import type { Command, CommandContext } from "../command.ts";
import { choicesInWords } from "../cells/read-cells.ts";
import type { PlatformView } from "../platform-view.ts";
import { withPlatform } from "../platform-view.ts";
import { findService } from "../run-client.ts";

const DEFAULT_LIMIT = 10;

export const explain: Command = {
  name: "explain",
  summary: "say why a service has as many pods as it has, and where it is served",
  usage: "SERVICE [--limit N] [--cluster | --run-folder FOLDER]",
  mostArguments: 1,
  options: {
    limit: { type: "string", value: "N", help: "decisions per revision (default 10, 0 = all)" },
    ...PLACE_OPTIONS,
  },
  details:
    "Prints the last decisions of each revision, newest last: what was measured, the parts of the\n" +
    "formula, and what limited the result. Decisions are kept for an hour; a stretch in which\n" +
    "nothing changes is one entry, shown as it began. Where calls are ranked, also how fast each\n" +
    "kind of card was found to be, and which alpha holds since when. Where there are several cells,\n" +
    "also which of them requests were sent to lately, and why not to the others.",
  examples: ["pilotlight explain ocr", "pilotlight explain ocr --limit 3 --json"],
  run: async (context) => {
    const [name] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service.");
    const limit = limitOf(context);
    const { revisions, cells } = await withPlatform(context, async (view) => {
      const service = findService({ services: await view.services() }, name);
      const read = service.revisions.map(async ({ key }) => {
        const { decisions, learnt } = await view.records(key);
        const shown = limit === 0 ? decisions : decisions.slice(-limit);
        return { key, decisions: shown, ...(learnt === undefined ? {} : { learnt }) };
      });
      const key = `${service.namespace}/${service.name}`;
      return { revisions: await Promise.all(read), cells: await cellsPage(view, key, limit) };
    });
    const asJson = context.options.flag("json");
    const pages = [...revisions.map(page), ...cells];
    context.out.print(asJson ? JSON.stringify(revisions, null, 2) : pages.join("\n\n"));
    return EXIT.ok;
  },
};

function limitOf({ options }: CommandContext): number {
  const text = options.text("limit") ?? String(DEFAULT_LIMIT);
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new PlatformError("ERR_USAGE", `--limit ${text} is no whole number`);
}

/** Empty where there is one cell, or nobody had to look beyond this one. */
async function cellsPage(
  view: PlatformView,
  service: string,
  limit: number,
): Promise<readonly string[]> {
  const cells = (await view.cells?.()) ?? null;
  const text = cells === null ? "" : choicesInWords(cells, service, limit || Infinity);
  return text === "" ? [] : [`Cells\n${indented(text)}`];
}

function page(revision: {
  readonly key: string;
  readonly decisions: readonly DecisionRecord[];
  readonly learnt?: RevisionKnowledge;
}): string {
  const { key, decisions, learnt } = revision;
  const made = decisions.map((record) => indented(decisionInWords(record)));
  return [
    key,
    ...(made.length === 0 ? ["  No decision in the last hour."] : made),
    ...(learnt === undefined ? [] : [indented(learntInWords(learnt))]),
  ].join("\n");
}

function indented(text: string): string {
  return `  ${text.replaceAll("\n", "\n    ")}`;
}
