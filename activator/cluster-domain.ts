/**
 * The domain of cluster-local hosts, found as stock components find it: the variable, else the
 * search list of the resolver, which names it after `svc.`.
 */
import { readFileSync } from "node:fs";

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment with CLUSTER_DOMAIN in it where the resolver knows one. */
export function withClusterDomain(env: Environment, resolver = "/etc/resolv.conf"): Environment {
  if ((env["CLUSTER_DOMAIN"] ?? "") !== "") return env;
  const found = searchedDomain(readResolver(resolver));
  return found === undefined ? env : { ...env, CLUSTER_DOMAIN: found };
}

export function searchedDomain(text: string): string | undefined {
  for (const line of text.split("\n")) {
    const [word, ...domains] = line.trim().split(/\s+/);
    if (word !== "search") continue;
    const found = domains.find((domain) => domain.startsWith("svc."));
    if (found !== undefined) return found.slice("svc.".length).replace(/\.$/, "").toLowerCase();
  }
  return undefined;
}

function readResolver(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
