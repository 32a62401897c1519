/**
 * Where activators take pushes: the addresses behind a headless Service in a cluster, a watched
 * file on one machine. Read anew at each connect, so a list never grows stale by caching.
 */
import type { FSWatcher } from "node:fs";
import { readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { searchedDomain } from "../common/cluster-domain.ts";
import { PUSH_PORT } from "../common/contracts/push.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface ActivatorDirectory {
  list(): Promise<readonly Endpoint[]>;
  /** Calls when the list may have changed. */
  watch(onChange: () => void): void;
  stop(): void;
}

const FILE = "activators";
const SERVICE = "activator-push";

type Lookup = (name: string) => Promise<readonly { readonly address: string }[]>;

/** For tests; a pod has the defaults. */
export interface DnsDirectoryOptions {
  readonly lookup?: Lookup;
  readonly resolver?: string;
}

export function createDnsDirectory(
  systemNamespace: string,
  options: DnsDirectoryOptions = {},
): ActivatorDirectory {
  const { lookup = lookupAll, resolver = "/etc/resolv.conf" } = options;
  const name = `${SERVICE}.${systemNamespace}.svc`;
  return {
    list: async () => {
      // With the whole name one question is enough; a short one is tried in each search domain
      // before its own, and this is part of every cold start.
      const domain = searchedDomain(readText(resolver));
      const names = domain === undefined ? [name] : [`${name}.${domain}.`, name];
      for (const asked of names) {
        try {
          const found = await lookup(asked);
          if (found.length > 0)
            return found.map(({ address }) => ({ host: address, port: PUSH_PORT }));
        } catch {
          // The next one, or the next try of the reporter.
        }
      }
      return [];
    },
    watch: () => {},
    stop: () => {},
  };
}

/** Fetched here, since only a cluster needs it and an import costs every start. */
const dns = () => process.getBuiltinModule("node:dns/promises");

/**
 * A whole name is asked of the name server itself, one question for the family that answers. The way
 * of the C library asks for both, with a thread and several files, and Node first compiles an
 * expression of 4 ms to see that the name is no address.
 */
async function lookupAll(name: string): ReturnType<Lookup> {
  if (!name.endsWith(".")) return dns().lookup(name, { all: true });
  const { resolve4, resolve6 } = dns();
  const found = await resolve4(name).catch(() => resolve6(name));
  return found.map((address) => ({ address }));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

export function createFileDirectory(podRoot: string): ActivatorDirectory {
  let watcher: FSWatcher | undefined;
  return {
    list: () => Promise.resolve(readEndpoints(join(podRoot, FILE))),
    watch: (onChange) => {
      try {
        // The folder, not the file: an atomic replacement is another file under the same name.
        watcher = watch(podRoot, (_event, name) => {
          if (name === null || name === FILE) onChange();
        });
        watcher.on("error", () => watcher?.close());
        watcher.unref();
      } catch {
        // Without a watch the retry timer of the reporter finds the change.
      }
    },
    stop: () => watcher?.close(),
  };
}

function readEndpoints(path: string): Endpoint[] {
  return readText(path)
    .split("\n")
    .flatMap((line) => {
      const match = /^\s*\[?([^\s\]]+)\]?:(\d{1,5})\s*$/.exec(line);
      return match === null ? [] : [{ host: match[1] ?? "", port: Number(match[2]) }];
    });
}
