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
import type { AppliedService, AppliedServices } from "./platform-types.ts";
import { formatFinding, readServiceFile } from "./service-files.ts";
import type { ServiceRecord } from "./revisions.ts";
import type { FileFinding, FileReading, ServiceDefinition } from "./service-types.ts";

export interface LoaderOptions {
  readonly book: ServiceBook;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly onError: (finding: FileFinding) => void;
  readonly onWarning: (finding: FileFinding) => void;
}

export type LoadResult = AppliedServices;

export class Loader {
  readonly #options: LoaderOptions;
  /** In the order of the command line: the first file that names a service owns it. */
  readonly #readings = new Map<string, FileReading>();
  /** Services that were deleted while a file still names them: they stay away until applied. */
  readonly #deleted = new Set<RevisionKey>();
  #engine: Promise<EngineCheck> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  get files(): readonly string[] {
    return [...this.#readings.keys()];
  }

  /** Files that changed. One load at a time, in the order of the calls. */
  load(files: readonly string[]): Promise<LoadResult> {
    return this.#inTurn(() => this.#load(files));
  }

  /** As `load`; services of these files that were deleted come back. */
  apply(files: readonly string[]): Promise<LoadResult> {
    return this.#inTurn(async () => {
      for (const file of files) {
        const reading = await readServiceFile(file, this.#options.hostEnv);
        for (const { key } of reading.services) this.#deleted.delete(key);
      }
      return this.#load(files);
    });
  }

  /** Removes services, and files with all of theirs; answers the services that went. */
  remove(
    services: readonly RevisionKey[],
    files: readonly string[],
  ): Promise<readonly RevisionKey[]> {
    return this.#inTurn(async () => {
      const before = this.#keys();
      for (const key of services) this.#deleted.add(key);
      for (const file of files) this.#readings.delete(file);
      await this.#load([]);
      const after = new Set(this.#keys());
      return before.filter((key) => !after.has(key));
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  #keys(): readonly RevisionKey[] {
    return this.#options.book.services().map(({ definition }) => definition.key);
  }

  async #load(files: readonly string[]): Promise<LoadResult> {
    const { hostEnv, book, onError, onWarning } = this.#options;
    const before = new Map(book.services().map((service) => [service.definition.key, service]));
    // A container engine that was started meanwhile shall be found.
    this.#engine = undefined;
    for (const file of files) this.#readings.set(file, await readServiceFile(file, hostEnv));
    const errors: string[] = [];
    const warnings: string[] = [];
    const fault = (finding: FileFinding): void => {
      errors.push(formatFinding(finding));
      onError(finding);
    };
    const fresh = files.flatMap((file) => this.#readings.get(file) ?? []);
    for (const reading of fresh) {
      reading.errors.forEach(fault);
      reading.warnings.forEach(onWarning);
      warnings.push(...reading.warnings.map(formatFinding));
    }
    const kept = await this.#applyAll(new Set(files), fault);
    for (const key of before.keys()) if (!kept.has(key)) book.remove(key);
    return { services: this.#changes(fresh, before), errors, warnings };
  }

  /** What became of the services of these files; one that was not taken is no change. */
  #changes(
    readings: readonly FileReading[],
    before: ReadonlyMap<RevisionKey, ServiceRecord>,
  ): readonly AppliedService[] {
    const after = new Map(this.#options.book.services().map((one) => [one.definition.key, one]));
    return readings.flatMap(({ file, services }) =>
      services.flatMap(({ key }) => {
        const [old, now] = [before.get(key), after.get(key)];
        if (now === undefined || now.definition.file !== file) return [];
        const change = old === undefined ? "created" : old === now ? "unchanged" : "configured";
        return [{ key, change, revision: now.revisions.at(-1)?.name ?? "" } as const];
      }),
    );
  }

  /** Applies what is good, and answers the keys that some file still names. */
  async #applyAll(
    fresh: ReadonlySet<string>,
    fault: (finding: FileFinding) => void,
  ): Promise<ReadonlySet<RevisionKey>> {
    const owners = new Map<RevisionKey, string>();
    for (const reading of this.#wished()) {
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

  /** What the files ask for, without the services that were deleted since. */
  #wished(): readonly FileReading[] {
    const isWished = (key: RevisionKey): boolean => !this.#deleted.has(key);
    return [...this.#readings.values()].map((reading) => ({
      ...reading,
      services: reading.services.filter(({ key }) => isWished(key)),
      faulty: reading.faulty.filter(isWished),
    }));
  }

  #keepOwn(file: string, owners: Map<RevisionKey, string>): void {
    for (const { definition } of this.#options.book.services()) {
      const isDeleted = this.#deleted.has(definition.key);
      if (definition.file === file && !isDeleted) owners.set(definition.key, file);
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
