/**
 * Completion scripts, made from what each command says of itself: names of commands, options, the
 * services of the running platform where a command takes one, and files elsewhere.
 */
import { COMMON_OPTIONS } from "./command.ts";
import type { Command, OptionHelp } from "./command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** Names of services, one a line; nothing where no platform runs. */
const SERVICES = "pilotlight ls 2>/dev/null | awk 'NR > 1 { print $1 }'";

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  const scripts: Readonly<Record<Shell, (all: readonly Command[]) => string>> = {
    bash: bashScript,
    zsh: zshScript,
    fish: fishScript,
  };
  return scripts[shell](commands);
}

function optionsOf(command: Command): readonly [string, OptionHelp][] {
  return Object.entries({ ...COMMON_OPTIONS, ...command.options });
}

/** What may stand after a command besides its options. */
function wordsOf(command: Command, commands: readonly Command[]): readonly string[] {
  if (command.name === "completion") return SHELLS;
  return command.name === "help" ? commands.map(({ name }) => name) : [];
}

function takesService(command: Command): boolean {
  return command.usage.includes("SERVICE");
}

function takesFiles(command: Command): boolean {
  return command.usage.includes("FILE");
}

function bashScript(commands: readonly Command[]): string {
  const cases = commands.map((command) => {
    const flags = optionsOf(command).flatMap(([name, { short }]) =>
      short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`],
    );
    const words = [...wordsOf(command, commands)];
    if (takesService(command)) words.push(`$(${SERVICES})`);
    const files = takesFiles(command) ? " files=1" : "";
    return `    ${command.name}) flags="${flags.join(" ")}"${files}; [[ $current == -* ]] || words="${words.join(" ")}" ;;`;
  });
  return `# Completion of pilotlight for bash. Load it with: source <(pilotlight completion bash)
_pilotlight() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local flags="" words="" files=""
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(" ")}" -- "$current"))
    return
  fi
  case "$previous" in
    --run-folder) COMPREPLY=($(compgen -d -- "$current")); return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -n $files ]] && COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _pilotlight pilotlight
`;
}

function zshScript(commands: readonly Command[]): string {
  const names = commands.map(({ name, summary }) => `    ${zshQuoted(`${name}:${summary}`)}`);
  const cases = commands.map((command) => {
    const flags = optionsOf(command).flatMap((entry) => zshOption(entry));
    const words = wordsOf(command, commands);
    const rest: string[] = [];
    if (words.length > 0) rest.push(zshQuoted(`*: :(${words.join(" ")})`));
    else if (takesService(command) && takesFiles(command)) rest.push("'*: :_pilotlight_both'");
    else if (takesService(command)) rest.push("'*: :_pilotlight_services'");
    else if (takesFiles(command)) rest.push("'*: :_files'");
    return `    ${command.name}) _arguments ${[...flags, ...rest].join(" ")} ;;`;
  });
  return `#compdef pilotlight
# Completion of pilotlight for zsh. Load it with: source <(pilotlight completion zsh)
_pilotlight_services() {
  local -a services
  services=(\${(f)"$(${SERVICES})"})
  compadd -a services
}
_pilotlight_both() {
  _pilotlight_services
  _files
}
_pilotlight() {
  local -a commands
  commands=(
${names.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
  esac
}
compdef _pilotlight pilotlight
`;
}

function zshOption([name, { short, help, value }]: readonly [string, OptionHelp]): string[] {
  const text = help.replaceAll(/[[\]:]/g, " ");
  const argument = value === undefined ? "" : `:${value}:${value === "FOLDER" ? "_files -/" : ""}`;
  const names = short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
  return names.map((flag) => zshQuoted(`${flag}[${text}]${argument}`));
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const { name, summary } = command;
    const within = `-n "__fish_seen_subcommand_from ${name}"`;
    const options = optionsOf(command).map(([flag, { short, help, value }]) => {
      const letter = short === undefined ? "" : ` -s ${short}`;
      const needs = value === undefined ? "" : " -r";
      return `complete -c pilotlight ${within} -l ${flag}${letter}${needs} -d ${fishQuoted(help)}`;
    });
    const words = wordsOf(command, commands);
    const list = takesService(command) ? `(${SERVICES})` : words.join(" ");
    const rest = list === "" ? [] : [`complete -c pilotlight ${within} -a ${fishQuoted(list)}`];
    const files = takesFiles(command) ? [`complete -c pilotlight ${within} -F`] : [];
    const first = `complete -c pilotlight -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`;
    return [first, ...options, ...rest, ...files];
  });
  return `# Completion of pilotlight for fish. Load it with: pilotlight completion fish | source
complete -c pilotlight -f
${lines.join("\n")}
`;
}

/** In single quotes fish knows two escapes only. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
