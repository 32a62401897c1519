/** What a row of the proof is, and where it runs. */
import type { Stage } from "./stage.ts";

export const PATHS = ["activator+queue-proxy", "queue-proxy"] as const;
export type PathName = (typeof PATHS)[number];

export type ServiceName =
  | "web"
  | "limits"
  | "sockets"
  | "grpc"
  | "zero"
  | "cold"
  | "empty"
  | "late"
  | "loading";

/** Where a client connects for a service, and what it says the service is. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly authority: string;
}

export interface Place {
  readonly path: PathName;
  readonly stage: Stage;
  at(service: ServiceName): Target;
}

export interface ProtocolRow {
  readonly row: string;
  /** The program or library that speaks. */
  readonly client: "curl" | "node:http2" | "node:http" | "grpc-js" | "ws" | "raw socket";
  /** Both when absent. */
  readonly only?: PathName;
  /** Runs beside the others, because it mostly waits. */
  readonly waits?: boolean;
  /** Starts processes of the product: beside the others too, but one at a time, and after those that wait. */
  readonly startsProcess?: boolean;
  /** Throws when what comes is not what should. */
  run(place: Place): Promise<void>;
}
