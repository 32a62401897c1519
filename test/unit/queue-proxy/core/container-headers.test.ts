/** Headers on their way to the container. */
import { describe, expect, it } from "vitest";
import { containerHeaders, forwardedShim } from "../../../../queue-proxy/core/container-headers.ts";

const HOP = { remoteAddress: "10.0.0.7", kind: "traffic" } as const;
const PEER = ["X-Forwarded-For", "10.0.0.7"];

const ROWS: readonly [name: string, received: readonly string[], expected: readonly string[]][] = [
  ["keeps order and spelling", ["Host", "a", "x-B", "1"], ["Host", "a", "x-B", "1", ...PEER]],
  [
    "removes internal headers",
    [
      ..."Pilotlight-Target-Uid 1 Pilotlight-Lease 2 Pilotlight-Order 3 Pilotlight-Hop 4".split(
        " ",
      ),
      ..."Pilotlight-Spill 5 Pilotlight-Tenant 6 Host a".split(" "),
      ..."Knative-Serving-Revision r Knative-Serving-Namespace n".split(" "),
    ],
    ["Host", "a", ...PEER],
  ],
  [
    "keeps Knative's marks for the container",
    "K-Proxy-Request activator K-Network-Hash h K-Passthrough-Lb yes Knative-Serving-Tag t".split(
      " ",
    ),
    [
      ..."K-Proxy-Request activator K-Network-Hash h K-Passthrough-Lb yes Knative-Serving-Tag t".split(
        " ",
      ),
      ...PEER,
    ],
  ],
  [
    "removes hop-by-hop headers and those that Connection lists",
    ["Connection", "close, X-Mine", "X-Mine", "1", "Keep-Alive", "5", "X-Yours", "2"],
    ["X-Yours", "2", ...PEER],
  ],
  [
    "keeps a Host that Connection lists",
    ["Connection", "Host", "Host", "a"],
    ["Host", "a", ...PEER],
  ],
  [
    "restores the original host",
    ["Host", "pod", "K-Original-Host", "svc.example"],
    ["Host", "svc.example", ...PEER],
  ],
  ["adds no user agent", ["Accept", "*/*"], ["Accept", "*/*", ...PEER]],
  ["keeps Expect", ["Expect", "100-continue"], ["Expect", "100-continue", ...PEER]],
  [
    "appends the peer and makes Forwarded of what came before it",
    ["X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https"],
    [
      ..."X-Forwarded-Proto https Forwarded for=1.2.3.4;proto=https".split(" "),
      "X-Forwarded-For",
      "1.2.3.4, 10.0.0.7",
    ],
  ],
  [
    "leaves a Forwarded that is there alone",
    ["Forwarded", "for=9.9.9.9", "X-Forwarded-For", "1.2.3.4"],
    ["Forwarded", "for=9.9.9.9", "X-Forwarded-For", "1.2.3.4, 10.0.0.7"],
  ],
  [
    "joins repeated X-Forwarded-For",
    ["X-Forwarded-For", "a", "X-Forwarded-For", "b"],
    ["Forwarded", "for=a, for=b", "X-Forwarded-For", "a, b, 10.0.0.7"],
  ],
];

describe("containerHeaders", () => {
  it.each(ROWS)("%s", (_name, received, expected) => {
    expect(containerHeaders(received, HOP)).toEqual(expected);
  });

  it("leaves the host of a container probe as it is", () => {
    const received = ["Host", "pod", "K-Original-Host", "svc"];
    const hop = { ...HOP, kind: "container-probe" } as const;
    expect(containerHeaders(received, hop)).toEqual([...received, ...PEER]);
  });

  it("writes the IPv4 address of a dual-stack peer plainly", () => {
    const hop = { ...HOP, remoteAddress: "::ffff:10.0.0.7" };
    expect(containerHeaders([], hop)).toEqual(PEER);
  });
});

describe("forwardedShim", () => {
  it.each([
    [
      ["1.2.3.4, 2001:db8::1", "h.example", "https"],
      'for=1.2.3.4;host=h.example;proto=https, for="[2001:db8::1]"',
    ],
    [["1.2.3.4", undefined, undefined], "for=1.2.3.4"],
    [[undefined, "h", "http"], "host=h;proto=http"],
    [[undefined, undefined, "http"], "proto=http"],
    [[undefined, undefined, undefined], ""],
  ])("of %j", ([xff, xfh, xfp], expected) => {
    expect(forwardedShim(xff, xfh, xfp)).toBe(expected);
  });
});
