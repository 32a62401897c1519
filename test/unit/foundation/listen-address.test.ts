import { createServer, connect } from "node:net";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { address } from "../../../foundation/listen-address.ts";

describe("where to listen", () => {
  it.each([
    ["127.0.0.1:8080", { host: "127.0.0.1", port: 8080 }],
    ["localhost:0", { host: "localhost", port: 0 }],
    ["[::1]:65535", { host: "::1", port: 65_535 }],
    ["0.0.0.0:8012", { host: "0.0.0.0", port: 8012 }],
  ])("reads %s", (text, expected) => {
    expect(address(":1")(text)).toEqual(expected);
  });

  it.each(["8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "[]:80", "a:b:80"])(
    "refuses %s with a way out",
    (text) => {
      expect(() => address(":1")(text)).toThrow(`got "${text}", expected host:port or :port`);
    },
  );

  it("takes the fallback where nothing is set", () => {
    expect(address("127.0.0.1:7")(undefined)).toEqual({ host: "127.0.0.1", port: 7 });
    expect(address("127.0.0.1:7")("")).toEqual({ host: "127.0.0.1", port: 7 });
  });

  it("without a host takes connections to all addresses", async () => {
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(address(":0")(undefined), resolve));
    const { port } = server.address() as AddressInfo;
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const loopback = own.filter(({ internal }) => internal).map((one) => one.address);
    expect(loopback).toContain("127.0.0.1");
    for (const host of loopback) {
      await new Promise<void>((resolve, reject) => {
        connect(port, host).once("connect", resolve).once("error", reject).resume();
      });
    }
    server.close();
  });
});
