/** The domain of a cluster as the search list of a resolver names it: the entry after `svc.`. */

/** `text` is that of /etc/resolv.conf; undefined outside of a cluster. */
export function searchedDomain(text: string): string | undefined {
  for (const line of text.split("\n")) {
    const [word, ...domains] = line.trim().split(/\s+/);
    if (word !== "search") continue;
    const found = domains.find((domain) => domain.startsWith("svc."));
    if (found !== undefined) return found.slice("svc.".length).replace(/\.$/, "").toLowerCase();
  }
  return undefined;
}
