/** What a command is: its words for the help page, its options, and what it does. */
import type { ParseArgsConfig } from "node:util";

/** Listed in docs/reference/cli.md. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  notRunning: 3,
  notFound: 4,
  /** The service answered with a status of 400 or more. */
  errorStatus: 5,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface OptionHelp {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** Placeholder of the value: `N`, `FOLDER`. */
  readonly value?: string;
  readonly help: string;
}

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** After `pilotlight NAME`. */
  readonly usage: string;
  /** How many words it takes beside its options; 0 where it does not say. */
  readonly mostArguments?: number;
  readonly options: Readonly<Record<string, OptionHelp>>;
  /** Paragraph below the usage. */
  readonly details: string;
  readonly examples: readonly string[];
  run(context: CommandContext): Promise<ExitCode>;
}

export interface CommandContext {
  readonly positionals: readonly string[];
  readonly options: ParsedOptions;
  readonly out: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls on SIGINT, SIGTERM and SIGHUP instead of the default end; answers how to undo that. */
  onSignal(listener: (signal: string) => void): () => void;
}

/** Results go to `print`, everything else to `note`. */
export interface Output {
  print(text: string): void;
  note(text: string): void;
  write(chunk: Uint8Array): void;
}

/** Options after parsing, with typed access. */
export class ParsedOptions {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  texts(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
  }
}

/** Every command has these. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionHelp>> = {
  json: { type: "boolean", help: "print JSON instead of text" },
  help: { type: "boolean", short: "h", help: "show this page" },
};

export const RUN_FOLDER_OPTION: Readonly<Record<string, OptionHelp>> = {
  "run-folder": {
    type: "string",
    value: "FOLDER",
    help: "folder of the running platform (default .pilotlight/run)",
  },
};

export function parserOptions(command: Command): NonNullable<ParseArgsConfig["options"]> {
  // A command's own meaning of a common option wins: `demo --json FILE` names a file.
  const all = { ...COMMON_OPTIONS, ...command.options };
  return Object.fromEntries(
    Object.entries(all).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short === undefined ? {} : { short }), multiple: multiple ?? false },
    ]),
  );
}
