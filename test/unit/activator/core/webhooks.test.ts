/** The rules of webhooks: signature, judgement of an attempt, addresses that may be reached. */
import { describe, expect, it } from "vitest";
import { mayConcernRuns, readAsyncWish } from "../../../../activator/core/async-call.ts";
import { checkWebhookUrl, createAddressGuard } from "../../../../activator/core/webhook-address.ts";
import { judgeTry, signatureOf } from "../../../../activator/core/webhook-delivery.ts";

describe("signature", () => {
  it("is that of the published vector", () => {
    const signature = signatureOf({
      secret: "s3cret",
      runId: "21eb3b98-4b10-9ad6-8681-a47172828024",
      timestamp: "1731467605",
      body: Buffer.from('{"smile":"wave"}'),
    });
    expect(signature).toBe("v1,9b03c93c76e93da1e92fa639eb6e6041eb12fdf9c340d99e7d49b133a6f9d448");
  });
});

describe("an attempt", () => {
  it.each([
    [200, "delivered"],
    [204, "delivered"],
    [301, "again"],
    [404, "again"],
    [400, "given-up"],
    [410, "given-up"],
    [429, "given-up"],
    [500, "given-up"],
    [503, "given-up"],
  ] as const)("answered with %i is %s", (status, verdict) => {
    expect(judgeTry({ kind: "answered", status })).toBe(verdict);
  });

  it("without an answer is made again, to a forbidden address never", () => {
    expect(judgeTry({ kind: "failed", message: "" })).toBe("again");
    expect(judgeTry({ kind: "refused-address", message: "" })).toBe("given-up");
  });
});

describe("addresses", () => {
  const guard = createAddressGuard(["34.118.224.0/20", "2600:1f00::/24"]);

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.200.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "34.118.230.1",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2600:1f00::5",
    "not an address",
  ])("%s is refused", (address) => {
    expect(guard.allows(address, "public")).toBe(false);
  });

  it.each(["8.8.8.8", "172.32.0.1", "100.128.0.1", "2a00:1450:4001::1", "::ffff:8.8.8.8"])(
    "%s is public",
    (address) => expect(guard.allows(address, "public")).toBe(true),
  );

  it("of a listed host may be private, but never one that hands out credentials", () => {
    expect(guard.allows("10.0.0.1", "listed")).toBe(true);
    expect(guard.allows("169.254.169.254", "listed")).toBe(false);
    expect(guard.allows("::ffff:169.254.169.254", "listed")).toBe(false);
  });
});

describe("the hosts of a service", () => {
  const guard = createAddressGuard([]);
  const check = (url: string, hosts: readonly string[]): string =>
    checkWebhookUrl(url, hosts, guard).kind;

  it("are any public one when none is listed, or a star is", () => {
    for (const hosts of [[], ["*"], ["*", "inner.example.com"]]) {
      expect(check("https://hooks.example.com/x", hosts)).toBe("allowed");
      expect(check("http://127.0.0.1/x", hosts)).toBe("refused");
    }
  });

  it("are only those of the list otherwise, with their ports", () => {
    const hosts = ["*.example.com", "inner.test:8443", "127.0.0.1"];
    expect(check("https://a.example.com/", hosts)).toBe("allowed");
    expect(check("https://example.com/", hosts)).toBe("refused");
    expect(check("https://badexample.com/", hosts)).toBe("refused");
    expect(check("https://inner.test:8443/", hosts)).toBe("allowed");
    expect(check("https://inner.test/", hosts)).toBe("refused");
    expect(check("http://127.0.0.1:9000/", hosts)).toBe("allowed");
    expect(check("http://127.1:9000/", hosts)).toBe("allowed");
    expect(check("http://127.0.0.2/", hosts)).toBe("refused");
  });
});

describe("what a caller wants", () => {
  const none = { prefer: "", webhookSecret: "", webhookFormat: "", contentType: "" };

  it.each([
    ["/", {}, false],
    ["/infer?asynchronous=true", {}, false],
    ["/infer?x=async", {}, false],
    ["/infer?async=true", {}, true],
    ["/infer?a=1&async", {}, true],
    ["/infer?webhookEndpoint=x", {}, true],
    ["/.well-known/gpu-runs/1", {}, true],
    ["/", { prefer: "reply" }, false],
    ["/", { prefer: "respond-async" }, true],
    ["/", { prefer: "handling=lenient, respond-async;x=1" }, true],
    ["/", { webhookSecret: "s" }, true],
  ] as const)("%s %o concerns runs: %s", (target, headers, expected) => {
    expect(mayConcernRuns(target, { ...none, ...headers })).toBe(expected);
  });

  it("loses our parameters and nothing else", () => {
    const target = "/x?b=%20&async=true&c&webhookEndpoint=https%3A%2F%2Fa.example%2F%3Fq%3D1&&d=+";
    expect(readAsyncWish({ target, upgrade: "" }, none)).toEqual({
      kind: "call",
      isAsync: true,
      isPreferred: false,
      webhook: "https://a.example/?q=1",
      format: "plain",
      target: "/x?b=%20&c&&d=+",
    });
    expect(readAsyncWish({ target: "/x?async=false", upgrade: "" }, none)).toMatchObject({
      isAsync: false,
      target: "/x",
    });
  });
});
