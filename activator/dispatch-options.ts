/** What each request of an activator needs, put together once from its options and parts. */
import type { ActivatorOptions, ActivatorParts } from "./activator.ts";
import { CallerAuth } from "./caller-auth.ts";
import { ColdStarts } from "./cold-starts.ts";
import type { DispatchParts } from "./dispatch-parts.ts";
import { Lookout } from "./lookout.ts";
import { isReachable, probeTarget } from "./probe-target.ts";
import { Witness } from "./witness.ts";

type Made = Pick<
  ActivatorParts,
  | "revisions"
  | "returns"
  | "hold"
  | "intake"
  | "keeper"
  | "degraded"
  | "ranking"
  | "upgraded"
  | "internalTls"
  | "stockAutoscaler"
>;

export function dispatchParts(options: ActivatorOptions, made: Made): DispatchParts {
  const { config, store, clock, logger } = options;
  const { intake, stockAutoscaler, ...routing } = made;
  const witness = new Witness({ store, probe: probeTarget, ...routing });
  const connectMs = config.connectTimeoutMs;
  return {
    ...routing,
    clock,
    logger,
    callerAuth: callerAuthOf(options),
    surroundings: config.runFolder === "" ? "cluster" : "local",
    connectMs,
    replayBytes: config.replayBytes,
    allowDebug: config.allowDebug,
    witness,
    lookout: new Lookout({ witness, reach: isReachable, connectMs }),
    desk: made.ranking?.desk ?? null,
    coldStarts: new ColdStarts({ store, logger, marksOf: (uid) => intake.marksOf(uid) }),
    observing: options.observing ?? null,
    stockObserver: stockAutoscaler,
    spills: options.cells?.desk,
  };
}

function callerAuthOf({ config, clock, logger }: ActivatorOptions): CallerAuth {
  return new CallerAuth({
    jwks: config.authJwks,
    issuer: config.authIssuer,
    audience: config.authAudience,
    clock,
    logger,
  });
}
