/** The lease that an assignment through the store's channel stands for. */
import type { Assignment } from "../common/contracts/channels.ts";
import type { Lease } from "../store/types.ts";

export function leaseOf(assignment: Assignment): Lease {
  const { leaseId, targetUid, address, arrivedAt, grantedAt } = assignment;
  const { orderClass, orderKeyUs: keyUs, workUs } = assignment;
  return {
    leaseId,
    targetUid,
    address,
    arrivedAt,
    grantedAt,
    ...(orderClass === undefined || keyUs === undefined ? {} : { order: { orderClass, keyUs } }),
    ...(workUs === undefined ? {} : { workUs }),
  };
}
