/** The dashboard over real HTTP, with a made-up fleet behind it. */
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import type { FastifyInstance } from "fastify";
import { createDashboard } from "../../../dashboard/server.ts";
import type { DashboardParts } from "../../../dashboard/ports.ts";
import type { History, Snapshot } from "../../../dashboard/view.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { fleetParts } from "../../support/dashboard-fleet.ts";
import { eventually } from "../../support/eventually.ts";

let app: FastifyInstance | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function start(parts: DashboardParts = fleet()): Promise<string> {
  app = createDashboard(parts);
  return app.listen({ host: "127.0.0.1", port: 0 });
}

const fleet = (storeFails: () => boolean = () => false): DashboardParts =>
  fleetParts({ clock: systemClock, storeFails, sampleEveryMs: 20 });
const getJson = async <T>(url: string): Promise<T> => (await (await fetch(url)).json()) as T;

/** Reads events until there are as many as wanted. */
async function readEvents(response: Response, count: number): Promise<[string, unknown][]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const events = [...text.matchAll(/event: (\w+)\ndata: (.+)\n\n/g)];
    if (events.length >= count) {
      await reader?.cancel();
      return events.map((event) => [event[1] ?? "", JSON.parse(event[2] ?? "")]);
    }
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done) throw new Error(`The stream ended after ${events.length} events.`);
    text += value;
  }
}

describe("dashboard API", () => {
  it("gives a snapshot of all services with targets, decisions and cold starts", async () => {
    const url = await start();
    const snapshot = await getJson<Snapshot>(`${url}/api/snapshot`);
    expect(snapshot.store.state).toBe("ready");
    expect(snapshot.services.map(({ name }) => name)).toContain("ocr");
    const revisions = snapshot.services.flatMap((service) => service.revisions);
    expect(revisions.some(({ coldStarts }) => coldStarts.length > 0)).toBe(true);
    expect(snapshot.activators.length).toBe(2);
  });

  it("passes on what is known of cells, and leaves them out where there is one", async () => {
    const cells = { own: "eu", faults: [], cells: [], choices: [], spills: [] };
    const url = await start({ ...fleet(), cells: () => Promise.resolve(cells) });
    expect((await getJson<Snapshot>(`${url}/api/snapshot`)).cells).toEqual(cells);
    await app?.close();
    const failing = await start({ ...fleet(), cells: () => Promise.reject(new Error("away")) });
    const snapshot = await getJson<Snapshot>(`${failing}/api/snapshot`);
    expect([snapshot.store.state, snapshot.cells]).toEqual(["ready", undefined]);
  });

  it("serves the host process's metrics where it has some", async () => {
    const url = await start({ ...fleet(), metrics: () => "pilotlight_autoscaler_wanted 3\n" });
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get("content-type")).toContain("version=0.0.4");
    expect(await response.text()).toBe("pilotlight_autoscaler_wanted 3\n");
    await app?.close();
    expect((await fetch(`${await start()}/metrics`)).status).toBe(404);
  });

  it("streams the history first, then snapshots", async () => {
    const url = await start();
    const response = await fetch(`${url}/api/stream`);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const events = await readEvents(response, 3);
    expect(events.map(([name]) => name)).toEqual(["history", "snapshot", "snapshot"]);
    const [first, second] = events.slice(1).map(([, data]) => (data as Snapshot).at);
    expect(second).toBeGreaterThan(first ?? 0);
  });

  it("keeps what happened before anybody looked", async () => {
    const url = await start();
    const history = await eventually(async () => {
      const read = await getJson<History>(`${url}/api/history`);
      return (read.series["default/ocr-00001"]?.at.length ?? 0) >= 3 && read;
    });
    expect(Object.keys(history.series)).toContain("default/llm-00001");
  });

  it("says that the store is down, keeps serving, and recovers", async () => {
    let isDown = true;
    const url = await start(fleet(() => isDown));
    const down = await getJson<Snapshot>(`${url}/api/snapshot`);
    expect(down.store).toMatchObject({ state: "down" });
    expect(down.store.reason).toContain("ECONNREFUSED");
    expect(down.services[0]?.revisions[0]?.load).toBeNull();
    isDown = false;
    await eventually(async () => {
      const { store } = await getJson<Snapshot>(`${url}/api/snapshot`);
      return store.state === "ready";
    });
  });

  it("sends no second snapshot of a store that hangs, and closes all the same", async () => {
    const parts = fleet();
    let reads = 0;
    const hanging = new Promise<never>(() => undefined);
    const store = { ...parts.store, readFigures: () => ((reads += 1), hanging) };
    const url = await start({ ...parts, store, services: () => parts.services().slice(0, 1) });
    const snapshot = await getJson<Snapshot>(`${url}/api/snapshot`);
    expect(snapshot.store).toMatchObject({ state: "down", reason: "No answer within 2000 ms." });
    expect(reads).toBeLessThanOrEqual(2);
  });

  it("ends open streams when it closes", async () => {
    const url = await start();
    const response = await fetch(`${url}/api/stream`);
    const body = response.text();
    await app?.close();
    expect(await body).toContain("event: history");
  });

  it("refuses the stream that is one too many and counts those that ended", async () => {
    const url = await start();
    const streams = await Promise.all(Array.from({ length: 64 }, () => fetch(`${url}/api/stream`)));
    const refused = await fetch(`${url}/api/stream`);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("5");
    await streams[0]?.body?.cancel();
    await eventually(async () => {
      const response = await fetch(`${url}/api/stream`);
      await response.body?.cancel();
      return response.status === 200;
    });
    for (const stream of streams.slice(1)) await stream.body?.cancel();
  });

  it.each(["POST", "PUT", "DELETE"])("offers nothing to %s", async (method) => {
    const url = await start();
    expect((await fetch(`${url}/api/snapshot`, { method })).status).toBe(404);
  });
});

describe("dashboard page", () => {
  const folder = fileURLToPath(new URL("../../../dashboard/page/", import.meta.url));

  it("is complete: each import and each file that the page names is served", async () => {
    const url = await start();
    const seen = new Set(["/index.html"]);
    for (const path of seen) {
      const response = await fetch(url + path);
      expect(response.status, path).toBe(200);
      expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
      const text = await response.text();
      const names = text.matchAll(/(?:^import [^"]*|\} from |(?:href|src)=)"(?!#|data:)([^"]+)"/gm);
      for (const [, name = ""] of names) seen.add(new URL(name, url + path).pathname);
    }
    const modules = (await readdir(folder, { recursive: true })).filter((n) => n.endsWith(".js"));
    expect([...seen].filter((path) => path.endsWith(".js")).length).toBe(modules.length);
  });

  it("needs nothing from elsewhere and keeps its modules small", async () => {
    for (const name of await readdir(folder, { recursive: true })) {
      if (!/\.(js|css|html)$/.test(name)) continue;
      const text = await readFile(folder + name, "utf8");
      expect(text.replaceAll("http://www.w3.org/2000/svg", ""), name).not.toMatch(/https?:\/\/\w/);
      if (name.endsWith(".js")) expect(text.split("\n").length, name).toBeLessThan(200);
    }
  });

  it("keeps types and compiler settings to itself", async () => {
    const url = await start();
    expect((await fetch(`${url}/tsconfig.json`)).status).toBe(404);
    expect((await fetch(`${url}/types.ts`)).status).toBe(404);
  });
});
