/**
 * Drops function libraries that no process uses any more. Each process notes now and then which
 * library it uses, by the server's time; one that nobody noted for a day goes. A wrong guess costs
 * little: who still uses it finds it missing, loads it again and repeats the call.
 */
import type { Redis } from "ioredis";
import { primariesOf } from "./client.ts";
import type { StoreClient, StoreLogger } from "./client.ts";
import type { ScriptCaller } from "./script-caller.ts";
import type { ScriptLibrary } from "./load-scripts.ts";

export interface LibraryTimes {
  /** Between two notes of one process, in ms. */
  readonly everyMs: number;
  /** A library without a note for so long is dropped, in ms. */
  readonly keptMs: number;
}

/** A rollout that is stopped half way for a night must not cost its other version anything. */
export const LIBRARY_TIMES: LibraryTimes = { everyMs: 600_000, keptMs: 86_400_000 };
/** Hash: library -> ms of its last note. Libraries belong to the server, so no prefix is in front. */
const NOTES = "pilotlight:libraries";
const OURS = "pilotlight_";
const MS_PER_SECOND = 1_000;
const US_PER_MS = 1_000;

export interface LibraryKeeperParts {
  readonly client: StoreClient;
  readonly caller: ScriptCaller;
  readonly library: ScriptLibrary;
  readonly logger?: StoreLogger | undefined;
  readonly times?: LibraryTimes | undefined;
}

export class LibraryKeeper {
  readonly #parts: LibraryKeeperParts;
  readonly #times: LibraryTimes;
  readonly #timer: NodeJS.Timeout;

  constructor(parts: LibraryKeeperParts) {
    this.#parts = parts;
    this.#times = parts.times ?? LIBRARY_TIMES;
    // A store that is away now is asked again in the next round.
    this.#timer = setInterval(() => void this.#round().catch(() => undefined), this.#times.everyMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #round(): Promise<void> {
    const { caller, client, library } = this.#parts;
    const [seconds = 0, us = 0] = await caller.command((connection) => connection.time());
    const now = seconds * MS_PER_SECOND + Math.floor(us / US_PER_MS);
    await caller.command((connection) => connection.hset(NOTES, library.name, now));
    const loaded = await Promise.all(primariesOf(client).map(librariesOf));
    const others = new Set(loaded.flat().filter((name) => name !== library.name));
    // One that nobody has noted yet, as after a loss of the store, is given its whole time.
    for (const name of others) {
      await caller.command((connection) => connection.hsetnx(NOTES, name, now));
    }
    const notes = await caller.command((connection) => connection.hgetall(NOTES));
    const due = Object.keys(notes).filter((name) => now - Number(notes[name]) > this.#times.keptMs);
    for (const name of due) await this.#drop(name);
  }

  async #drop(name: string): Promise<void> {
    const { caller, client, logger } = this.#parts;
    await Promise.all(primariesOf(client).map((primary) => deleteFrom(primary, name)));
    await caller.command((connection) => connection.hdel(NOTES, name));
    logger?.info("dropped a function library that nobody uses", { library: name });
  }
}

async function librariesOf(primary: Redis): Promise<readonly string[]> {
  // Each entry is a flat list of names and values: library_name, its value, and so on.
  const entries = (await primary.function("LIST", "LIBRARYNAME", `${OURS}*`)) as unknown[][];
  return entries.map((entry) => String(entry[entry.indexOf("library_name") + 1]));
}

/** Another process may have been quicker, and a node that joined may never have had it. */
async function deleteFrom(primary: Redis, name: string): Promise<void> {
  try {
    await primary.function("DELETE", name);
  } catch (error) {
    if (!String(error).includes("Library not found")) throw error;
  }
}
