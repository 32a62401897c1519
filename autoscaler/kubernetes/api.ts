/** How a process of a cluster comes to its API client: by a kubeconfig, or by its service account. */
import type { Clock } from "../../common/clock.ts";
import { accountAccess, kubeconfigAccess } from "./api-access.ts";
import { createApiClient } from "./api-client.ts";
import type { ApiClient } from "./api-client.ts";

export interface ApiOptions {
  /** Empty: the service account. */
  readonly kubeconfig: string;
  readonly apiUrl: string;
  readonly accountFolder: string;
  readonly clock: Clock;
}

export async function openApi(options: ApiOptions): Promise<ApiClient> {
  const { kubeconfig } = options;
  const access = kubeconfig === "" ? accountAccess(options) : await kubeconfigAccess(kubeconfig);
  return createApiClient(access);
}
