/** Real processes for the bench: activators and the upstream, ended by their own handles. */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Child<Message> {
  readonly message: Message;
  stop(): Promise<void>;
}

export interface ActivatorUrls {
  readonly dataUrl: string;
  readonly push: string;
}

const inRepository = (file: string): string =>
  fileURLToPath(new URL(`../../${file}`, import.meta.url));

export function startActivator(
  env: Readonly<Record<string, string>>,
): Promise<Child<ActivatorUrls>> {
  return start(inRepository("activator/main.ts"), env);
}

export function startUpstream(): Promise<Child<{ readonly port: number }>> {
  return start(inRepository("bench/routing/upstream.ts"), {});
}

/** Resolves with the first message of the child. */
async function start<Message>(
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<Child<Message>> {
  const child = fork(file, [], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const message = await new Promise<Message>((resolve, reject) => {
    child.once("message", (first) => resolve(first as Message));
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code} at its start`)));
  });
  return { message, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(timer);
}
