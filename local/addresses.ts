/**
 * Addresses and ports of local pods. Each pod has an address of its own in 127.0.0.0/8, where its
 * sidecar uses the same ports as in a cluster, and a user port that is free on every address.
 */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { PlatformError } from "../common/errors.ts";
import type { Random } from "../common/random.ts";

/** A sidecar binds these on the pod's address. */
const SIDECAR_PROBE_PORT = 8022;
/** Below the range from which systems draw ports for outgoing connections, which could take ours. */
const USER_PORTS = { from: 20_000, to: 32_000 } as const;
const MAX_TRIES = 200;

export interface AddressBook {
  takeAddress(): Promise<string>;
  takePort(): Promise<number>;
  giveBack(address: string, port: number): void;
}

export function createAddressBook(random: Random): AddressBook {
  const addresses = new Set<string>();
  const ports = new Set<number>();
  // Each platform begins somewhere else, so that two on one machine seldom meet.
  let next = 256 + Math.floor(random() * 0xfe_0000);
  let nextPort = USER_PORTS.from + Math.floor(random() * (USER_PORTS.to - USER_PORTS.from));

  const addressAt = (number: number): string =>
    `127.${1 + ((number >> 16) % 254)}.${(number >> 8) & 255}.${number & 255}`;

  return {
    takeAddress: async () => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        next += 1;
        const address = addressAt(next);
        if (addresses.has(address) || next % 256 === 0 || next % 256 === 255) continue;
        addresses.add(address);
        if (await isFree(address, SIDECAR_PROBE_PORT)) return address;
        addresses.delete(address);
      }
      throw new PlatformError(
        "ERR_INTERNAL",
        "No free address in 127.0.0.0/8. Local mode needs the whole loopback block, as Linux has it.",
      );
    },
    takePort: async () => {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        nextPort = nextPort >= USER_PORTS.to ? USER_PORTS.from : nextPort + 1;
        const port = nextPort;
        if (ports.has(port)) continue;
        ports.add(port);
        if (await isFree("0.0.0.0", port)) return port;
        ports.delete(port);
      }
      throw new PlatformError("ERR_INTERNAL", "No free port between 20000 and 32000.");
    },
    giveBack: (address, port) => {
      addresses.delete(address);
      ports.delete(port);
    },
  };
}

export async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** The wished port where it is free, else any; 0 wishes for nothing. */
export async function findFreePort(host: string, wished: number): Promise<number> {
  if (wished > 0 && (await isFree(host, wished))) return wished;
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port: 0, exclusive: true }, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
