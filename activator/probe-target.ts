/**
 * Asks a sidecar whether it serves, as Knative's own activator does; used for targets that the
 * store suspects or that sit in quarantine.
 */
import { request } from "node:http";
import { connect } from "node:net";
import {
  ACTIVATOR_PROBE_AGENT,
  NETWORK_PROBE_HEADER,
  TARGET_UID_HEADER,
} from "../common/contracts/headers.ts";

const PROBE_TIMEOUT_MS = 1_000;
const PROBE_WORD = "queue";

export interface ProbeTarget {
  readonly targetUid: string;
  /** `ip:port` of the sidecar. */
  readonly address: string;
}

/** `refused`: the sidecar lives and says no. `silent`: nobody answered. */
export type ProbeResult = "passed" | "refused" | "silent";

export type Probe = (target: ProbeTarget) => Promise<ProbeResult>;

/** Never rejects: anything but 200 with the word is a failed probe. */
export function probeTarget(target: ProbeTarget): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const probe = request(
      `http://${target.address}/healthz`,
      {
        agent: false,
        timeout: PROBE_TIMEOUT_MS,
        headers: {
          "user-agent": ACTIVATOR_PROBE_AGENT,
          [NETWORK_PROBE_HEADER]: PROBE_WORD,
          [TARGET_UID_HEADER]: target.targetUid,
        },
      },
      (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          if (body.length <= PROBE_WORD.length) body += chunk;
        });
        response.on("end", () => {
          const isPassed = response.statusCode === 200 && body === PROBE_WORD;
          resolve(isPassed ? "passed" : "refused");
        });
        response.on("error", () => resolve("silent"));
      },
    );
    const deadline = setTimeout(() => probe.destroy(), PROBE_TIMEOUT_MS);
    probe.on("close", () => {
      clearTimeout(deadline);
      resolve("silent");
    });
    probe.on("error", () => resolve("silent"));
    probe.end();
  });
}

export type Reach = (
  where: { readonly host: string; readonly port: number },
  limitMs: number,
) => Promise<boolean>;

/** What says that there is no way to the host; a refusal comes from one that lives. */
const NO_WAY: ReadonlySet<string> = new Set(["EHOSTUNREACH", "ENETUNREACH", "EHOSTDOWN"]);

/** Whether the host takes or refuses a connection within the limit; never rejects. */
export function isReachable(
  where: { readonly host: string; readonly port: number },
  limitMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(where);
    // After a stall of ours timers ring before sockets are read: one round of reading first.
    const deadline = setTimeout(() => setImmediate(() => done(false)), limitMs);
    const done = (isReached: boolean): void => {
      clearTimeout(deadline);
      socket.destroy();
      resolve(isReached);
    };
    socket.once("connect", () => done(true));
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => done(!NO_WAY.has(code)));
  });
}
