/** Certificates that we write, read by the library that TLS uses, and served. */
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createServer, connect } from "node:tls";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import {
  expiryOf,
  makeServerCertificate,
  splitPem,
} from "../../../../autoscaler/webhook/certificates.ts";

const NOW = Date.now();
const DAY_MS = 86_400_000;
const NAMES = ["pilotlight-webhook.knative-serving.svc", "localhost"];
const made = makeServerCertificate({ names: NAMES, nowMs: NOW, validMs: 90 * DAY_MS });

describe("a server certificate", () => {
  const server = new X509Certificate(made.cert);
  const authority = new X509Certificate(made.authority);

  it("is signed by its authority, and by no other", () => {
    expect(server.verify(authority.publicKey)).toBe(true);
    expect(server.checkIssued(authority)).toBe(true);
    const other = makeServerCertificate({ names: NAMES, nowMs: NOW, validMs: DAY_MS });
    expect(server.verify(new X509Certificate(other.authority).publicKey)).toBe(false);
  });

  it("bears its names and no others", () => {
    for (const name of NAMES) expect(server.checkHost(name)).toBe(name);
    expect(server.checkHost("example.com")).toBeUndefined();
  });

  it("is for servers and signs nothing; its authority does only that", () => {
    expect(server.ca).toBe(false);
    expect(authority.ca).toBe(true);
    expect(server.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  });

  it("ends when it is to end, and began an hour ago", () => {
    expect(Math.abs(expiryOf(made.cert) - NOW - 90 * DAY_MS)).toBeLessThan(1_000);
    expect(Math.abs(Date.parse(server.validFrom) - NOW + 3_600_000)).toBeLessThan(1_000);
    expect(expiryOf("no certificate")).toBe(0);
  });

  it("is trusted in a handshake by who trusts its authority, among others", async () => {
    const old = makeServerCertificate({ names: NAMES, nowMs: NOW, validMs: DAY_MS });
    const listener = createServer({ cert: made.cert, key: made.key }, (socket) => socket.end("hi"));
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    // A server that listens on TCP has an address.
    const { port } = listener.address() as AddressInfo;
    const call = (ca: string): Promise<unknown> => {
      const socket = connect({ host: "127.0.0.1", port, servername: "localhost", ca });
      return once(socket, "secureConnect").finally(() => socket.destroy());
    };
    await expect(call(old.authority + made.authority)).resolves.toBeDefined();
    await expect(call(old.authority)).rejects.toThrow();
    listener.close();
  });

  it("is found again in a bundle", () => {
    expect(splitPem(made.authority + made.cert)).toEqual([made.authority, made.cert]);
    expect(splitPem("")).toEqual([]);
  });

  it("can be made a hundred times: no key or number breaks its form", () => {
    for (let round = 0; round < 100; round += 1) {
      const { cert, authority: issuer } = makeServerCertificate({
        names: NAMES,
        nowMs: NOW,
        validMs: DAY_MS,
      });
      expect(new X509Certificate(cert).verify(new X509Certificate(issuer).publicKey)).toBe(true);
    }
  });
});
