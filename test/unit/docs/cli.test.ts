/** docs/reference/cli.md against the commands themselves, in both directions. */
import { describe, expect, it } from "vitest";
import { COMMON_OPTIONS, EXIT } from "../../../cli/command.ts";
import type { OptionHelp } from "../../../cli/command.ts";
import { commandPage } from "../../../cli/help-page.ts";
import { COMMANDS } from "../../../cli/main.ts";
import { readPage, rowsOf, sectionOf } from "./tables.ts";

const page = readPage("cli.md");

const headings = [...page.matchAll(/^## (.*)$/gm)].map((match) => match[1]);

function words(name: string, { short, value }: OptionHelp): string {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`;
  return short === undefined ? long : `-${short}, ${long}`;
}

describe("docs/reference/cli.md", () => {
  it("has a section for exactly the commands", () => {
    expect(headings).toEqual(["In a cluster", "Exit codes", ...COMMANDS.map(({ name }) => name)]);
  });

  it("lists exactly the exit codes", () => {
    const rows = [...sectionOf(page, "Exit codes").matchAll(/^\| (\d+) \| `(\w+)` \|/gm)];
    const documented = rows.map((row) => [row[2], Number(row[1])]);
    expect(documented).toEqual(Object.entries(EXIT));
  });

  describe.each(COMMANDS.map((command) => ({ name: command.name, command })))(
    "$name",
    ({ name, command }) => {
      it("shows the usage", () => {
        const usage = /```\n(.*)\n```/.exec(sectionOf(page, name))?.[1];
        expect(usage).toBe(`pilotlight ${name} ${command.usage}`.trim());
      });

      it("lists exactly the options, with the words of the help page", () => {
        const options = Object.entries({ ...COMMON_OPTIONS, ...command.options });
        const built = options.map(([option, help]) => [words(option, help), help.help]);
        const rows = rowsOf(page, name);
        expect(rows.map(([option, meaning]) => [option, meaning])).toEqual(built);
        const help = commandPage(command);
        for (const [option = "", meaning = ""] of rows) {
          expect(help).toContain(option);
          expect(help).toContain(meaning);
        }
      });
    },
  );
});
