/**
 * Asks a sidecar to hand a call back that still waits there. The sidecar alone knows whether it
 * does: it ends the waiting attempt with `handed_back`, or says that it is too late.
 */
import { request } from "node:http";
import { RETURN_HEADER, TARGET_UID_HEADER } from "../common/contracts/headers.ts";

const LIMIT_MS = 1_000;

export interface HeldCall {
  readonly leaseId: string;
  readonly targetUid: string;
  /** `ip:port` of the sidecar. */
  readonly address: string;
}

/** Never rejects; true when the call was handed back. */
export function askBack(call: HeldCall): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request(
      `http://${call.address}/`,
      {
        agent: false,
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
