/** What is known of a pod that pushes, apart because pure code and the identity both speak of it. */
import type { StartMarks } from "../../common/contracts/routing.ts";

/** What a valid token says. */
export interface PodClaim {
  readonly uid: string;
  readonly podName: string;
  readonly namespace: string;
  /** Instant, ms since the epoch. */
  readonly expiresAt: number;
}

/** What is known of the pod from its own record, not from the sidecar. */
export interface PodFacts {
  readonly uid: string;
  readonly podName: string;
  readonly namespace: string;
  readonly service: string;
  readonly revision: string;
  /** Empty while the platform does not say it; then the source address of the push stands. */
  readonly address: string;
  /** Empty: not known here, and what is on record stands. */
  readonly card: string;
  readonly marks: StartMarks;
  /** Absent where the sidecar's word is enough. */
  readonly gate?: KubeletGate;
  /** Taken from the routing state, because the API server was away; to be read again. */
  readonly isBorrowed?: boolean;
}

/** The pod must be Ready as well: once, or whenever it is to be used. */
export interface KubeletGate {
  readonly until: "first" | "always";
  readonly isOpen: boolean;
}
