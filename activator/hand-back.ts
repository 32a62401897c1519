/**
 * Asks a sidecar to hand a call back that still waits there. The sidecar alone knows whether it
 * does: it ends the waiting attempt with `handed_back`, or says that it is too late.
 */
import { request } from "node:http";
import { RETURN_HEADER, TARGET_UID_HEADER } from "../common/contracts/headers.ts";
import type { Dialer } from "../proxy/types.ts";
import { addressOf } from "./attempt-plan.ts";

const LIMIT_MS = 1_000;

export interface HeldCall {
  readonly leaseId: string;
  readonly targetUid: string;
  /** `ip:port` of the sidecar. */
  readonly address: string;
}

/** Over TLS where pods are reached so. Never rejects; true when the call was handed back. */
export function askBack(call: HeldCall, dialer?: Dialer): Promise<boolean> {
  const where = addressOf(call.address, dialer);
  return new Promise((resolve) => {
    const asking = request(
      {
        ...where,
        path: "/",
        ...(dialer === undefined
          ? { agent: false }
          : { createConnection: () => dialer.dial(where) }),
        timeout: LIMIT_MS,
        headers: { [TARGET_UID_HEADER]: call.targetUid, [RETURN_HEADER]: call.leaseId },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    asking.on("timeout", () => asking.destroy());
    asking.on("error", () => resolve(false));
    asking.end();
  });
}
