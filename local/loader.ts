/**
 * From files to the service book: reads what changed, resolves commands, reports findings, and
 * decides which definition of a service holds. A faulty service keeps its last good definition.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import { findContainerEngine } from "./container-engine.ts";
import type { EngineCheck } from "./container-engine.ts";
import { findLaunch } from "./launch.ts";
import type { Launch } from "./launch.ts";
import type { ServiceBook } from "./object-files.ts";
import { readServiceFile } from "./service-files.ts";
import type { FileFinding, FileReading, ServiceDefinition } from "./service-types.ts";

export interface LoaderOptions {
  readonly book: ServiceBook;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly onError: (finding: FileFinding) => void;
  readonly onWarning: (finding: FileFinding) => void;
}

export interface LoadResult {
  readonly services: number;
  readonly errors: number;
}

export class Loader {
  readonly #options: LoaderOptions;
  /** In the order of the command line: the first file that names a service owns it. */
  readonly #readings = new Map<string, FileReading>();
  #engine: Promise<EngineCheck> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  /** One load at a time, in the order of the calls. */
  load(files: readonly string[]): Promise<LoadResult> {
    const result = this.#turn.then(() => this.#load(files));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #load(files: readonly string[]): Promise<LoadResult> {
    const { hostEnv, book, onError, onWarning } = this.#options;
    const before = new Set(book.services().map((service) => service.definition.key));
    // A container engine that was started meanwhile shall be found.
    this.#engine = undefined;
    for (const file of files) this.#readings.set(file, await readServiceFile(file, hostEnv));
    let errors = 0;
    const fault = (finding: FileFinding): void => {
      errors += 1;
      onError(finding);
    };
    for (const file of files) {
      this.#readings.get(file)?.errors.forEach(fault);
      this.#readings.get(file)?.warnings.forEach(onWarning);
    }
    const kept = await this.#applyAll(new Set(files), fault);
    for (const key of before) if (!kept.has(key)) book.remove(key);
    return { services: book.services().length, errors };
  }

  /** Applies what is good, and answers the keys that some file still names. */
  async #applyAll(
    fresh: ReadonlySet<string>,
    fault: (finding: FileFinding) => void,
  ): Promise<ReadonlySet<RevisionKey>> {
    const owners = new Map<RevisionKey, string>();
    for (const reading of this.#readings.values()) {
      for (const key of reading.faulty) owners.set(key, reading.file);
      // A document that cannot be read might be any of the file's services: they all stay.
      if (hasUnnamedFault(reading)) this.#keepOwn(reading.file, owners);
      for (const service of reading.services) {
        const owner = owners.get(service.key);
        if (owner === undefined || owner === reading.file) {
          owners.set(service.key, reading.file);
          await this.#apply(service, fresh.has(reading.file) ? fault : () => undefined);
        } else if (fresh.has(reading.file)) {
          fault(finding(service, `service ${service.key} also stands in ${owner}`));
        }
      }
    }
    return new Set(owners.keys());
  }

  #keepOwn(file: string, owners: Map<RevisionKey, string>): void {
    for (const { definition } of this.#options.book.services()) {
      if (definition.file === file) owners.set(definition.key, file);
    }
  }

  async #apply(service: ServiceDefinition, fault: (finding: FileFinding) => void): Promise<void> {
    const launch = await this.#launchOf(service);
    const text = typeof launch === "string" ? launch : this.#options.book.apply(service, launch);
    if (text !== "") fault(finding(service, text));
  }

  async #launchOf(service: ServiceDefinition): Promise<Launch | string> {
    const findEngine = (): Promise<EngineCheck> => (this.#engine ??= findContainerEngine());
    const result = await findLaunch(service, findEngine, this.#options.hostEnv["PATH"]);
    return result.kind === "found" ? result.launch : result.text;
  }
}

function hasUnnamedFault(reading: FileReading): boolean {
  return reading.errors.some((error) => error.service === "");
}

function finding(service: ServiceDefinition, text: string): FileFinding {
  return { file: service.file, line: 0, service: service.key, text };
}
