/** The control socket: what it takes, what it refuses, and where it lies. */
import { existsSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PlatformError } from "../../../common/errors.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { startControlServer } from "../../../local/control-server.ts";
import type { ControlActions, ControlServer } from "../../../local/control-server.ts";
import { openRunFolder } from "../../../local/run-folder.ts";

let parent = "";
let server: ControlServer;
let calls: unknown[] = [];

const actions: ControlActions = {
  apply: (paths) => {
    calls.push(paths);
    if (paths.includes("/missing")) throw new PlatformError("ERR_USAGE", "There is no file.");
    if (paths.includes("/broken")) throw new Error("no such luck");
    return Promise.resolve({ services: [], errors: [], warnings: [] });
  },
  remove: (asked) => {
    calls.push(asked);
    return Promise.resolve(asked.services);
  },
};

async function open(folder: string): Promise<void> {
  const logger = createLogger({ name: "test", level: "silent" });
  server = await startControlServer(await openRunFolder(join(parent, folder)), actions, logger);
}

function call(
  path: string,
  body: string,
  method = "POST",
): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const headers = { "content-length": Buffer.byteLength(body) };
    const outgoing = request({ socketPath: server.path, path, method, headers }, (response) => {
      text(response).then(
        (answer) =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) as unknown }),
        reject,
      );
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "pilotlight-control-test-"));
  calls = [];
});
afterEach(async () => {
  await server.close();
  await rm(parent, { recursive: true, force: true });
});

describe("the control socket", () => {
  it("takes apply and delete", async () => {
    await open("run");
    expect(await call("/apply", '{"paths":["/a.yaml"]}')).toEqual({
      status: 200,
      body: { services: [], errors: [], warnings: [] },
    });
    const asked = { services: ["default/echo"], paths: ["/b"] };
    expect(await call("/delete", JSON.stringify(asked))).toEqual({
      status: 200,
      body: { removed: ["default/echo"] },
    });
    expect(calls).toEqual([["/a.yaml"], asked]);
  });

  const refused: [name: string, path: string, body: string, code: string][] = [
    ["another path", "/reboot", "{}", "ERR_USAGE"],
    ["paths that are no list of texts", "/apply", '{"paths":[1]}', "ERR_USAGE"],
    ["a body that is no object", "/apply", "7", "ERR_USAGE"],
    ["a body that is no JSON", "/apply", "{", "ERR_INTERNAL"],
    ["a huge body", "/apply", `{"paths":["${"x".repeat(1_100_000)}"]}`, "ERR_USAGE"],
    ["what the platform refuses, by its code", "/apply", '{"paths":["/missing"]}', "ERR_USAGE"],
    ["what fails", "/apply", '{"paths":["/broken"]}', "ERR_INTERNAL"],
  ];
  it.each(refused)("refuses %s and goes on", async (_name, path, body, code) => {
    await open("run");
    expect(await call(path, body)).toMatchObject({ status: 400, body: { code } });
    expect((await call("/apply", "{}")).status).toBe(200);
  });

  it("takes nothing by GET", async () => {
    await open("run");
    expect((await call("/apply", "{}", "GET")).status).toBe(400);
    expect(calls).toEqual([]);
  });

  it("lies in a folder of its owner alone, also where the run folder's path is too long", async () => {
    await open(`${"deep/".repeat(30)}run`);
    expect(Buffer.byteLength(server.path)).toBeLessThan(108);
    expect(statSync(dirname(server.path)).mode & 0o077).toBe(0);
    expect((await call("/apply", "{}")).status).toBe(200);
    await server.close();
    expect(existsSync(dirname(server.path))).toBe(false);
  });
});
