/** Starts an example as the real process that a pod runs, and ends it as a pod would. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface ExampleProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** SIGTERM, then the exit code. */
  stop(): Promise<number | null>;
}

export async function startExample(
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ExampleProcess> {
  const folder = fileURLToPath(new URL(`../../examples/${name}/`, import.meta.url));
  const child = spawn(process.execPath, ["server.ts"], {
    cwd: folder,
    env: { ...process.env, PORT: "0", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const listening = Promise.withResolvers<string>();
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const url = /listens on (http:\S+)/.exec(output)?.[1];
      if (url !== undefined) listening.resolve(url);
    });
  }
  void exited.then((code) =>
    listening.reject(new Error(`Example ${name} ended with ${String(code)}:\n${output}`)),
  );
  const stop = (): Promise<number | null> => {
    child.kill("SIGTERM");
    return exited;
  };
  return {
    url: await listening.promise,
    pid: child.pid ?? 0,
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}
