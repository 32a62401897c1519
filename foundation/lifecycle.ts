/**
 * The life of a process: parts are started in order and stopped in reverse, one deadline holds for
 * the whole stop, and a second signal ends it at once.
 */
import type { Logger } from "./logger.ts";

export interface Part {
  /** For the log, when it starts, stops, or hangs. */
  readonly name: string;
  start?(): Promise<void> | void;
  stop?(): Promise<void> | void;
}

export interface Lifecycle {
  start(): Promise<void>;
  /** Stops all started parts, last first; safe to call twice, the second call joins the first. */
  stop(reason: string): Promise<void>;
}

export interface LifecycleOptions {
  readonly logger: Logger;
  readonly parts: readonly Part[];
  /** Longest time for the whole stop in ms. */
  readonly stopDeadlineMs: number;
}

export function createLifecycle(options: LifecycleOptions): Lifecycle {
  const { logger, parts, stopDeadlineMs } = options;
  const started: Part[] = [];
  let stopping: Promise<void> | undefined;

  const stopAll = async (reason: string): Promise<void> => {
    logger.info("stopping", { reason });
    for (const part of started.toReversed()) {
      try {
        await part.stop?.();
      } catch (error) {
        logger.error("part failed to stop", { part: part.name, error });
      }
    }
  };

  return {
    start: async () => {
      for (const part of parts) {
        started.push(part);
        await part.start?.();
      }
    },
    stop: (reason) => {
      stopping ??= withDeadline(stopAll(reason), stopDeadlineMs, () =>
        logger.warn("stop took too long, leaving", { deadlineMs: stopDeadlineMs }),
      );
      return stopping;
    },
  };
}

/** Stops on SIGTERM and SIGINT and exits 0; a second signal exits 1 at once. */
export function stopOnSignals(lifecycle: Lifecycle, exit: (code: number) => void): () => void {
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    if (signals > 1) return exit(1);
    void lifecycle.stop(signal).then(() => exit(0));
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return () => {
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
  };
}

async function withDeadline(
  work: Promise<void>,
  deadlineMs: number,
  onLate: () => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      onLate();
      resolve();
    }, deadlineMs);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
