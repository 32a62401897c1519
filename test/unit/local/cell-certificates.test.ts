/** Certificates that the platform makes for cells on one machine, as TLS itself reads them. */
import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createCellAuthority } from "../../../local/cell-certificates.ts";

const NOW = Date.UTC(2026, 10, 30);

describe("createCellAuthority", () => {
  const authority = createCellAuthority(NOW);
  const issued = authority.issue("eu");
  const cert = new X509Certificate(issued.cert);
  const ca = new X509Certificate(issued.ca);

  it("names the cell, and is signed by the run's own authority", () => {
    expect(cert.subjectAltName).toBe("DNS:eu.cells.pilotlight.dev");
    expect(cert.checkIssued(ca)).toBe(true);
    expect(cert.verify(ca.publicKey)).toBe(true);
    expect(ca.ca).toBe(true);
    expect(cert.ca).toBe(false);
  });

  it("is good for days on either side of a clock that is wrong", () => {
    expect(new Date(cert.validFrom).getTime()).toBe(NOW - 2 * 86_400_000);
    expect(new Date(cert.validTo).getTime()).toBe(NOW + 30 * 86_400_000);
  });

  it("is another one each time, under the same authority", () => {
    const again = authority.issue("eu");
    expect(again.ca).toBe(issued.ca);
    expect(again.cert).not.toBe(issued.cert);
    expect(new X509Certificate(again.cert).serialNumber).not.toBe(cert.serialNumber);
  });

  it("is not believed by another run", () => {
    const other = new X509Certificate(createCellAuthority(NOW).issue("eu").ca);
    expect(cert.verify(other.publicKey)).toBe(false);
  });
});
