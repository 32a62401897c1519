/**
 * What cells say to each other over their peer ports: names in certificates, headers of a hop, and
 * the messages of the control stream, one JSON object per line.
 */

/** The certificate of a cell names `<cell>.` and this. */
export const CELL_DOMAIN = "cells.pilotlight.dev";
/** Negotiated for a control stream; anything else on a peer port is proxied traffic. */
export const CONTROL_PROTOCOL = "pilotlight-cells/1";
/** Files of a certificate folder, as a Secret of type `kubernetes.io/tls` has them. */
export const CERTIFICATE_FILES = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" } as const;

/** From the one who opened the stream. */
export type ControlRequest =
  | {
      readonly kind: "hello";
      readonly cell: string;
      /** Process of the cell. */
      readonly name: string;
      /** Digests are wanted: an activator asks, an autoscaler does not. */
      readonly digests: boolean;
      /** Requests enter there: slots are offered to it. */
      readonly entry: boolean;
    }
  /** `at` is the sender's own clock, and comes back as it is. */
  | { readonly kind: "ping"; readonly at: number }
  | {
      readonly kind: "share";
      readonly id: number;
      readonly service: string;
      readonly number: number;
      readonly holds: number;
      readonly wants: number;
      readonly max: number;
      readonly movedFrom: string;
    }
  /** Everything that this cell holds in books of the receiver was told since the mark was made. */
  | { readonly kind: "told"; readonly mark: string }
  | { readonly kind: "forget"; readonly id: number; readonly cell: string };

/** From the one who accepted it. */
export type ControlReply =
  | { readonly kind: "pong"; readonly at: number }
  | {
      readonly kind: "digest";
      /** The latest `ping.at` that had arrived; 0 before any. */
      readonly at: number;
      readonly rows: readonly unknown[];
      /** The last part of a whole digest that began with the echo `since`. */
      readonly completeSince?: number;
    }
  | {
      readonly kind: "granted";
      readonly id: number;
      readonly outcome: "ok" | "old" | "hearing" | "failed";
      readonly share: number;
      readonly numberOnRecord: number;
      /** Pods that the book may still grant; 0 while it hears. */
      readonly free: number;
      readonly unheard: readonly string[];
      readonly mark: string;
    }
  /** The receiver must say what it holds of this service. */
  | { readonly kind: "hear"; readonly service: string }
  | { readonly kind: "forgotten"; readonly id: number; readonly pods: number };

export type ControlMessage = ControlRequest | ControlReply;
