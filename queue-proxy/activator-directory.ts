/**
 * Where activators take pushes: the addresses behind a headless Service in a cluster, a watched
 * file on one machine. Read anew at each connect, so a list never grows stale by caching.
 */
import type { FSWatcher } from "node:fs";
import { readFileSync, watch } from "node:fs";
import { join } from "node:path";
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

export function createDnsDirectory(systemNamespace: string): ActivatorDirectory {
  const name = `${SERVICE}.${systemNamespace}.svc`;
  return {
    list: async () => {
      try {
        // Fetched here, since only a cluster needs it and an import costs every start.
        const dns = process.getBuiltinModule("node:dns/promises");
        const found = await dns.lookup(name, { all: true });
        return found.map(({ address }) => ({ host: address, port: PUSH_PORT }));
      } catch {
        return [];
      }
    },
    watch: () => {},
    stop: () => {},
  };
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
  let content: string;
  try {
    content = readFileSync(path, "utf8");
  } catch {
    return [];
  }
  return content.split("\n").flatMap((line) => {
    const match = /^\s*\[?([^\s\]]+)\]?:(\d{1,5})\s*$/.exec(line);
    return match === null ? [] : [{ host: match[1] ?? "", port: Number(match[2]) }];
  });
}
