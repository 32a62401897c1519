/**
 * Which revision a request is for. In local mode by Host through the route table; in a cluster by
 * the two headers of the ingress, else by a Host of the form `<revision>.<namespace>.svc.<domain>`.
 */
import type { RouteEntry, RouteTable } from "../../common/contracts/local-run.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";

export type Naming =
  | { readonly kind: "named"; readonly revision: RevisionKey }
  /** Nobody serves this; `message` is the line for the caller. */
  | { readonly kind: "unknown"; readonly message: string };

/** What is read of a request to name its revision. */
export interface NamedBy {
  readonly host: string;
  readonly knativeNamespace: string;
  readonly knativeRevision: string;
}

export type NameRevision = (request: NamedBy) => Naming;

/** A revision with its share, its key put together once and not per request. */
interface Share {
  readonly revision: RevisionKey;
  readonly percent: number;
}

export type RouteIndex = ReadonlyMap<string, readonly Share[]>;

export function indexRoutes(table: RouteTable): RouteIndex {
  return new Map(table.routes.map((route) => [route.host.toLowerCase(), sharesOf(route)]));
}

function sharesOf({ namespace, targets }: RouteEntry): readonly Share[] {
  return targets.map(({ revision, percent }) => ({
    revision: `${namespace}/${revision}`,
    percent,
  }));
}

/** `draw` is uniform in [0, 1); it picks among the shares of a route. */
export function nameByRoute(index: RouteIndex, host: string, draw: number): Naming {
  // As a rule the host is written as in the table, and need not be taken apart.
  const shares = index.get(host) ?? index.get(bareHost(host));
  const revision = shares === undefined ? undefined : pickShare(shares, draw);
  if (revision === undefined) {
    return { kind: "unknown", message: `no service answers at host "${bareHost(host)}"` };
  }
  return { kind: "named", revision };
}

export function nameByCluster(request: NamedBy, clusterDomain: string): Naming {
  const { knativeNamespace, knativeRevision } = request;
  if (knativeNamespace !== "" && knativeRevision !== "") {
    return { kind: "named", revision: `${knativeNamespace}/${knativeRevision}` };
  }
  const [revision, namespace, label, ...rest] = bareHost(request.host).split(".");
  const matches = label === "svc" && rest.join(".") === clusterDomain;
  if (!matches || revision === undefined || revision === "" || !namespace) {
    return { kind: "unknown", message: notFound("") };
  }
  return { kind: "named", revision: `${namespace}/${revision}` };
}

/** The line that stock Knative answers with. */
function notFound(name: string): string {
  return `Error getting active endpoint: revision.serving.knative.dev "${name}" not found`;
}

/** Lower case, without port and without the dot of a fully qualified name. */
export function bareHost(host: string): string {
  const end = host.startsWith("[") ? host.indexOf("]") + 1 : host.lastIndexOf(":");
  const name = end > 0 ? host.slice(0, end) : host;
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}

function pickShare(shares: readonly Share[], draw: number): RevisionKey | undefined {
  let total = 0;
  for (const share of shares) total += share.percent;
  // Shares are drawn over their sum, so that a table caught between two writes still routes.
  let left = draw * total;
  for (const share of shares) {
    left -= share.percent;
    if (share.percent > 0 && left < 0) return share.revision;
  }
  return shares.findLast((share) => share.percent > 0)?.revision;
}
