/**
 * Several cells side by side: each with routing state, activators and stub pods of its own, real
 * TLS between them, and a relay on each way that a test may delay, cut or halt.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CellFacts } from "../../cells/core/merge-revisions.ts";
import type { RevisionConfig } from "../../common/contracts/routing.ts";
import type { CellAuthority, CellCertificate } from "../../local/cell-certificates.ts";
import { createCellAuthority } from "../../local/cell-certificates.ts";
import { CellRelay } from "../../local/cell-relay.ts";
import { ActivatorBench, REVISION } from "./activator-bench.ts";
import type { BenchActivator } from "./activator-bench.ts";
import type { StubPod } from "./activator-stub-pod.ts";
import { eventually } from "./eventually.ts";
import type { ValkeyServer } from "./valkey.ts";

export interface CellRigOptions {
  /** Cells, the first of them at home. */
  readonly names: readonly string[];
  readonly delayMs?: number;
  readonly activatorsPerCell?: number;
  readonly config?: Partial<RevisionConfig>;
  readonly prices?: Readonly<Record<string, number>>;
  /** Of each cell; default: the same server with keys of its own. */
  readonly urlOf?: (cell: string) => string;
}

export interface RigCell {
  readonly name: string;
  readonly bench: ActivatorBench;
  readonly activators: BenchActivator[];
  readonly folder: string;
  readonly certificates: string;
  readonly pods: StubPod[];
}

export class CellRig {
  readonly root = mkdtempSync(join(tmpdir(), "pilotlight-cells-"));
  readonly authority: CellAuthority = createCellAuthority(Date.now());
  readonly cells = new Map<string, RigCell>();
  readonly relays = new Map<string, CellRelay>();
  readonly #server: ValkeyServer;
  readonly #options: CellRigOptions;

  constructor(server: ValkeyServer, options: CellRigOptions) {
    this.#server = server;
    this.#options = options;
  }

  async start(): Promise<this> {
    const { names, delayMs = 0 } = this.#options;
    for (const way of names.flatMap((from) => names.map((to) => [from, to] as const))) {
      const [from, to] = way;
      this.relays.set(`${from} ${to}`, new CellRelay({ delayMs: from === to ? 0 : delayMs / 2 }));
    }
    const addresses = new Map<string, string>();
    for (const [way, relay] of this.relays) addresses.set(way, await relay.listen());
    for (const name of names) this.#make(name);
    for (const cell of this.cells.values()) this.#writeCells(cell, addresses);
    for (const cell of this.cells.values()) await this.#begin(cell);
    return this;
  }

