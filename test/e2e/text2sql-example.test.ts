/** The example with workflows as a new user runs it: one command, real processes, a real database. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";

const RUN = fileURLToPath(new URL("../../examples/text2sql/run.ts", import.meta.url));
const LIMIT_MS = 90_000;
const STAGES = ["retrieve", "keywords", "candidate", "tester", "evaluate"];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-text2sql-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it(
  "answers every question, draws each workflow, keeps a page and stops",
  { timeout: LIMIT_MS },
  async () => {
    const child = spawn(process.execPath, [RUN, "--workflows", "4", "--slo", "60"], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [said, complained, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[number | null]>,
    ]);
    expect({ code, complained }).toMatchObject({ code: 0 });
    expect(said).toMatch(/^Dashboard: http:\S+$/m);
    for (const number of [1, 2, 3, 4]) {
      expect(said).toMatch(new RegExp(`^question-${number}  [\\d.]+ s of 60\\.00 s, met; `, "m"));
      expect(said).toMatch(
        new RegExp(`^question-${number}: ".+" .+, \\d+ rows?, \\d+ calls on `, "m"),
      );
    }
    const drawn = said.split("\n").filter((line) => /^ {2}\w+ .*[█▓]/.test(line));
    const stages = drawn.map((line) => line.trim().split(" ")[0]);
    for (const stage of STAGES) expect(stages.filter((name) => name === stage)).toHaveLength(4);
    // The database refuses the drafts of three of the four questions: once, twice, three times.
    expect(stages.filter((name) => name === "revise")).toHaveLength(6);
    const page = await readFile(join(folder, ".pilotlight/text2sql.html"), "utf8");
    expect(page.match(/<h2>question-\d/g)).toHaveLength(4);
  },
);
