/**
 * Four cells: three that serve, and one that the service's regions do not name and that has warm
 * pods all the same. Activators are processes of their own, stores are real servers, the wire is
 * TLS over relays; pods are stubs that write down each start.
 */
import { setTimeout as delay } from "node:timers/promises";
import { request, Agent } from "node:http";
import { HOST } from "../support/activator-bench.ts";
import { CellRig } from "../support/cell-rig.ts";
import { eventually } from "../support/eventually.ts";
import type { StubPod } from "../support/activator-stub-pod.ts";
import { startActivator } from "../faults/rig/activator-process.ts";
import type { ActivatorProcess } from "../faults/rig/activator-process.ts";
import { startValkey } from "../support/valkey.ts";
import type { ValkeyServer } from "../support/valkey.ts";
import { Ledger } from "./ledger.ts";
import { MAX_PODS, Sharer } from "./sharer.ts";

export const CELLS = ["eu", "us", "ap"] as const;
export const FENCED = "xx";
const WORK_MS = 40;
const RATE = 30;
const ID = "x-cell-id";
const LOST = { status: 0, reason: "connection lost" };
const PATIENCE_MS = 40_000;
/** Pods of each cell: few, so that requests must look elsewhere all the time. */
const PODS: Readonly<Record<string, number>> = { eu: 1, us: 2, ap: 1, [FENCED]: 2 };

export class CellsWorld {
  readonly ledger = new Ledger();
  readonly rig: CellRig;
  readonly processes = new Map<string, ActivatorProcess>();
  readonly sharers = new Map<string, Sharer>();
  readonly servers = new Map<string, ValkeyServer>();
  podsMax = 0;
  #entries: readonly string[] = CELLS;
  #load: NodeJS.Timeout | undefined;
  #watch: NodeJS.Timeout | undefined;
  #count = 0;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #seen = new Map<StubPod, number>();

  private constructor(rig: CellRig, servers: Map<string, ValkeyServer>) {
    this.rig = rig;
    this.servers = servers;
  }

  static async start(
    preloads: Readonly<Record<string, readonly string[]>> = {},
  ): Promise<CellsWorld> {
    const names = [...CELLS, FENCED];
    const servers = new Map<string, ValkeyServer>();
    for (const name of names) servers.set(name, await startValkey());
    const first = servers.get("eu");
    if (first === undefined) throw new Error("no store");
    const rig = new CellRig(first, {
      names,
      delayMs: 20,
      activatorsPerCell: 0,
      urlOf: (cell) => servers.get(cell)?.url ?? "",
      config: {
        regions: CELLS.join(","),
        queueTimeoutMs: PATIENCE_MS,
        activationTimeoutMs: PATIENCE_MS,
        timeoutMs: PATIENCE_MS,
        // What a machine that runs other things cannot serve for a moment waits; it is no fault.
        queueDepth: 10_000,
      },
    });
    const world = new CellsWorld(rig, servers);
    await rig.start();
    for (const name of names) await world.startActivator(name, preloads[name] ?? []);
    for (const name of names) {
      for (let count = 0; count < (PODS[name] ?? 0); count += 1) await world.addPod(name);
    }
    for (const name of CELLS) await world.startSharer(name);
    await world.ready();
    return world;
  }

  async startActivator(name: string, preload: readonly string[] = []): Promise<void> {
    const cell = this.rig.cell(name);
    const process = await startActivator({
      name: `${name}-1`,
      preload,
      env: {
        ...cell.bench.environment,
        PILOTLIGHT_CELL: name,
        PILOTLIGHT_CELLS_FOLDER: cell.folder,
        PILOTLIGHT_CELL_CERTIFICATES: cell.certificates,
        PILOTLIGHT_LOG_LEVEL: "silent",
      },
    });
    this.processes.set(name, process);
    this.rig.use(name, process);
  }

  async addPod(name: string): Promise<void> {
    const pod = await this.rig.pod(name);
    this.#seen.set(pod, 0);
  }

  async startSharer(name: string): Promise<void> {
    const { folder, certificates, bench } = this.rig.cell(name);
    this.sharers.set(
      name,
      new Sharer({ cell: name, folder, certificates, calls: bench.handle.cells }),
    );
    await Promise.resolve();
  }

