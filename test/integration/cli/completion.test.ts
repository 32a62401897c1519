/** Completion scripts in the shells themselves, where those are installed. */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completionScript, SHELLS } from "../../../cli/completion-scripts.ts";
import type { Shell } from "../../../cli/completion-scripts.ts";
import { COMMANDS } from "../../../cli/main.ts";

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-completion-"));
  for (const shell of SHELLS) {
    await writeFile(join(folder, `script.${shell}`), completionScript(shell, COMMANDS));
  }
  // Without it, zsh asks a new user questions.
  await writeFile(join(folder, ".zshrc"), "");
  // Stands for the command, whose list of services the scripts ask for.
  const listing = "#!/bin/sh\nprintf 'SERVICE  READY\\necho  0/0\\nllm  1/1\\n'\n";
  await writeFile(join(folder, "pilotlight"), listing, { mode: 0o755 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ["-c", "true"]).status === 0;

function run(shell: Shell, text: string): string {
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"] ?? ""}`, HOME: folder };
  const { stdout, stderr, status } = spawnSync(shell, ["-c", text], {
    cwd: folder,
    env,
    encoding: "utf8",
    timeout: 8_000,
  });
  expect(status, stderr).toBe(0);
  return stdout;
}

const ROWS: [line: string, offered: string[], not: string[]][] = [
  ["pilotlight in", ["invoke"], ["up"]],
  ["pilotlight invoke ", ["echo", "llm"], ["script.bash"]],
  ["pilotlight invoke --ti", ["--timings"], ["--header"]],
  ["pilotlight apply script.f", ["script.fish"], ["script.bash"]],
  ["pilotlight delete scr", ["script.bash"], ["echo"]],
  ["pilotlight completion z", ["zsh"], ["bash"]],
  ["pilotlight help des", ["describe"], ["delete"]],
];

describe.skipIf(!isInstalled("bash"))("bash", () => {
  it.each(ROWS)("%j", (line, offered, not) => {
    const words = line.split(" ");
    const set = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}`;
    const got = run(
      "bash",
      `. ./script.bash; ${set}; _pilotlight; printf '%s\\n' "\${COMPREPLY[@]}"`,
    );
    const replies = got.trim().split("\n");
    expect(replies).toEqual(expect.arrayContaining(offered));
    for (const word of not) expect(replies).not.toContain(word);
  });
});

describe.skipIf(!isInstalled("fish"))("fish", () => {
  it.each(ROWS)("%j", (line, offered, not) => {
    const got = run("fish", `source ./script.fish; complete --do-complete '${line}'`);
    const replies = got.split("\n").map((reply) => reply.split("\t")[0]);
    expect(replies).toEqual(expect.arrayContaining(offered));
    for (const word of not) expect(replies).not.toContain(word);
  });
});

describe.skipIf(!isInstalled("zsh"))("zsh", () => {
  it("completes words that are typed into a terminal", () => {
    // A shell inside the shell, on a terminal of its own; each read waits for what it looks for.
    const typing = [
      "zmodload zsh/zpty",
      "zpty inner zsh -i",
      `zpty -w inner "PS1='> '; autoload -Uz compinit && compinit -u -D; source ./script.zsh; echo rea''dy"`,
      "zpty -r -m inner seen '*ready*> *'",
      String.raw`zpty -n -w inner $'pilotlight inv\t--tim\t-d x\n'`,
      "zpty -r -m inner seen '*-d x*'",
      'print -r -- "$seen"',
      "zpty -d inner",
    ].join("\n");
    const shown = stripVTControlCharacters(run("zsh", typing)).replaceAll("\b", "");
    expect(shown).toMatch(/pilotlight invoke +--timings +-d x/);
  });
});

it("names every command and every option in every shell", () => {
  for (const shell of SHELLS) {
    const script = completionScript(shell, COMMANDS);
    for (const { name, options } of COMMANDS) {
      expect(script, `${shell} ${name}`).toContain(name);
      for (const option of Object.keys(options)) expect(script).toContain(option);
    }
  }
});
