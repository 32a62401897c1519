/** The controller's log: standard error until there is a run folder, then a bounded file in it. */
import { LogFile } from "./log-file.ts";
import { RUN_FILES } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";

export class PlatformLog {
  #file: LogFile | undefined;

  readonly write = (line: string): void => {
    if (this.#file === undefined) process.stderr.write(line);
    else this.#file.write(Buffer.from(line));
  };

  moveTo(folder: RunFolder): void {
    this.#file = new LogFile(folder.at(RUN_FILES.logs, "platform.log"));
  }

  close(): void {
    this.#file?.close();
  }
}