  /** Everybody has heard of everybody. */
  async ready(): Promise<void> {
    for (const from of CELLS) {
      for (const to of CELLS) {
        if (from !== to && this.processes.has(from) && this.processes.has(to)) {
          await this.rig.heard(from, to, ({ services }) => services.length > 0);
        }
      }
    }
  }

  startLoad(): void {
    const startedAt = performance.now();
    this.#load = setInterval(() => {
      const due = Math.floor(((performance.now() - startedAt) / 1000) * RATE);
      while (this.#count < due) this.#send();
    }, 20);
    this.#watch = setInterval(() => this.#look(), 20);
  }

  /** Requests enter at these cells from now on. */
  enterAt(...cells: readonly string[]): void {
    this.#entries = cells;
  }

  async settle(): Promise<void> {
    clearInterval(this.#load);
    await eventually(() => this.ledger.open === 0, {
      timeoutMs: PATIENCE_MS * 2,
      everyMs: 50,
      what: "every request has an end",
    });
    clearInterval(this.#watch);
    this.#noteStarts();
  }

  get outsideRegions(): number {
    return this.rig.cell(FENCED).pods.reduce((sum, pod) => sum + pod.hits, 0);
  }

  get podsOverMax(): number {
    return Math.max(0, this.podsMax - MAX_PODS);
  }

  demand(demands: Readonly<Record<string, number>>): void {
    for (const [cell, pods] of Object.entries(demands)) {
      const sharer = this.sharers.get(cell);
      if (sharer !== undefined) sharer.demand = pods;
    }
  }

  async killCell(name: string): Promise<void> {
    this.ledger.lostEntries.add(name);
    this.enterAt(...CELLS.filter((cell) => cell !== name));
    await this.processes.get(name)?.kill();
    this.processes.delete(name);
    for (const pod of this.rig.cell(name).pods) {
      pod.vanish();
      await pod.stop();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#load);
    clearInterval(this.#watch);
    this.#agent.destroy();
    for (const sharer of this.sharers.values()) sharer.close();
    for (const process of this.processes.values()) await process.kill();
    await this.rig.close();
    for (const server of this.servers.values()) await server.stop();
  }

  #look(): void {
    this.#noteStarts();
    let pods = 0;
    for (const { running } of this.sharers.values()) pods += running;
    this.podsMax = Math.max(this.podsMax, pods);
  }

  #noteStarts(): void {
    for (const [pod, from] of this.#seen) {
      for (const { rawHeaders } of pod.seen.slice(from)) {
        const at = rawHeaders.findIndex((name) => name.toLowerCase() === ID);
        if (at >= 0) this.ledger.started(rawHeaders[at + 1] ?? "");
      }
      this.#seen.set(pod, pod.seen.length);
    }
  }

  #send(): void {
    const entry = this.#entries[this.#count % this.#entries.length] ?? "";
    this.#count += 1;
    const id = `c${this.#count}`;
    const url = this.processes.get(entry)?.dataUrl;
    if (url === undefined) return;
    this.ledger.sent(id, entry);
    const body = "x".repeat(200);
    // Half of them have no body: those are held back in another way.
    const isPost = this.#count % 2 === 0;
    const outgoing = request(
      `${url}/?ms=${WORK_MS}`,
      {
        method: isPost ? "POST" : "PATCH",
        agent: this.#agent,
        headers: { host: HOST, [ID]: id, ...(isPost ? { "content-length": "200" } : {}) },
      },
      (answer) => {
        const reason = String(answer.headers["pilotlight-reason"] ?? "");
        const timing = String(answer.headers["server-timing"] ?? "");
        const end = { status: answer.statusCode ?? 0, reason, timing };
        answer.resume();
        answer.on("end", () => this.ledger.ended(id, end));
        answer.on("error", () => this.ledger.ended(id, { status: 0, reason: "cut" }));
      },
    );
    outgoing.on("error", () => this.ledger.ended(id, LOST));
    outgoing.end(isPost ? body : undefined);
  }
}

export function pause(ms: number): Promise<void> {
  return delay(ms);
}
