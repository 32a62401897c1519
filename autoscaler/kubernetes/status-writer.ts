/** Statuses of PodAutoscalers through their status subresource, written only where they differ. */
import type { RevisionKey } from "../../common/contracts/routing.ts";
import type { ScalerStatus, StatusSink } from "../ports.ts";
import { orGone } from "./api-client.ts";
import type { ApiClient } from "./api-client.ts";
import type { Collection } from "./collection.ts";
import { objectPath, splitKey } from "./objects.ts";
import type { PodAutoscaler, PodAutoscalerStatus, ServerlessService } from "./objects.ts";
import { isSameStatus, podAutoscalerStatus } from "./scaler-status.ts";

export interface StatusWriterOptions {
  readonly client: ApiClient;
  readonly scalers: Collection<PodAutoscaler>;
  readonly networks: Collection<ServerlessService>;
}

export class StatusWriter implements StatusSink {
  readonly #options: StatusWriterOptions;
  /** Answers to our writes, until the watch shows them. */
  readonly #written = new Map<RevisionKey, PodAutoscaler>();

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    options.scalers.onChange(({ key, after }) => {
      const written = this.#written.get(asKey(key));
      if (written !== undefined && !isOlder(after, written)) this.#written.delete(asKey(key));
    });
  }

  /** Says nothing new: not to the object as it stands, nor to what it is to say of itself. */
  isCurrent(key: RevisionKey, status: ScalerStatus): boolean {
    const scaler = this.#present(key);
    return scaler === undefined || isSameStatus(scaler.status, this.#wanted(key, scaler, status));
  }

  async writeStatus(key: RevisionKey, status: ScalerStatus): Promise<void> {
    const scaler = this.#present(key);
    if (scaler === undefined || this.isCurrent(key, status)) return;
    const answer = await orGone(
      this.#options.client.write<PodAutoscaler | null>({
        method: "PATCH",
        patch: "merge-patch",
        path: `${objectPath("podautoscalers", splitKey(key))}/status`,
        // The uid refuses the write where another object has the name by now.
        body: {
          metadata: { uid: scaler.metadata.uid },
          status: this.#wanted(key, scaler, status),
        },
      }),
      null,
    );
    if (answer !== null && isOlder(this.#options.scalers.get(key), answer)) {
      this.#written.set(key, answer);
    }
  }

  #wanted(key: RevisionKey, scaler: PodAutoscaler, status: ScalerStatus): PodAutoscalerStatus {
    return podAutoscalerStatus(scaler, this.#options.networks.get(key), status);
  }

  #present(key: RevisionKey): PodAutoscaler | undefined {
    const shown = this.#options.scalers.get(key);
    const written = this.#written.get(key);
    const isSameLife = written?.metadata.uid === shown?.metadata.uid;
    return shown !== undefined && written !== undefined && isSameLife ? written : shown;
  }
}

function isOlder(left: PodAutoscaler | undefined, right: PodAutoscaler): boolean {
  if (left === undefined || left.metadata.uid !== right.metadata.uid) return false;
  return Number(left.metadata.resourceVersion ?? 0) < Number(right.metadata.resourceVersion ?? 0);
}

/** Keys of namespaced collections have the form of a revision's key. */
function asKey(key: string): RevisionKey {
  return key as RevisionKey;
}
