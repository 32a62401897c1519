/** The process itself: it tells where it listens, shares a port, and ends without losing a request. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ActivatorBench, call } from "../../support/activator-bench.ts";
import { eventually } from "../../support/eventually.ts";
import { freePort, startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

const MAIN = fileURLToPath(new URL("../../../activator/main.ts", import.meta.url));

interface ListeningMessage {
  readonly type: string;
  readonly id: string;
  readonly dataUrl: string;
  readonly push: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly listening: ListeningMessage;
  readonly exited: Promise<number | null>;
}

let valkey: ValkeyServer;
let bench: ActivatorBench;
let children: ChildProcess[] = [];

beforeAll(async () => {
  valkey = await startValkey();
});
afterAll(() => valkey.stop());
beforeEach(async () => {
  bench = new ActivatorBench(valkey.url, valkey.freshPrefix());
  await bench.configure();
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children = [];
  await bench.close();
});

async function start(env: Readonly<Record<string, string>>): Promise<Running> {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, ...bench.environment, ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  children.push(child);
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  const listening = await new Promise<ListeningMessage>((resolve, reject) => {
    child.once("message", (message) => resolve(message as ListeningMessage));
    child.once("exit", (code) => reject(new Error(`ended with ${code} before it listened`)));
  });
  return { child, listening, exited };
}

describe("an activator process", () => {
  it("announces its ports, serves, and ends on SIGTERM when its requests are done", async () => {
    const { child, listening, exited } = await start({ PILOTLIGHT_ACTIVATOR_ID: "a1" });
    expect(listening).toMatchObject({ type: "listening", id: "a1" });
    const pod = await bench.pod();
    await pod.register(listening.push);
    const running = call(listening.dataUrl, "/?ms=300");
    await eventually(() => pod.running === 1);
    child.kill("SIGTERM");
    expect((await running).status).toBe(200);
    expect(await exited).toBe(0);
    expect(await bench.busy()).toBe(0);
  });

  it("shares a port with others, which take over when it is gone", async () => {
    const shared = `127.0.0.1:${await freePort()}`;
    const env = { PILOTLIGHT_SHARED_LISTEN: shared };
    const [one, two] = [await start(env), await start(env)];
    const pod = await bench.pod({ capacity: 100 });
    await bench.configure({ containerConcurrency: 100 });
    await pod.register(two.listening.push);
    one.child.kill("SIGKILL");
    await one.exited;
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => call(`http://${shared}`, "/")),
    );
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it("frees what a killed one held, once the pod has said that it runs no more", async () => {
    const [one, two] = [await start({}), await start({})];
    const pod = await bench.pod();
    await pod.register(two.listening.push);
    const lost = call(one.listening.dataUrl, "/?ms=60000").catch(() => "lost");
    await eventually(() => pod.seen.length === 1);
    one.child.kill("SIGKILL");
    expect(await lost).toBe("lost");
    const asked = await eventually(
      async () => {
        const { body } = await pod.push(two.listening.push, "heartbeat", "ready");
        return body.ask.length > 0 && body.ask;
      },
      { timeoutMs: 15_000, everyMs: 200 },
    );
    expect(asked).toEqual(pod.leases());
    await pod.push(two.listening.push, "change", "ready", { asked, running: [] });
    await eventually(async () => (await bench.busy()) === 0);
    expect((await call(two.listening.dataUrl, "/")).status).toBe(200);
  });

  it("says what is wrong with its environment, all at once, and ends", async () => {
    const child = spawn(process.execPath, [MAIN], {
      env: { PATH: process.env["PATH"] ?? "", PILOTLIGHT_LISTEN: "nonsense" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    children.push(child);
    let output = "";
    child.stderr?.on("data", (chunk: Buffer) => (output += String(chunk)));
    const code = await new Promise((resolve) => child.once("exit", resolve));
    expect(code).not.toBe(0);
    expect(output).toContain("PILOTLIGHT_STORE_URL");
    expect(output).toContain('PILOTLIGHT_LISTEN: got "nonsense"');
  });
});
