/** Where the domain of cluster-local hosts comes from. */
import { describe, expect, it } from "vitest";
import { withClusterDomain } from "../../../activator/cluster-domain.ts";
import { searchedDomain } from "../../../common/cluster-domain.ts";

describe("the domain of a cluster", () => {
  const rows: readonly [name: string, resolver: string, domain: string | undefined][] = [
    [
      "is the search entry after svc",
      "nameserver 10.0.0.10\nsearch knative-serving.svc.corp.example svc.corp.example corp.example\n",
      "corp.example",
    ],
    ["loses a last dot and capitals", "search svc.Cluster.Local.", "cluster.local"],
    ["may stand behind tabs", "search\tns.svc.a.b\tsvc.a.b", "a.b"],
    ["is not there outside of a cluster", "search corp.example\n", undefined],
    ["is not taken from a comment", "# search svc.no.where\n", undefined],
  ];
  for (const [name, resolver, domain] of rows) {
    it(name, () => expect(searchedDomain(resolver)).toBe(domain));
  }

  it("is what the variable says, whatever the resolver knows", () => {
    expect(withClusterDomain({ CLUSTER_DOMAIN: "x.y" }, "/nowhere")).toEqual({
      CLUSTER_DOMAIN: "x.y",
    });
    expect(withClusterDomain({ A: "1" }, "/nowhere")).toEqual({ A: "1" });
  });
});
