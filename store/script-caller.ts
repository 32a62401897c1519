/**
 * Calls scripts by their bindings: waits for the connection, loads the library when the server
 * does not have it, repeats within the deadline what another node or another moment may allow.
 * Acquires and releases come here from the batcher, alone or many in one call.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { PlatformError, errorText } from "../common/errors.ts";
import { Reply } from "./bindings/binding.ts";
import type { Binding, EncodeContext } from "./bindings/binding.ts";
import {
  isFunctionMissing,
  isRetriable,
  primariesOf,
  retryDelayMs,
  unavailable,
} from "./client.ts";
import type { ClientOptions, StoreClient } from "./client.ts";
import type { Keys } from "./keys.ts";
import type { ScriptLibrary } from "./load-scripts.ts";
import { ReadyGate } from "./ready-gate.ts";

export interface ScriptCaller {
  call<Request, Result>(
    binding: Binding<Request, Result>,
    revision: RevisionKey,
    request: Request,
  ): Promise<Result>;
  /** A plain command with the same patience. */
  command<Result>(send: (client: StoreClient) => Promise<Result>): Promise<Result>;
  /** Connected, and the library is loaded. */
  ready(): Promise<void>;
}

export interface CallerParts {
  readonly client: StoreClient;
  readonly keys: Keys;
  readonly library: ScriptLibrary;
  /** Time for scripts in us; absent: the server's. */
  readonly testTime?: (() => number) | undefined;
  readonly options: Pick<ClientOptions, "random" | "timeoutMs">;
}

export function createScriptCaller(parts: CallerParts): ScriptCaller {
  const { client, keys, library, testTime, options } = parts;
  // After the loader, which starts to load before those who waited go on.
  const loader = createLoader(client, library);
  const gate = new ReadyGate(client);
  const context = (): EncodeContext => ({
    keys,
    now: testTime === undefined ? "0" : String(testTime()),
  });

  /** Repeats `send` while that may help and time is left. */
  const patiently = async <Result>(send: () => Promise<Result>): Promise<Result> => {
    const deadlineAt = performance.now() + options.timeoutMs;
    for (let attempt = 1; ; attempt += 1) {
      const leftMs = deadlineAt - performance.now();
      try {
        if (!gate.isOpen) await gate.wait(leftMs);
        // Calls made while the library loads wait for it, so that they keep their order.
        if (loader.loading !== null) await loader.loading;
        return await send();
      } catch (error) {
        if (error instanceof PlatformError) throw error;
        if (isFunctionMissing(error)) {
          await loader.load().catch(ignoreRetriable);
        } else if (!isRetriable(error)) {
          throw refused(error);
        } else {
          await delay(Math.min(retryDelayMs(attempt, options.random), Math.max(0, leftMs)));
        }
        if (performance.now() >= deadlineAt) throw unavailable(errorText(error), error);
      }
    }
  };

  return {
    call: async (binding, revision, request) => {
      const name = library.functionName(binding.script);
      const names = keys.list(revision, binding.keys);
      const args = [...names, ...binding.encode(request, context())];
      const raw = await patiently(() => client.fcall(name, names.length, ...args));
      return binding.decode(new Reply(binding.script, raw), request);
    },
    command: (send) => patiently(() => send(client)),
    ready: async () => {
      await gate.wait(options.timeoutMs);
      await loader.load();
    },
  };
}

function ignoreRetriable(error: unknown): void {
  if (!isRetriable(error)) throw refused(error);
}

function refused(cause: unknown): PlatformError {
  return new PlatformError("ERR_STORE_REPLY", `The store refused a call: ${errorText(cause)}`, {
    cause,
  });
}

interface Loader {
  /** Set while the library is on its way. */
  readonly loading: Promise<void> | null;
  load(): Promise<void>;
}

/**
 * Loads the library on each connect and when it is missing, on every primary; concurrent callers
 * share one load.
 */
function createLoader(client: StoreClient, library: ScriptLibrary): Loader {
  let loading: Promise<void> | null = null;

  const send = async (): Promise<void> => {
    try {
      await Promise.all(primariesOf(client).map((primary) => loadInto(primary, library)));
    } finally {
      loading = null;
    }
  };
  const load = (): Promise<void> => (loading ??= send());
  // A failure here shows again at the first call.
  client.on("ready", () => void load().catch(() => undefined));

  return {
    get loading() {
      return loading;
    },
    load,
  };
}

async function loadInto(primary: Redis, library: ScriptLibrary): Promise<void> {
  try {
    await primary.function("LOAD", library.source);
  } catch (error) {
    if (!errorText(error).includes("already exists")) throw error;
  }
}
