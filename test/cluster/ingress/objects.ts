/** The parts of Knative's and Kubernetes' objects that become routes. */
import type { KubeObject } from "./api.ts";

export interface Split {
  readonly serviceName: string;
  readonly serviceNamespace: string;
  readonly servicePort: number | string;
  readonly percent?: number;
  readonly appendHeaders?: Readonly<Record<string, string>>;
}

export interface IngressPath {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, { readonly exact: string }>>;
  readonly rewriteHost?: string;
  readonly appendHeaders?: Readonly<Record<string, string>>;
  readonly splits: readonly Split[];
}

export interface IngressRule {
  readonly hosts: readonly string[];
  readonly visibility?: "ExternalIP" | "ClusterLocal";
  readonly http?: { readonly paths: readonly IngressPath[] };
}

export interface Ingress extends KubeObject {
  readonly spec: { readonly rules?: readonly IngressRule[] };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export interface Service extends KubeObject {
  readonly spec: {
    readonly type?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  };
}

export interface Endpoints extends KubeObject {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly ip: string }[];
    readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  }[];
}

export interface World {
  readonly ingresses: ReadonlyMap<string, Ingress>;
  readonly services: ReadonlyMap<string, Service>;
  readonly endpoints: ReadonlyMap<string, Endpoints>;
}
