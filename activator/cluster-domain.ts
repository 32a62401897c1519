/**
 * The domain of cluster-local hosts, found as stock components find it: the variable, else the
 * search list of the resolver, which names it after `svc.`.
 */
import { readFileSync } from "node:fs";
import { searchedDomain } from "../common/cluster-domain.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment with CLUSTER_DOMAIN in it where the resolver knows one. */
export function withClusterDomain(env: Environment, resolver = "/etc/resolv.conf"): Environment {
  if ((env["CLUSTER_DOMAIN"] ?? "") !== "") return env;
  const found = searchedDomain(readResolver(resolver));
  return found === undefined ? env : { ...env, CLUSTER_DOMAIN: found };
}

function readResolver(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
