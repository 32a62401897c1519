/** `routes.json`: written at each change of services, one writing at a time, the newest wins. */
import type { RouteTable } from "../common/contracts/local-run.ts";
import { RUN_FILES } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";

export class RouteFile {
  readonly #folder: RunFolder;
  readonly #read: () => RouteTable;
  #last = "";
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: RunFolder, read: () => RouteTable) {
    this.#folder = folder;
    this.#read = read;
  }

  /** Resolves when the file holds at least what was known at the call. */
  write(): Promise<void> {
    const written = this.#writing.then(async () => {
      const table = this.#read();
      const routes = JSON.stringify(table.routes);
      if (routes === this.#last) return;
      await this.#folder.writeJson(RUN_FILES.routes, table);
      this.#last = routes;
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }
}
