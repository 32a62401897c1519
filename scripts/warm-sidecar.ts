/**
 * Runs a bundled queue-proxy until it accepts connections and keeps what V8 compiled on the way
 * beside it, for the image: its start is part of every cold start (docs/decisions/0009). With the
 * path and the flags that the image has, since what is kept holds for them alone.
 *
 *   node scripts/warm-sidecar.ts UID [FLAGS...] /app/queue-proxy/main.mjs
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { chmodSync, readdirSync, renameSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";

const [uid = "", ...command] = process.argv.slice(2);
const cache = join(dirname(command.at(-1) ?? ""), "cache");
const ADDRESS = "127.0.0.1";
const LIMIT_MS = 30_000;

const port = await freePort();
const child = spawn(process.execPath, command, {
  stdio: "inherit",
  env: {
    NODE_COMPILE_CACHE: cache,
    SERVING_NAMESPACE: "default",
    SERVING_CONFIGURATION: "warm",
    SERVING_REVISION: "warm-00001",
    SERVING_POD: "warm",
    SERVING_POD_IP: ADDRESS,
    QUEUE_SERVING_PORT: String(port),
    CONTAINER_CONCURRENCY: "1",
    REVISION_TIMEOUT_SECONDS: "300",
    USER_PORT: String(await freePort()),
    SERVING_LOGGING_LEVEL: "error",
  },
});
await accepted(child);
// The second signal ends it at once; the cache is written on the way out.
child.kill("SIGTERM");
child.kill("SIGTERM");
await new Promise((resolve) => child.once("exit", resolve));
open(cache);

/** Node keeps a folder per version and user, readable by that user alone. */
function open(folder: string): void {
  const [found, ...more] = readdirSync(folder);
  if (found === undefined || more.length > 0) throw new Error(`nothing to keep in ${folder}`);
  const named = join(folder, found.replace(/-\d+$/, `-${uid}`));
  renameSync(join(folder, found), named);
  chmodSync(named, 0o755);
  for (const name of readdirSync(named)) chmodSync(join(named, name), 0o644);
}

async function accepted(started: ChildProcess): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!(await accepts())) {
    if (started.exitCode !== null || performance.now() > deadline) {
      throw new Error("the queue-proxy did not start");
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function accepts(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, ADDRESS, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, ADDRESS, resolve));
  // A listening TCP server has an address object; a string is for pipes only.
  const { port: free } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return free;
}
