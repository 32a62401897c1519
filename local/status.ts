/** The controller's status of each revision, and the file that the command line reads. */
import type { ScalerStatus, StatusSink } from "../autoscaler/ports.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { StatusRecord } from "./platform-types.ts";
import { RUN_FILES } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";

/** A burst of changes becomes one file. */
const WRITE_DELAY_MS = 50;

export class ScalerStatuses implements StatusSink {
  readonly #statuses = new Map<RevisionKey, ScalerStatus>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  writeStatus(key: RevisionKey, status: ScalerStatus): Promise<void> {
    this.#statuses.set(key, status);
    this.#onChange();
    return Promise.resolve();
  }

  get(key: RevisionKey): ScalerStatus | undefined {
    return this.#statuses.get(key);
  }

  /** Drops what belongs to revisions that are gone. */
  prune(exists: (key: RevisionKey) => boolean): void {
    for (const key of this.#statuses.keys()) if (!exists(key)) this.#statuses.delete(key);
  }
}

/** Writes `status.json` a moment after each change. */
export class StatusFile {
  readonly #folder: RunFolder;
  readonly #read: () => StatusRecord;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: RunFolder, read: () => StatusRecord) {
    this.#folder = folder;
    this.#read = read;
  }

  touch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#writing
        .then(() => this.#folder.writeJson(RUN_FILES.status, this.#read()))
        // The folder is gone at the end of a run.
        .catch(() => undefined);
    }, WRITE_DELAY_MS);
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing;
  }
}
