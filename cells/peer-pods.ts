/**
 * Pods that other cells run of each service, as their digests say, for the autoscaler: it decides
 * from this where spare pods are kept. One stream to each other cell, as an activator has.
 */
import type { ControlMessage } from "../common/contracts/cells.ts";
import type { Random } from "../common/random.ts";
import type { Certificates } from "./certificates.ts";
import { ControlClient } from "./control-client.ts";
import { followCells } from "./follow-cells.ts";
import type { CellEntry } from "./core/cell-entry.ts";
import { fromRow } from "./core/digest.ts";
import type { ServiceDigest } from "./core/digest.ts";
import type { CellPods } from "./core/share-plan.ts";
import { Snapshot } from "./core/snapshot.ts";
import type { CellDirectory } from "./directory.ts";

export interface PeerPodsOptions {
  readonly directory: CellDirectory;
  readonly certificates: Certificates;
  readonly name: string;
  readonly random: Random;
  readonly now: () => number;
}

export class PeerPods {
  readonly snapshot = new Snapshot();
  readonly #options: PeerPodsOptions;
  readonly #clients = new Map<string, ControlClient>();

  constructor(options: PeerPodsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.directory.onChange(() => this.#useCells());
    this.#useCells();
  }

  close(): void {
    for (const client of this.#clients.values()) client.close();
  }

  podsOf(service: string): readonly CellPods[] {
    const { directory, now } = this.#options;
    return directory.others().flatMap(({ name }) => {
      const digest = this.#digestOf(name, service, now());
      return digest === null ? [] : [{ cell: name, pods: digest.pods }];
    });
  }

  #digestOf(cell: string, service: string, now: number): ServiceDigest | null {
    return this.snapshot.isFresh(cell, now) ? this.snapshot.digestOf(cell, service) : null;
  }

  #useCells(): void {
    followCells(this.#options.directory.others(), {
      clients: this.#clients,
      connect: (cell) => this.#connect(cell),
      forget: (name) => this.snapshot.forget(name),
    });
  }

  #connect(cell: CellEntry): void {
    const { certificates, directory, name, random, now } = this.#options;
    const client = new ControlClient(cell, {
      certificates,
      own: directory.own,
      name,
      digests: true,
      entry: false,
      random,
      now,
      onMessage: (message) => this.#onMessage(cell.name, message),
    });
    this.#clients.set(cell.name, client);
    client.start();
  }

  #onMessage(cell: string, message: ControlMessage): void {
    if (message.kind !== "digest" || message.at === 0) return;
    const digests = message.rows.flatMap((row) => fromRow(row) ?? []);
    this.snapshot.learn(cell, digests, message.at, this.#options.now());
    if (message.completeSince !== undefined) this.snapshot.complete(cell, message.completeSince);
  }
}
