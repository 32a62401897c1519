/** One activator as the platform runs it: a process of its own that tells where it listens. */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../../activator/main.ts", import.meta.url));

export interface ActivatorOptions {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** Modules that change the process before its own code runs: a wrong clock, a cut network. */
  readonly preload?: readonly string[];
}

export interface ActivatorProcess {
  readonly name: string;
  readonly pid: number;
  /** Base URL of the data port. */
  readonly dataUrl: string;
  /** `host:port` of the push side. */
  readonly push: string;
  /** `host:port` for other cells, where there are any. */
  readonly peer?: string;
  readonly child: ChildProcess;
  kill(): Promise<void>;
}

interface ListeningMessage {
  readonly dataUrl: string;
  readonly push: string;
  readonly peer?: string;
}

export async function startActivator(options: ActivatorOptions): Promise<ActivatorProcess> {
  const child = fork(MAIN, {
    execArgv: (options.preload ?? []).flatMap((file) => ["--import", file]),
    env: { ...process.env, ...options.env, PILOTLIGHT_ACTIVATOR_ID: options.name },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const listening = await new Promise<ListeningMessage>((resolve, reject) => {
    // Sent by `activator/main.ts` in this form.
    child.once("message", (message) => resolve(message as ListeningMessage));
    child.once("exit", (code) => reject(new Error(`activator ended with ${code} at its start`)));
  });
  return {
    name: options.name,
    pid: child.pid ?? 0,
    ...listening,
    child,
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGCONT");
        child.kill("SIGKILL");
      }
      await exited;
    },
  };
}
