/**
 * Which command stands for a service's image on this machine: the annotation, else the container's
 * own command where its program exists here, else a container engine, else a clear error.
 */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { EngineCheck } from "./container-engine.ts";
import type { ServiceDefinition } from "./service-types.ts";

export const LOCAL_COMMAND_KEY = "pilotlight.dev/local-command";

export type Launch =
  | {
      readonly kind: "process";
      readonly command: string;
      readonly args: readonly string[];
      readonly cwd: string;
      /** As a person would type it, for messages. */
      readonly shown: string;
    }
  | { readonly kind: "container"; readonly engine: string; readonly shown: string };

export type LaunchResult =
  | { readonly kind: "found"; readonly launch: Launch }
  | { readonly kind: "none"; readonly text: string };

export async function findLaunch(
  service: ServiceDefinition,
  findEngine: () => Promise<EngineCheck>,
  searchPath = process.env["PATH"] ?? "",
): Promise<LaunchResult> {
  const { container, annotations } = service.template;
  const localCommand = annotations[LOCAL_COMMAND_KEY]?.trim() ?? "";
  if (localCommand !== "") {
    const args = ["-c", withoutShell(localCommand)];
    const cwd = service.folder;
    return found({ kind: "process", command: "sh", args, cwd, shown: localCommand });
  }
  const own = await ownCommand(service, searchPath);
  if (own.kind === "found") return own;
  const { engine, why } = await findEngine();
  if (engine !== null) {
    return found({ kind: "container", engine, shown: `${engine} run ${container.image}` });
  }
  const text =
    `no command for image ${container.image} on this machine: no annotation ${LOCAL_COMMAND_KEY}, ` +
    `${own.text}, ${why}\n` +
    `set spec.template.metadata.annotations["${LOCAL_COMMAND_KEY}"] to the command that starts the server here`;
  return { kind: "none", text };
}

/** A plain command takes the shell's place, so that signals and exit codes are its own. */
function withoutShell(command: string): string {
  return /^[\w@%+:,./ -]+$/.test(command) && !/^(exec|cd|\.) /.test(command)
    ? `exec ${command}`
    : command;
}

function found(launch: Launch): LaunchResult {
  return { kind: "found", launch };
}

async function ownCommand(service: ServiceDefinition, searchPath: string): Promise<LaunchResult> {
  const { container } = service.template;
  const [program, ...rest] = container.command;
  if (program === undefined) return { kind: "none", text: "the container names no command" };
  const cwd = resolve(service.folder, container.workingDir);
  if (!(await isFolder(cwd))) {
    return { kind: "none", text: `its workingDir ${container.workingDir} does not exist here` };
  }
  const path = await findProgram(program, cwd, searchPath);
  if (path === null) return { kind: "none", text: `its command ${program} does not exist here` };
  const args = [...rest, ...container.args];
  return found({
    kind: "process",
    command: path,
    args,
    cwd,
    shown: [program, ...args].join(" "),
  });
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

/** Where a shell would find the program; `null` when nowhere. */
export async function findProgram(
  program: string,
  cwd: string,
  searchPath = process.env["PATH"] ?? "",
): Promise<string | null> {
  const candidates = program.includes("/")
    ? [isAbsolute(program) ? program : resolve(cwd, program)]
    : searchPath
        .split(delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => join(folder, program));
  for (const candidate of candidates) {
    if (await isExecutable(candidate)) return candidate;
  }
  return null;
}

async function isExecutable(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => null);
  if (info === null || !info.isFile()) return false;
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
