/** `pilotlight explain SERVICE`: why it has as many pods as it has. */
import { PlatformError } from "../../common/errors.ts";
import { decisionInWords } from "../../local/decision-words.ts";
import type { DecisionRecord } from "../../local/decision-words.ts";
import type { RevisionKnowledge } from "../../common/hexgen/knowledge.ts";
import { learntInWords } from "../../local/learnt-words.ts";
import { openRunReader } from "../../local/run-reader.ts";
import { EXIT, RUN_FOLDER_OPTION } from "../command.ts";
import type { Command, CommandContext } from "../command.ts";
import { findPlatform, findService, readStatus } from "../run-client.ts";

const DEFAULT_LIMIT = 10;

export const explain: Command = {
  name: "explain",
  summary: "say why a service has as many pods as it has",
  usage: "SERVICE [--limit N]",
  mostArguments: 1,
  options: {
    limit: { type: "string", value: "N", help: "decisions per revision (default 10, 0 = all)" },
    ...RUN_FOLDER_OPTION,
  },
  details:
    "Prints the last decisions of each revision, newest last: what was measured, the parts of the\n" +
    "formula, and what limited the result. Decisions are kept for an hour; a stretch in which\n" +
    "nothing changes is one entry, shown as it began. Where calls are ranked, also how fast each\n" +
    "kind of card was found to be, and which alpha holds since when.",
  examples: ["pilotlight explain ocr", "pilotlight explain ocr --limit 3 --json"],
  run: async (context) => {
    const [name] = context.positionals;
    if (name === undefined) throw new PlatformError("ERR_USAGE", "Name a service.");
    const limit = limitOf(context);
    const platform = await findPlatform(context);
    const service = findService(await readStatus(platform), name);
    const reader = await openRunReader(platform.run);
    try {
      const revisions = [];
      for (const { key } of service.revisions) {
        const decisions = await reader.decisions(key);
        const learnt = await reader.knowledge(key);
        revisions.push({
          key,
          decisions: limit === 0 ? decisions : decisions.slice(-limit),
          ...(learnt === undefined ? {} : { learnt }),
        });
      }
      const asJson = context.options.flag("json");
      context.out.print(
        asJson ? JSON.stringify(revisions, null, 2) : revisions.map(page).join("\n\n"),
      );
      return EXIT.ok;
    } finally {
      await reader.close();
    }
  },
};

function limitOf({ options }: CommandContext): number {
  const text = options.text("limit") ?? String(DEFAULT_LIMIT);
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new PlatformError("ERR_USAGE", `--limit ${text} is no whole number`);
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
