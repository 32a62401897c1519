/**
 * A Knative Service as local mode understands it, after validation and defaulting: the middle
 * model between service files and pods. Plain data.
 */
import type { AppProtocol, RevisionKey } from "../common/contracts/routing.ts";

export interface HttpGetProbe {
  readonly path: string;
  /** 0: the user port. */
  readonly port: number;
  readonly scheme: "HTTP" | "HTTPS";
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

export type ProbeHandler =
  | { readonly kind: "http"; readonly http: HttpGetProbe }
  | { readonly kind: "tcp"; readonly port: number }
  | { readonly kind: "grpc"; readonly port: number; readonly service: string }
  | { readonly kind: "exec"; readonly command: readonly string[] };

export interface Probe {
  readonly handler: ProbeHandler;
  readonly initialDelaySeconds: number;
  /** 0 where the file names none: the sidecar then probes as fast as it likes. */
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
}

export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Port the file asks for; each local pod gets a free one of its own instead. */
  readonly containerPort: number;
  readonly protocol: AppProtocol;
  readonly readiness: Probe;
  readonly startup: Probe | null;
  readonly liveness: Probe | null;
  /** Asks for a GPU resource; decides defaults and what a container engine is told. */
  readonly wantsGpu: boolean;
  /** What it asks for, `null` where the file says nothing; base of the cpu and memory metrics. */
  readonly cpuCores: number | null;
  readonly memoryBytes: number | null;
}

/** What a revision is made of. A change of any of it makes a new revision. */
export interface TemplateSpec {
  /** Name that the file gives its revision; empty: `SERVICE-00001` and so on. */
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly containerConcurrency: number;
  readonly timeoutSeconds: number;
  readonly responseStartTimeoutSeconds: number;
  readonly idleTimeoutSeconds: number;
  readonly container: ContainerSpec;
}

export interface TrafficEntry {
  /** `null`: the latest ready revision. */
  readonly revision: string | null;
  readonly percent: number;
  readonly tag: string;
}

export interface ServiceDefinition {
  readonly key: RevisionKey;
  readonly namespace: string;
  readonly name: string;
  readonly file: string;
  /** Folder of the file: where `pilotlight.dev/local-command` runs. */
  readonly folder: string;
  /** Of the Service itself; the live keys among them win over the template's. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly template: TemplateSpec;
  readonly traffic: readonly TrafficEntry[];
}

/** Something wrong (or remarkable) in a service file, with the place where to look. */
export interface FileFinding {
  readonly file: string;
  /** 1-based line of the document or of the fault; 0 when unknown. */
  readonly line: number;
  /** `namespace/name`, empty when the document has none. */
  readonly service: string;
  readonly text: string;
}

/** All that one reading of one file gives. */
export interface FileReading {
  readonly file: string;
  readonly services: readonly ServiceDefinition[];
  readonly errors: readonly FileFinding[];
  readonly warnings: readonly FileFinding[];
  /** Services named in the file that have faults: they keep their last good definition. */
  readonly faulty: readonly RevisionKey[];
}
