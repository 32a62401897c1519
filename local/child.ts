/**
 * One child process: leader of a group of its own, known to the watchdog, its output in a log.
 * Knows nothing of pods; restarts are the caller's.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { descendantsOf, killSeen } from "./descendants.ts";
import type { LogFile } from "./log-file.ts";
import { signalGroup } from "./process-groups.ts";
import type { Watchdog } from "./watchdog.ts";

export interface ChildSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: LogFile;
  readonly ipc?: (message: unknown) => void;
}

export interface ChildExit {
  /** `null` after a signal, and when it could not be started. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The child never ran: no such program, no such folder. */
  readonly startError: string;
  readonly runMs: number;
}

export interface Child {
  readonly pid: number;
  readonly exited: Promise<ChildExit>;
  readonly running: boolean;
  signal(signal: NodeJS.Signals): void;
  /** TERM, then KILL to the whole group when it is still there after `graceMs`. */
  stop(graceMs: number): Promise<ChildExit>;
}

/** How often a stop looks whether the whole group has ended: a shell may end before its command. */
const GROUP_CHECK_MS = 20;
/** How long after a child's exit the output that is still in the pipe is waited for. */
const OUTPUT_GRACE_MS = 200;

export function startChild(spec: ChildSpec, watchdog: Watchdog): Child {
  const startedAt = performance.now();
  const outputs = ["ignore", "pipe", "pipe"] as const;
  const child = spawn(spec.command, [...spec.args], {
    cwd: spec.cwd,
    env: { ...spec.env },
    detached: true,
    stdio: spec.ipc === undefined ? [...outputs] : [...outputs, "ipc"],
  });
  const pid = child.pid ?? 0;
  if (pid > 0) watchdog.watch(pid);
  child.stdout?.on("data", (chunk: Buffer) => spec.log.write(chunk));
  child.stderr?.on("data", (chunk: Buffer) => spec.log.write(chunk));
  if (spec.ipc !== undefined) child.on("message", spec.ipc);
  let running = pid > 0;
  let stopping = false;
  const leaderExited = whenExited(child, startedAt).finally(() => (running = false));
  const bury = (): void => {
    signalGroup(pid, "SIGKILL");
    watchdog.forget(pid);
  };
  const exited = leaderExited.then((exit) => {
    // What a child leaves behind in its group goes with it; in a stop it has the rest of the grace.
    if (!stopping) bury();
    return exit;
  });
  return {
    pid,
    exited,
    get running() {
      return running;
    },
    signal: (signal) => void (running && signalGroup(pid, signal)),
    stop: async (graceMs) => {
      stopping = true;
      // Now, since they are nobody's children as soon as it has ended.
      const family = running ? descendantsOf(pid) : [];
      const deadline = performance.now() + graceMs;
      if (running) signalGroup(pid, "SIGTERM");
      const timer = setTimeout(() => void signalGroup(pid, "SIGKILL"), graceMs);
      const exit = await leaderExited;
      while (signalGroup(pid, 0) && performance.now() < deadline) await sleep(GROUP_CHECK_MS);
      clearTimeout(timer);
      bury();
      killSeen(family);
      return exit;
    },
  };
}

function whenExited(child: ChildProcess, startedAt: number): Promise<ChildExit> {
  return new Promise((resolve) => {
    let startError = "";
    const done = (code: number | null, signal: NodeJS.Signals | null): void =>
      resolve({ code, signal, startError, runMs: performance.now() - startedAt });
    child.on("error", (error) => {
      // Without a pid there will be no exit; with one (a failed kill) there will.
      if (child.pid !== undefined) return;
      startError = error.message;
      done(null, null);
    });
    child.on("exit", (code, signal) => {
      // A grandchild may hold the pipes open: the last words are waited for, but not for long.
      const timer = setTimeout(() => done(code, signal), OUTPUT_GRACE_MS);
      child.on("close", () => {
        clearTimeout(timer);
        done(code, signal);
      });
    });
  });
}

/** `exited with code 1`, `was ended by SIGKILL`, `could not be started: ...`. */
export function describeExit(exit: ChildExit): string {
  if (exit.startError !== "") return `could not be started: ${exit.startError}`;
  if (exit.signal !== null) return `was ended by ${exit.signal}`;
  return `exited with code ${exit.code ?? "unknown"}`;
}
