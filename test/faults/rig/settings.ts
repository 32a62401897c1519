/** Sizes of a run: small enough for two cores, busy enough that requests wait when a pod is lost. */

/** Time that a container works on a request. */
export const WORK_MS = 30;
/** Requests that a container may work on at once. */
export const POD_CAPACITY = 1;
export const PODS = 4;
export const ACTIVATORS = 2;
/** Requests per second over all activators: 30 % of what the pods can do. */
export const RATE = 40;
/** Longest wait of a caller; no request of a run may need it. */
export const CALLER_PATIENCE_MS = 40_000;
/** Port of every sidecar, each on an address of its own. */
export const POD_PORT = 8_012;
/** Header that names a request on its whole way. */
export const REQUEST_ID = "x-fault-id";
export const SECRET = "a-secret-of-this-run";
export const HOST = "faulty.default.localhost";
export const NAMESPACE = "default";
export const SERVICE = "faulty";
export const REVISION_NAME = "faulty-00001";
export const REVISION = `${NAMESPACE}/${REVISION_NAME}` as const;
/** Another service of the same cluster, whose pods must see nothing of ours. */
export const OTHER_NAME = "other-00001";
export const OTHER = `${NAMESPACE}/${OTHER_NAME}` as const;
