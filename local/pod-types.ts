/** What a pod is made from, where it lives, and what it tells. */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { PodPhase, ScaledPod } from "../autoscaler/ports.ts";
import type { Launch } from "./launch.ts";
import type { TemplateSpec } from "./service-types.ts";

/** Everything about a pod that its revision decides. */
export interface PodPlan {
  readonly key: RevisionKey;
  readonly namespace: string;
  readonly service: string;
  readonly configuration: string;
  readonly revision: string;
  readonly template: TemplateSpec;
  readonly launch: Launch;
  readonly card: string;
  /** Cards that the service names, when it names more than one: its pods get them in turn. */
  readonly cards?: readonly string[];
}

/** Everything about a pod that is its own. */
export interface PodPlace {
  readonly uid: string;
  readonly name: string;
  /** In 127.0.0.0/8; the sidecar binds its ports there. */
  readonly address: string;
  readonly userPort: number;
  /** Folder that stands for `/` in the sidecar's eyes. */
  readonly root: string;
}

export interface PodSummary extends ScaledPod {
  readonly key: RevisionKey;
  readonly service: string;
  readonly revision: string;
  readonly address: string;
  readonly userPort: number;
  readonly userPid: number;
  readonly sidecarPid: number;
  readonly restarts: number;
}

export type PodEventKind = "starting" | "ready" | "unready" | "failed" | "draining" | "gone";

export interface PodEvent {
  readonly kind: PodEventKind;
  readonly phase: PodPhase;
  /** One line for a person, without the pod's name. */
  readonly text: string;
}