  async #begin(cell: RigCell): Promise<void> {
    const { config = {}, activatorsPerCell = 1 } = this.#options;
    await cell.bench.handle.ready();
    await cell.bench.configure({ regions: "global", ...config });
    await this.facts(cell.name, {});
    for (let more = 0; more < activatorsPerCell; more += 1) await this.addActivator(cell.name);
  }

  cell(name: string): RigCell {
    const cell = this.cells.get(name);
    if (cell === undefined) throw new Error(`no cell ${name}`);
    return cell;
  }

  relay(from: string, to: string): CellRelay {
    const relay = this.relays.get(`${from} ${to}`);
    if (relay === undefined) throw new Error(`no way from ${from} to ${to}`);
    return relay;
  }

  /** Base URL of an activator of the cell. */
  url(name: string, index = 0): string {
    return this.cell(name).activators[index]?.dataUrl ?? "";
  }

  async addActivator(name: string): Promise<BenchActivator> {
    const cell = this.cell(name);
    const activator = await cell.bench.activator({
      PILOTLIGHT_ACTIVATOR_ID: `${name}-${cell.activators.length + 1}`,
      PILOTLIGHT_CELL: name,
      PILOTLIGHT_CELLS_FOLDER: cell.folder,
      PILOTLIGHT_CELL_CERTIFICATES: cell.certificates,
    });
    cell.activators.push(activator);
    this.#lead(name);
    return activator;
  }

  /** An activator that somebody else started for the cell, as a process of its own. */
  use(name: string, activator: Omit<BenchActivator, "drain">): void {
    const { activators } = this.cell(name);
    activators.splice(0, activators.length, { ...activator, drain: () => Promise.resolve() });
    this.#lead(name);
  }

  #lead(name: string): void {
    const peers = this.cell(name).activators.flatMap(({ peer }) => peer ?? []);
    for (const [way, relay] of this.relays) if (way.endsWith(` ${name}`)) relay.leadTo(...peers);
  }

  /** A pod that is ready. */
  async pod(name: string, capacity = 1): Promise<StubPod> {
    const cell = this.cell(name);
    const pod = await cell.bench.pod({ capacity });
    await pod.register(cell.activators[0]?.push ?? "");
    cell.pods.push(pod);
    return pod;
  }

  async facts(name: string, facts: Partial<CellFacts>): Promise<void> {
    const { handle } = this.cell(name).bench;
    await handle.cells.writeFacts(
      REVISION,
      JSON.stringify({ reachable: true, mayStart: 0, pods: 0, share: 0, price: 1, ...facts }),
    );
  }

  writeCertificate(name: string, certificate: CellCertificate): void {
    const { certificates } = this.cell(name);
    writeFileSync(join(certificates, "tls.key"), certificate.key);
    writeFileSync(join(certificates, "ca.crt"), certificate.ca);
    writeFileSync(join(certificates, "tls.crt"), certificate.cert);
  }

  /** What one activator shows of cells. */
  async view(name: string, index = 0): Promise<CellsPage> {
    const push = this.cell(name).activators[index]?.push ?? "";
    const response = await fetch(`http://${push}/v1/cells`);
    // As `viewCells` makes it.
    return (await response.json()) as CellsPage;
  }

  /** Until `from` knows this much of what `to` has. */
  async heard(from: string, to: string, isKnown: (cell: PageCell) => boolean): Promise<void> {
    await eventually(
      async () => {
        const page = await this.view(from);
        const found = page.cells.find(({ name }) => name === to);
        return found !== undefined && found.isFresh && isKnown(found);
      },
      { timeoutMs: 60_000, everyMs: 50, what: `${from} knows of ${to}` },
    );
  }

  async close(): Promise<void> {
    for (const relay of this.relays.values()) relay.close();
    await Promise.all([...this.cells.values()].map(({ bench }) => bench.close()));
    rmSync(this.root, { recursive: true, force: true });
  }

  #make(name: string): void {
    const url = this.#options.urlOf?.(name) ?? this.#server.url;
    const bench = new ActivatorBench(url, this.#server.freshPrefix());
    const folder = join(this.root, name, "cells");
    const certificates = join(this.root, name, "certificates");
    mkdirSync(folder, { recursive: true });
    mkdirSync(certificates);
    this.cells.set(name, { name, bench, activators: [], folder, certificates, pods: [] });
    this.writeCertificate(name, this.authority.issue(name));
  }

  #writeCells(cell: RigCell, addresses: ReadonlyMap<string, string>): void {
    for (const name of this.#options.names) {
      const peer = addresses.get(`${cell.name} ${name}`) ?? "127.0.0.1:1";
      const entry = {
        region: name,
        peer,
        home: name === this.#options.names[0],
        prices: { default: this.#options.prices?.[name] ?? 1 },
      };
      writeFileSync(join(cell.folder, `.${name}`), JSON.stringify(entry));
      renameSync(join(cell.folder, `.${name}`), join(cell.folder, name));
    }
  }
}

interface PageCell {
  readonly name: string;
  readonly isFresh: boolean;
  readonly ageMs: number | null;
  readonly roundTripMs: number | null;
  readonly services: readonly {
    readonly service: string;
    readonly warm: number;
    readonly offered: number;
    readonly ready: number;
    readonly waiting: number;
  }[];
}

interface CellsPage {
  readonly own: string;
  readonly cells: readonly PageCell[];
  readonly choices: readonly { readonly words: string; readonly cell: string | null }[];
  readonly spills: readonly {
    readonly cell: string;
    readonly spill: string;
    readonly outcome: string;
    readonly count: number;
  }[];
}
