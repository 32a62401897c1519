/** Asynchronous runs and webhooks of one activator: the parts put together, their start and end. */
import type { Random } from "../../common/random.ts";
import type { Upstream } from "../../proxy/upstream.ts";
import type { RunStore } from "../../store/run-types.ts";
import type { ActivatorConfig } from "../config.ts";
import { createAddressGuard } from "../core/webhook-address.ts";
import type { DispatchParts } from "../dispatch-parts.ts";
import { Dispatch } from "../dispatch.ts";
import type { Revisions } from "../revisions.ts";
import { AcceptedRuns } from "./accepted-runs.ts";
import { FollowUp } from "./follow-up.ts";
import { RunDesk } from "./run-desk.ts";
import { RunWorker } from "./run-worker.ts";
import { WebhookSender } from "./webhook-sender.ts";

export interface RunsOptions {
  /** Absent: asynchronous calls and webhooks are not offered. */
  readonly runStore?: RunStore;
  readonly config: Pick<ActivatorConfig, "activatorId" | "webhookRefusedNetworks">;
}

/** What runs share with the requests of this activator. */
export interface SharedParts {
  readonly parts: DispatchParts;
  readonly revisions: Revisions;
  readonly upstream: Upstream;
  readonly random: Random;
}

export interface Runs {
  readonly desk: RunDesk;
  /** Runs held here. */
  readonly size: number;
  start(): void;
  /** What waits goes to others; what runs ends here, and is delivered. */
  drain(): Promise<void>;
  close(): void;
}

export function createRuns(options: RunsOptions, shared: SharedParts): Runs | null {
  const { runStore: store, config } = options;
  if (store === undefined) return null;
  const { parts } = shared;
  const { clock, logger } = parts;
  const { activatorId } = config;
  const guard = createAddressGuard(config.webhookRefusedNetworks);
  const sender = new WebhookSender({ guard, clock, logger });
  const worker = new RunWorker({ ...shared, store, activatorId, sender });
  const followUp = new FollowUp({ sender, clock, logger });
  const accepted = new AcceptedRuns({ store, clock });
  const desk = new RunDesk({
    ...shared,
    store,
    accepted,
    activatorId,
    worker,
    followUp,
    guard,
    dispatch: (request) => new Dispatch(parts, request).begin(),
  });
  return {
    desk,
    get size() {
      return worker.size;
    },
    start: () => {
      worker.start();
      accepted.start();
    },
    drain: async () => {
      await Promise.all([worker.drain(), followUp.drained()]);
    },
    close: () => {
      accepted.close();
      worker.close();
      followUp.close();
    },
  };
}
