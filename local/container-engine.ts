/**
 * A container engine, for services whose image cannot be stood for by a program of this machine.
 * Found means that it answers, not that a binary of the name exists.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { ContainerSpec } from "./service-types.ts";

const ENGINES = ["docker", "podman"] as const;
const CHECK_TIMEOUT_MS = 4_000;
const run = promisify(execFile);

export interface EngineCheck {
  /** `null` when none works. */
  readonly engine: string | null;
  /** Why not, engine by engine; empty when one works. */
  readonly why: string;
}

/** Asks each engine for the version of its server; the first that answers is taken. */
export async function findContainerEngine(): Promise<EngineCheck> {
  const faults: string[] = [];
  for (const engine of ENGINES) {
    try {
      await run(engine, ["version", "--format", "{{.Server.Version}}"], {
        timeout: CHECK_TIMEOUT_MS,
      });
      return { engine, why: "" };
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
      faults.push(`${engine} ${missing ? "is not installed" : "does not answer"}`);
    }
  }
  return { engine: null, why: faults.join(", ") };
}

export interface ContainerRun {
  readonly engine: string;
  /** Name of the container; later lives of a pod's container use it again. */
  readonly name: string;
  readonly container: ContainerSpec;
  readonly env: Readonly<Record<string, string>>;
}

/** Arguments for the engine. Host network, since the sidecar dials the user port on loopback. */
export function containerArguments(options: ContainerRun): readonly string[] {
  const { name, container, env } = options;
  const [entrypoint, ...rest] = container.command;
  return [
    "run",
    "--rm",
    "--init",
    "--name",
    name,
    "--network",
    "host",
    ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
    ...(container.wantsGpu ? ["--gpus", "all"] : []),
    ...(container.workingDir === "" ? [] : ["--workdir", container.workingDir]),
    ...(entrypoint === undefined ? [] : ["--entrypoint", entrypoint]),
    container.image,
    ...rest,
    ...container.args,
  ];
}

/** Removes a container for good, before its name is used again; its client may be dead already. */
export async function removeContainer(engine: string, name: string): Promise<void> {
  await run(engine, ["rm", "--force", name], { timeout: 30_000 }).catch(() => undefined);
}
