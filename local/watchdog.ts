/**
 * The platform's end of the watchdog: its pipe closes when this process ends, even by SIGKILL, and
 * then every child dies.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface Watchdog {
  readonly pid: number;
  watch(groupId: number): void;
  forget(groupId: number): void;
  /** A container of an engine, by its name. */
  watchContainer(engine: string, name: string): void;
  forgetContainer(engine: string, name: string): void;
  /** Ends it after an orderly stop; it kills what is still listed. */
  stop(): Promise<void>;
}

export async function startWatchdog(runFolder: string): Promise<Watchdog> {
  const script = fileURLToPath(new URL("./watchdog-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script, runFolder, String(process.pid)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    // Only to find a container engine at the end.
    env: { PATH: process.env["PATH"] ?? "" },
  });
  await once(child, "spawn");
  const exited = once(child, "exit");
  child.stdin.on("error", () => undefined);
  // The pipe alone must not keep the platform running.
  child.unref();
  (child.stdin as unknown as { unref?(): void }).unref?.();
  return {
    pid: child.pid ?? 0,
    watch: (groupId) => void child.stdin.write(`+${groupId}\n`),
    forget: (groupId) => void child.stdin.write(`-${groupId}\n`),
    watchContainer: (engine, name) => void child.stdin.write(`+${engine} ${name}\n`),
    forgetContainer: (engine, name) => void child.stdin.write(`-${engine} ${name}\n`),
    stop: async () => {
      child.ref();
      child.stdin.end();
      await exited;
    },
  };
}
