/** The three ways in which a store may stand, each as real servers on ports of their own. */
import { startSentinelSet, startValkeyCluster } from "../../support/valkey-sets.ts";
import type { SentinelSet, ValkeyCluster } from "../../support/valkey-sets.ts";
import { startValkey } from "../../support/valkey.ts";
import type { ValkeyServer } from "../../support/valkey.ts";

export type StoreKind = "single" | "sentinel" | "cluster";

/** One server that a fault may stop and start again on its port. */
export class SingleStore {
  server: ValkeyServer;

  constructor(server: ValkeyServer) {
    this.server = server;
  }

  async restartEmpty(awayMs: number): Promise<void> {
    const { port, pid } = this.server;
    process.kill(pid, "SIGKILL");
    await this.server.stop();
    await new Promise((resolve) => setTimeout(resolve, awayMs));
    this.server = await startValkey({ port });
  }
}

export interface Stores {
  readonly single: SingleStore;
  readonly sentinel: SentinelSet;
  readonly cluster: ValkeyCluster;
}

export interface StartedStore<Kind extends StoreKind> {
  readonly url: string;
  readonly store: Stores[Kind];
  stop(): Promise<void>;
}

const STARTERS: { readonly [Kind in StoreKind]: () => Promise<StartedStore<Kind>> } = {
  single: async () => {
    const store = new SingleStore(await startValkey());
    return { url: store.server.url, store, stop: () => store.server.stop() };
  },
  sentinel: async () => {
    const store = await startSentinelSet();
    return { url: store.url, store, stop: () => store.stop() };
  },
  cluster: async () => {
    const store = await startValkeyCluster("with-replicas");
    return { url: store.url, store, stop: () => store.stop() };
  },
};

export function startStore<Kind extends StoreKind>(kind: Kind): Promise<StartedStore<Kind>> {
  return STARTERS[kind]();
}
