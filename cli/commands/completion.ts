/** `pilotlight completion bash|zsh|fish` */
import { PlatformError } from "../../common/errors.ts";
import { EXIT } from "../command.ts";
import type { Command } from "../command.ts";
import { completionScript, SHELLS } from "../completion-scripts.ts";

export function createCompletion(all: () => readonly Command[]): Command {
  return {
    name: "completion",
    summary: "print the script that completes commands, options and services in a shell",
    usage: "bash|zsh|fish",
    mostArguments: 1,
    options: {},
    details:
      "Prints a script for the shell. For good: add the line of the first example to ~/.bashrc, that\n" +
      "of the second to ~/.zshrc after compinit; fish reads the file of the third by itself.",
    examples: [
      "source <(pilotlight completion bash)",
      "source <(pilotlight completion zsh)",
      "pilotlight completion fish > ~/.config/fish/completions/pilotlight.fish",
    ],
    run: ({ positionals: [name], out, options }) => {
      const shell = SHELLS.find((candidate) => candidate === name);
      if (shell === undefined) {
        throw new PlatformError("ERR_USAGE", `Name a shell: ${SHELLS.join(", ")}.`);
      }
      const script = completionScript(shell, all());
      out.print(options.flag("json") ? JSON.stringify({ shell, script }) : script.trimEnd());
      return Promise.resolve(EXIT.ok);
    },
  };
}
