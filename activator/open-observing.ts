/** Traces and the request log of an activator, where the operator asked for any. */
import type { Logger } from "../foundation/logger.ts";
import { createTracer } from "../foundation/tracing/tracer.ts";
import type { ActivatorConfig } from "./config.ts";
import { Observing } from "./observing.ts";
import { readObservability } from "./observing-config.ts";

export interface OpenObserving {
  readonly observing?: Observing;
  readonly close: () => Promise<void>;
}

export function openObserving(config: ActivatorConfig, logger: Logger): OpenObserving {
  const file = readObservability(config);
  const { tracingEndpoint: endpoint, tracingSamplingRate: samplingRate } = file.tracing();
  const tracer = URL.canParse(endpoint)
    ? createTracer({
        endpoint,
        samplingRate,
        resource: { "service.name": "activator", "service.instance.id": config.activatorId },
        onWarning: (message, fields) => logger.warn(message, fields),
      })
    : null;
  const mayLog = config.observabilityFolder !== "" || config.requestLog === "on";
  if (tracer === null && !mayLog) return { close: () => Promise.resolve() };
  const observing = new Observing({ tracer, write: (line) => process.stdout.write(line) });
  file.watch(observing);
  return {
    observing,
    close: async () => {
      file.stop();
      await tracer?.close();
    },
  };
}
