/**
 * Several cells on one machine: whole platforms side by side, each with its own store, certificates
 * between them, and a relay on every way that is as long as the command line says.
 */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { randomInt } from "node:crypto";
import { join } from "node:path";
import { CERTIFICATE_FILES } from "../common/contracts/cells.ts";
import { createRandom } from "../common/random.ts";
import { systemClock } from "../foundation/clock.ts";
import { createAddressBook } from "./addresses.ts";
import { createCellAuthority } from "./cell-certificates.ts";
import type { CellAuthority } from "./cell-certificates.ts";
import type { CellPlace } from "./cell-place.ts";
import { CellRelay } from "./cell-relay.ts";
import { startPlatform } from "./main.ts";
import type { Platform, PlatformEvent, PlatformOptions } from "./main.ts";

/** One cell as `--cells` names it. */
export interface CellSpec {
  readonly name: string;
  /** Round trip between it and the first cell, ms. */
  readonly roundTripMs: number;
  /** Per second and pod, by card. */
  readonly prices?: Readonly<Record<string, number>>;
}

export interface CellsOptions {
  /** The first keeps the books of services that may run everywhere. */
  readonly cells: readonly CellSpec[];
  readonly files: readonly string[];
  /** Public port of the first cell; the others follow; 0 picks free ones. */
  readonly port: number;
  /** Each cell has a folder under it. */
  readonly runFolder: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly activatorCount?: number;
  readonly onEvent?: (cell: string, event: PlatformEvent) => void;
}

export interface LocalCells {
  readonly platforms: ReadonlyMap<string, Platform>;
  /** The way from one cell to another, to be delayed, cut and halted. */
  relay(from: string, to: string): CellRelay;
  /** A new pair for a cell, in place of the one it has. */
  renew(cell: string): Promise<void>;
  /** Other words about a cell, for all of them. */
  describe(
    cell: string,
    change: { readonly prices?: Readonly<Record<string, number>> },
  ): Promise<void>;
  /** Ends one cell as if its power failed; `graceMs` 0. */
  stopCell(cell: string): Promise<void>;
  stop(graceMs?: number): Promise<void>;
}

/** Ports of a cell: its public one and its dashboard's. */
const PORTS_PER_CELL = 2;

export async function startCells(options: CellsOptions): Promise<LocalCells> {
  const cells = new CellGroup(options);
  try {
    await cells.start();
    return cells;
  } catch (error) {
    await cells.stop(0);
    throw error;
  }
}

class CellGroup implements LocalCells {
  readonly platforms = new Map<string, Platform>();
  readonly #options: CellsOptions;
  readonly #authority: CellAuthority = createCellAuthority(systemClock.now());
  readonly #relays = new Map<string, CellRelay>();
  readonly #addresses = new Map<string, string>();
  /** Of pods of all cells: two books would give out the same ones. */
  readonly #podAddresses = createAddressBook(createRandom(randomInt(2 ** 32)));
  readonly #prices = new Map<string, Readonly<Record<string, number>>>();

  constructor(options: CellsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { cells } = this.#options;
    for (const from of cells) {
      for (const to of cells) {
        const relay = new CellRelay({ delayMs: wayMs(from, to) / 2 });
        this.#relays.set(`${from.name} ${to.name}`, relay);
        this.#addresses.set(`${from.name} ${to.name}`, await relay.listen());
      }
    }
    for (const { name, prices = {} } of cells) this.#prices.set(name, prices);
    for (const { name } of cells) {
      await mkdir(this.#at(name, "cells"), { recursive: true });
      await mkdir(this.#at(name, "certificates"), { recursive: true });
      await this.renew(name);
    }
    await this.#writeAll();
    // One after the other: a start takes all that a small machine has.
    for (const [index, { name }] of cells.entries()) await this.#startOne(name, index);
  }

  relay(from: string, to: string): CellRelay {
    const relay = this.#relays.get(`${from} ${to}`);
    if (relay === undefined) throw new Error(`There is no way from cell ${from} to cell ${to}.`);
    return relay;
  }

  async renew(cell: string): Promise<void> {
    const folder = this.#at(cell, "certificates");
    const issued = this.#authority.issue(cell);
    await put(folder, CERTIFICATE_FILES.ca, issued.ca);
    await put(folder, CERTIFICATE_FILES.key, issued.key);
    await put(folder, CERTIFICATE_FILES.cert, issued.cert);
  }

  async describe(
    cell: string,
    change: { readonly prices?: Readonly<Record<string, number>> },
  ): Promise<void> {
    if (change.prices !== undefined) this.#prices.set(cell, change.prices);
    await this.#writeAll();
  }

  async stopCell(cell: string): Promise<void> {
    const platform = this.platforms.get(cell);
    this.platforms.delete(cell);
    for (const [way, relay] of this.#relays) if (way.endsWith(` ${cell}`)) relay.leadTo();
    await platform?.stop(0);
  }

  async stop(graceMs?: number): Promise<void> {
    const platforms = [...this.platforms.values()];
    this.platforms.clear();
    await Promise.all(platforms.map((platform) => platform.stop(graceMs)));
    for (const relay of this.#relays.values()) relay.close();
    for (const { name } of this.#options.cells) {
      await rm(this.#at(name, "cells"), { recursive: true, force: true });
      await rm(this.#at(name, "certificates"), { recursive: true, force: true });
    }
  }

  async #startOne(name: string, index: number): Promise<void> {
    const { files, port, env, activatorCount, onEvent } = this.#options;
    const cell: CellPlace = {
      name,
      cellsFolder: this.#at(name, "cells"),
      certificates: this.#at(name, "certificates"),
    };
    const platformOptions: PlatformOptions = {
      files,
      port: port === 0 ? 0 : port + index * PORTS_PER_CELL,
      runFolder: join(this.#options.runFolder, name),
      cell,
      addresses: this.#podAddresses,
      ...(env === undefined ? {} : { env }),
      ...(activatorCount === undefined ? {} : { activatorCount }),
      ...(onEvent === undefined ? {} : { onEvent: (event) => onEvent(name, event) }),
    };
    const platform = await startPlatform(platformOptions);
    this.platforms.set(name, platform);
    const lead = (): void => {
      const peers = platform.activators().flatMap(({ peer }) => peer ?? []);
      for (const [way, relay] of this.#relays) {
        if (way.endsWith(` ${name}`)) relay.leadTo(...peers);
      }
    };
    platform.onActivators(lead);
    lead();
  }

  /** Beside the run folders, which a platform empties. */
  #at(cell: string, folder: string): string {
    return join(`${this.#options.runFolder}-words`, cell, folder);
  }

  async #writeAll(): Promise<void> {
    const { cells } = this.#options;
    for (const { name: reader } of cells) {
      for (const [index, { name }] of cells.entries()) {
        const entry = {
          region: name,
          peer: this.#addresses.get(`${reader} ${name}`),
          home: index === 0,
          prices: this.#prices.get(name) ?? {},
        };
        await put(this.#at(reader, "cells"), name, JSON.stringify(entry));
      }
    }
  }
}

/** Each cell is as far from the first as it says; two others are as far as the longer way. */
function wayMs(from: CellSpec, to: CellSpec): number {
  return from.name === to.name ? 0 : Math.max(from.roundTripMs, to.roundTripMs);
}

/** Whole or not at all; names with a dot in front are skipped by readers. */
async function put(folder: string, name: string, text: string): Promise<void> {
  const path = join(folder, `.${name}`);
  await writeFile(path, text, { mode: 0o600 });
  await rename(path, join(folder, name));
}
