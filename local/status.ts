/**
 * What the parts know, joined for people: the summaries of services, the file that the command
 * line reads, and the controller's status of each revision.
 */
import type { ScalerStatus, StatusSink } from "../autoscaler/ports.ts";
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { ChildPods } from "./child-pods.ts";
import type { ServiceBook } from "./object-files.ts";
import type { ServiceSummary, StatusRecord } from "./platform-types.ts";
import type { RevisionRecord, ServiceRecord } from "./revisions.ts";
import type { PodSummary } from "./pod-types.ts";
import { RUN_FILES } from "./run-folder.ts";
import type { RunFolder } from "./run-folder.ts";
import { serviceHost, trafficShares } from "./traffic.ts";

/** A burst of changes becomes one file. */
const WRITE_DELAY_MS = 50;

export interface StatusSources {
  readonly book: ServiceBook;
  readonly pods: ChildPods;
  readonly ingressPort: number;
}

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

export function summarizeServices(
  sources: StatusSources,
  statuses: ScalerStatuses,
): readonly ServiceSummary[] {
  return sources.book.services().map((service) => {
    const { key, namespace, name, file } = service.definition;
    const url = `http://${serviceHost(namespace, name)}:${sources.ingressPort}`;
    const revisions = service.revisions.map((revision) =>
      summarizeRevision({ service, revision, sources, status: statuses.get(revision.key) }),
    );
    return { key, namespace, name, url, file, revisions };
  });
}

interface RevisionParts {
  readonly service: ServiceRecord;
  readonly revision: RevisionRecord;
  readonly sources: StatusSources;
  readonly status: ScalerStatus | undefined;
}

function summarizeRevision(parts: RevisionParts): ServiceSummary["revisions"][number] {
  const { service, revision, sources, status } = parts;
  const share = trafficShares(service).find((target) => target.revision === revision.name);
  const pods = sources.pods.summaries().filter((pod) => pod.key === revision.key);
  return {
    key: revision.key,
    name: revision.name,
    percent: share?.percent ?? 0,
    command: revision.launch.shown,
    desiredScale: status?.desiredScale ?? 0,
    containerConcurrency: revision.template.containerConcurrency,
    problem: problemOf(pods, status),
    pods,
  };
}

function problemOf(pods: readonly PodSummary[], status: ScalerStatus | undefined): string {
  const failing = pods.find((pod) => pod.failure !== null)?.failure;
  if (failing !== undefined && failing !== null) return failing.message;
  const ready = status?.conditions.find(({ type }) => type === "Ready");
  // At zero by its own will is no problem.
  return ready?.status === "False" && ready.reason !== "NoTraffic" ? ready.message : "";
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
