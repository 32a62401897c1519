/** Every binding, for the test that compares them with the headers of the scripts. */
import { acquireLease } from "./acquire-lease.ts";
import { forgetCell, readDigest, settleShare } from "./cells.ts";
import { leaveRevision, renewActivator } from "./activators.ts";
import { reportEvidence, reportHeartbeats, reportProbe, reportReadiness } from "./reports.ts";
import {
  askTicket,
  cancelTicket,
  listHeld,
  reassertLeases,
  releaseLease,
  serveRequests,
} from "./requests.ts";
import { configureRevision, readFigures, switchEvents } from "./revisions.ts";
import {
  acceptRun,
  claimRuns,
  finishRun,
  returnRun,
  settleRun,
  startRun,
  withdrawRun,
} from "./runs.ts";
import { closeCall, openCall } from "./workflows.ts";
import { comparePods, drainTarget, readTargets, removeTarget } from "./targets.ts";

export const ALL_BINDINGS = [
  acquireLease,
  releaseLease,
  serveRequests,
  cancelTicket,
  askTicket,
  listHeld,
  reassertLeases,
  reportReadiness,
  reportHeartbeats,
  reportEvidence,
  reportProbe,
  renewActivator,
  leaveRevision,
  configureRevision,
  readFigures,
  switchEvents,
  readDigest,
  settleShare,
  forgetCell,
  readTargets,
  comparePods,
  drainTarget,
  removeTarget,
  openCall,
  closeCall,
  acceptRun,
  withdrawRun,
  startRun,
  returnRun,
  finishRun,
  settleRun,
  claimRuns,
] as const;
