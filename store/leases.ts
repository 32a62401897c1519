/**
 * Leases by name, for whoever must be one: a holder, a time to live, and a number that grows with
 * each change of holder (the epoch), by which a late message of an old holder is recognised.
 */
import type { ScriptCaller } from "./script-caller.ts";

export interface LeaseCalls {
  /** The epoch when the lease was free and is ours now, else `null`. */
  claimLease(name: string, holder: string, ttlMs: number): Promise<number | null>;
  /** False: somebody else has it, or nobody; whoever thought to hold it must stop at once. */
  renewLease(name: string, lease: HeldLease, ttlMs: number): Promise<boolean>;
  /** Gives it up, so that the next need not wait for its end. */
  dropLease(name: string, lease: HeldLease): Promise<void>;
}

export interface HeldLease {
  readonly holder: string;
  readonly epoch: number;
}

export function createLeaseCalls(caller: ScriptCaller, prefix: string): LeaseCalls {
  const keyOf = (name: string): string => `${prefix}{lease-${name}}:holder`;
  const epochOf = (name: string): string => `${prefix}{lease-${name}}:epoch`;
  const valueOf = ({ holder, epoch }: HeldLease): string => `${epoch} ${holder}`;

  const dropLease: LeaseCalls["dropLease"] = async (name, lease) => {
    const key = keyOf(name);
    // Ours or nobody's: only a holder drops, and the value names the epoch.
    const present = await caller.command((client) => client.get(key));
    if (present === valueOf(lease)) await caller.command((client) => client.unlink(key));
  };

  return {
    claimLease: async (name, holder, ttlMs) => {
      const key = keyOf(name);
      if ((await caller.command((client) => client.exists(key))) === 1) return null;
      const epoch = await caller.command((client) => client.incr(epochOf(name)));
      const lease = { holder, epoch };
      const taken = await caller.command((client) =>
        client.set(key, valueOf(lease), "PX", ttlMs, "NX"),
      );
      if (taken === null) return null;
      // Somebody drew a later number meanwhile: epochs must not go back.
      const latest = await caller.command((client) => client.get(epochOf(name)));
      if (Number(latest) === epoch) return epoch;
      await dropLease(name, lease);
      return null;
    },
    renewLease: async (name, lease, ttlMs) => {
      const key = keyOf(name);
      // In one step, so that what is read is what is prolonged.
      const replies = await caller.command((client) =>
        client.multi().get(key).pexpire(key, ttlMs).exec(),
      );
      return replies?.[0]?.[1] === valueOf(lease);
    },
    dropLease,
  };
}
