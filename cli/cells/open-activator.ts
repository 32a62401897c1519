/** The admin side of one activator, on this machine or behind a forwarded port of a cluster. */
import { wantsCluster } from "../cluster/cluster-option.ts";
import type { CommandContext } from "../command.ts";
import { findPlatform } from "../run-client.ts";
import { activatorOf } from "./read-cells.ts";

/** `work` gets its base URL. */
export async function withActivator<T>(
  context: CommandContext,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (!wantsCluster(context)) {
    return work(`http://${activatorOf((await findPlatform(context)).run)}`);
  }
  // Loaded only here: on this machine nobody waits for the Kubernetes client.
  const { openCluster, forwardActivator } = await import("../cluster/open-cluster.ts");
  const cluster = await openCluster(context);
  try {
    const forwarded = await forwardActivator(cluster);
    try {
      return await work(forwarded.url);
    } finally {
      await forwarded.close();
    }
  } finally {
    cluster.client.close();
  }
}
