/** The reporter of the real sidecar in front of a stub pod. */
import type { PushReply, ReportedState } from "../../common/contracts/push.ts";
import { createRandom } from "../../common/random.ts";
import { systemClock } from "../../foundation/clock.ts";
import { createLogger } from "../../foundation/logger.ts";
import type { ActivatorDirectory } from "../../queue-proxy/activator-directory.ts";
import { Reporter } from "../../queue-proxy/reporter.ts";
import { signToken } from "./activator-stub-pod.ts";
import type { StubPod } from "./activator-stub-pod.ts";

export interface PodReporterOptions {
  readonly pod: StubPod;
  readonly secret: string;
  readonly namespace: string;
  readonly revision: string;
  readonly directory: ActivatorDirectory;
  readonly state: () => ReportedState;
  readonly onReply?: (reply: PushReply) => void;
}

/** Not started yet. */
export async function podReporter(options: PodReporterOptions): Promise<Reporter> {
  const { pod, secret, namespace, revision, directory, state, onReply = () => {} } = options;
  const token = await signToken(secret, pod.uid);
  return new Reporter({
    directory,
    clock: systemClock,
    random: createRandom(pod.port),
    logger: createLogger({ name: "queue-proxy", level: "silent" }),
    token: () => token,
    localAddress: pod.address,
    revision,
    podName: `pod-${pod.uid}`,
    boot: Date.now(),
    snapshot: () => ({
      revision: `${namespace}/${revision}`,
      podUid: pod.uid,
      podName: `pod-${pod.uid}`,
      state: state(),
      reason: "",
      address: pod.address,
      port: pod.port,
      capacity: 1,
      inFlight: pod.running,
      occupied: 0,
      reportsRunning: false,
      build: "test",
      marks: {},
    }),
    stillRunning: () => [],
    onReply,
  });
}
