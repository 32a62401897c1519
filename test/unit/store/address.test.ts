/** URLs of the store: which forms there are, and what is said of one that cannot be used. */
import { describe, expect, test } from "vitest";
import { parseStoreUrl } from "../../../store/address.ts";

describe("a store URL", () => {
  test.each([
    ["redis://user:pw@host:7000/2", { kind: "single", url: "redis://user:pw@host:7000/2" }],
    ["rediss://host", { kind: "single", url: "rediss://host" }],
    [
      "redis+sentinel://one:26380,two/main",
      {
        kind: "sentinel",
        sentinels: [
          { host: "one", port: 26_380 },
          { host: "two", port: 26_379 },
        ],
        name: "main",
        tls: false,
      },
    ],
    [
      "rediss+sentinel://pilot:p%40ss@[::1]:26379/my%2Fstore",
      {
        kind: "sentinel",
        sentinels: [{ host: "::1", port: 26_379 }],
        name: "my/store",
        username: "pilot",
        password: "p@ss",
        tls: true,
      },
    ],
    [
      "redis+cluster://:secret@a:7000,b,c:7002/",
      {
        kind: "cluster",
        nodes: [
          { host: "a", port: 7_000 },
          { host: "b", port: 6_379 },
          { host: "c", port: 7_002 },
        ],
        password: "secret",
        tls: false,
      },
    ],
  ])("%s is read", (url, address) => {
    expect(parseStoreUrl(url)).toEqual(address);
  });

  test.each([
    ["http://host", "none of the known forms"],
    ["redis+sentinel://host:26379", "the name of the primary is missing"],
    ["redis+cluster://host/main", "one database without a name"],
    ["redis+cluster://host:7000,host:0", '"host:0" is no host:port'],
    ["redis+cluster://host:7000,,other", '"" is no host:port'],
  ])("%s is refused by name", (url, why) => {
    expect(() => parseStoreUrl(url)).toThrow(why);
  });

  test("a refusal never shows the password", () => {
    expect(() => parseStoreUrl("redis+cluster://u:secret@host/x")).toThrow("//***@host/x");
  });
});
