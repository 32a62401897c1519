/** Child processes and the watchdog, on real processes. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startChild } from "../../../local/child.ts";
import { LogFile } from "../../../local/log-file.ts";
import { isAlive, signalGroup } from "../../../local/process-groups.ts";
import { openRunFolder } from "../../../local/run-folder.ts";
import { Supervised } from "../../../local/supervised.ts";
import { startWatchdog } from "../../../local/watchdog.ts";
import type { Watchdog } from "../../../local/watchdog.ts";
import { eventually } from "../../support/eventually.ts";

const FIXTURE = fileURLToPath(new URL("../../fixtures/local/doomed-platform.ts", import.meta.url));

let folder = "";
let watchdog: Watchdog;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-children-"));
  watchdog = await startWatchdog(join(folder, "none"));
});

afterEach(async () => {
  await watchdog.stop();
  await rm(folder, { recursive: true, force: true });
});

const shell = (script: string, log: LogFile) =>
  startChild(
    {
      command: "sh",
      args: ["-c", script],
      cwd: folder,
      env: { PATH: process.env["PATH"] ?? "" },
      log,
    },
    watchdog,
  );

describe("a child", () => {
  it("leaves its exit code and its last words", async () => {
    const log = new LogFile(join(folder, "a.log"));
    const exit = await shell("echo one; echo two >&2; exit 3", log).exited;
    expect(exit).toMatchObject({ code: 3, signal: null, startError: "" });
    expect(log.lastWords()).toContain("one");
    expect(log.lastWords()).toContain("two");
    log.close();
    expect(await readFile(join(folder, "a.log"), "utf8")).toContain("one\n");
  });

  it("that does not exist is an exit with a reason, not an exception", async () => {
    const log = new LogFile(join(folder, "b.log"));
    const spec = { command: "/no/such/program", args: [], cwd: folder, env: {}, log };
    const exit = await startChild(spec, watchdog).exited;
    expect(exit.startError).toContain("ENOENT");
    log.close();
  });

  it("takes its own children along when it is stopped", async () => {
    const log = new LogFile(join(folder, "c.log"));
    const child = shell("sleep 300 & echo pid $!; wait", log);
    const grandchild = await eventually(() => Number(/pid (\d+)/.exec(log.lastWords())?.[1] ?? 0));
    expect(isAlive(grandchild)).toBe(true);
    await child.stop(1_000);
    await eventually(() => !isAlive(grandchild));
    log.close();
  });

  it("that ignores SIGTERM is killed at the end of the grace", async () => {
    const log = new LogFile(join(folder, "d.log"));
    const child = shell("trap '' TERM; echo up; while :; do sleep 0.05; done", log);
    await eventually(() => log.lastWords().includes("up"));
    const exit = await child.stop(100);
    expect(exit.signal).toBe("SIGKILL");
    log.close();
  });
});

it("is started again with growing pauses, and not after it is stopped", async () => {
  const log = new LogFile(join(folder, "e.log"));
  const pauses: number[] = [];
  const process = new Supervised({
    start: () => shell("exit 1", log),
    onExit: (_exit, pauseMs) => void pauses.push(pauseMs),
    backOff: { firstMs: 10, maxMs: 35, healthyMs: 60_000 },
  });
  process.start();
  await eventually(() => pauses.length >= 4);
  expect(pauses.slice(0, 4)).toEqual([10, 20, 35, 35]);
  await process.stop(0);
  expect(process.pid).toBe(0);
  log.close();
});

it("keeps a log below its limit, with the newest lines", async () => {
  const path = join(folder, "f.log");
  const log = new LogFile(path, 1_000);
  for (let line = 0; line < 200; line += 1) log.write(Buffer.from(`line ${line}\n`));
  log.close();
  const [now, before] = [await readFile(path, "utf8"), await readFile(`${path}.1`, "utf8")];
  expect(now.length).toBeLessThanOrEqual(1_000);
  expect(before.length).toBeLessThanOrEqual(1_000);
  expect(now).toContain("line 199");
  expect(log.lastWords(1)).toBe("line 199");
});

describe("the run folder", () => {
  it("is not shared with a living platform", async () => {
    const path = join(folder, "run");
    await openRunFolder(path);
    await expect(openRunFolder(path)).rejects.toThrow(/already runs in/);
  });

  it("is taken from a dead platform whose process id is in use again", async () => {
    const path = join(folder, "run");
    await mkdir(join(path, "pods"), { recursive: true });
    await writeFile(join(path, "pods", "old.json"), "{}");
    await writeFile(join(path, ".pilotlight-owner"), `${process.ppid} another-boot/1\n`);
    const run = await openRunFolder(path);
    expect(existsSync(run.at("pods", "old.json"))).toBe(false);
    await run.remove();
    expect(existsSync(path)).toBe(false);
  });

  it("goes to one of two that start at one moment", async () => {
    const path = join(folder, "run");
    const both = await Promise.allSettled([openRunFolder(path), openRunFolder(path)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("is named, with a cure, where it cannot be used", async () => {
    const path = join(folder, "a-file");
    await writeFile(path, "");
    await expect(openRunFolder(path)).rejects.toThrow(/a-file cannot be used: .*--run-folder/);
  });

  it("is not taken when it holds other files, and only what is ours is removed", async () => {
    await writeFile(join(folder, "thesis.txt"), "precious");
    await expect(openRunFolder(folder)).rejects.toThrow(/holds other files/);
    const run = await openRunFolder(join(folder, "run"));
    await writeFile(run.at("mine.txt"), "precious");
    await run.remove();
    expect(existsSync(run.at("mine.txt"))).toBe(true);
    expect(existsSync(run.at("pods"))).toBe(false);
  });
});

describe("the watchdog", () => {
  it("kills what is left and clears the run folder when the platform is killed", async () => {
    const run = join(folder, "run");
    const platform = spawn(process.execPath, [FIXTURE, run], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    platform.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    await eventually(() => /pids .*\n/.test(output));
    const pids = output.replace("pids ", "").trim().split(" ").map(Number);
    expect(pids).toHaveLength(4);
    expect(pids.every(isAlive)).toBe(true);
    expect(existsSync(run)).toBe(true);

    platform.kill("SIGKILL");
    await eventually(() => !pids.some(isAlive), { what: "children are gone" });
    await eventually(() => !existsSync(run), { what: "run folder is gone" });
  });

  it("never signals the group of everybody", () => {
    expect(signalGroup(0, 0)).toBe(false);
    expect(signalGroup(1, 0)).toBe(false);
  });
});
