/**
 * The sidecar process: environment in, signals in, exit code out. Its start is part of every cold
 * start, so nothing here or below loads an npm package.
 */
import { systemClock } from "../foundation/clock.ts";
import { createLogger } from "../foundation/logger.ts";
import { readQueueProxyConfig } from "./config.ts";
import { Sidecar } from "./sidecar.ts";

const sidecarAt = systemClock.now();

async function main(): Promise<void> {
  const config = readQueueProxyConfig(process.env);
  const logger = createLogger({
    name: "queue-proxy",
    level: config.logLevel,
    fields: {
      "knative.dev/key": `${config.namespace}/${config.revision}`,
      "knative.dev/pod": config.podName,
    },
  });
  const sidecar = new Sidecar({
    config,
    logger,
    sidecarAt,
    clock: systemClock,
    random: Math.random,
    onLeft: () => process.exit(0),
  });
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals > 1) process.exit(1);
    sidecar.drain();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  await sidecar.start();
}

main().catch((error: unknown) => {
  createLogger({ name: "queue-proxy" }).error("cannot start", { error });
  process.exit(1);
});
