/**
 * A server certificate with an authority of its own, made for one life: the authority's key is
 * forgotten as soon as it has signed, so nobody can sign with it later.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import {
  bitString,
  boolean,
  explicit,
  implicit,
  integer,
  octetString,
  oid,
  sequence,
  set,
  utcTime,
  utf8,
} from "./der.ts";

export interface ServerCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly authority: string;
}

export interface CertificateRequest {
  /** Under which the server is called; the first is its common name. */
  readonly names: readonly string[];
  readonly nowMs: number;
  readonly validMs: number;
}

/** Clocks of API servers that are behind must not find it too young. */
const BACKDATED_MS = 3_600_000;
const OID = {
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  commonName: "2.5.4.3",
  subjectKey: "2.5.29.14",
  keyUsage: "2.5.29.15",
  names: "2.5.29.17",
  constraints: "2.5.29.19",
  authorityKey: "2.5.29.35",
  extendedUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;
/** Bits of a key's usage, the first one highest: signatures; certificates and revocations. */
const USAGE = { digitalSignature: [0x80, 7], certificates: [0x06, 1] } as const;

export function makeServerCertificate(request: CertificateRequest): ServerCertificate {
  const { names, nowMs, validMs } = request;
  const life = { from: nowMs - BACKDATED_MS, to: nowMs + validMs };
  // A name of its own, so that old and new authorities are not mixed up while both are trusted.
  const issuer = `pilotlight-webhook-${randomBytes(4).toString("hex")}`;
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const server = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const authorityDer = certificate({
    subject: issuer,
    issuer,
    publicKey: authority.publicKey,
    signer: authority,
    life,
    extensions: authorityExtensions(authority.publicKey),
  });
  const serverDer = certificate({
    subject: (names[0] ?? "webhook").slice(0, 64),
    issuer,
    publicKey: server.publicKey,
    signer: authority,
    life,
    extensions: serverExtensions(server.publicKey, authority.publicKey, names),
  });
  return {
    cert: pem(serverDer),
    // An export as PEM is text.
    key: server.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    authority: pem(authorityDer),
  };
}

/** Instant at which a certificate ends; 0 for what is none. */
export function expiryOf(certificatePem: string): number {
  try {
    return Date.parse(new X509Certificate(certificatePem).validTo);
  } catch {
    return 0;
  }
}

/** Certificates of a PEM text one by one. */
export function splitPem(text: string): readonly string[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return found.map((one) => `${one}\n`);
}

interface CertificateParts {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signer: { readonly privateKey: KeyObject };
  readonly life: { readonly from: number; readonly to: number };
  readonly extensions: readonly Buffer[];
}

function certificate(parts: CertificateParts): Buffer {
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(positive(randomBytes(16))),
    algorithm,
    name(parts.issuer),
    sequence(utcTime(parts.life.from), utcTime(parts.life.to)),
    name(parts.subject),
    publicKeyInfo(parts.publicKey),
    explicit(3, sequence(...parts.extensions)),
  );
  const signature = sign("sha256", body, parts.signer.privateKey);
  return sequence(body, algorithm, bitString(signature));
}

/** A leading zero byte would be one too many. */
function positive(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[0] = ((copy[0] ?? 0) & 0x7f) | 0x40;
  return copy;
}

function name(commonName: string): Buffer {
  return sequence(set(sequence(oid(OID.commonName), utf8(commonName))));
}

function publicKeyInfo(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function keyId(key: KeyObject): Buffer {
  return createHash("sha1").update(publicKeyInfo(key)).digest();
}

type Criticality = "critical" | "plain";

function extension(id: string, criticality: Criticality, value: Buffer): Buffer {
  const marks = criticality === "critical" ? [boolean(true)] : [];
  return sequence(oid(id), ...marks, octetString(value));
}

function usage([byte, unused]: readonly [number, number]): Buffer {
  return extension(OID.keyUsage, "critical", bitString(Buffer.from([byte]), unused));
}

function authorityExtensions(own: KeyObject): readonly Buffer[] {
  return [
    extension(OID.constraints, "critical", sequence(boolean(true))),
    usage(USAGE.certificates),
    extension(OID.subjectKey, "plain", octetString(keyId(own))),
  ];
}

function serverExtensions(
  own: KeyObject,
  authority: KeyObject,
  names: readonly string[],
): readonly Buffer[] {
  const dnsNames = names.map((text) => implicit(2, Buffer.from(text, "ascii")));
  return [
    extension(OID.constraints, "critical", sequence()),
    usage(USAGE.digitalSignature),
    extension(OID.extendedUsage, "plain", sequence(oid(OID.serverAuth))),
    extension(OID.subjectKey, "plain", octetString(keyId(own))),
    extension(OID.authorityKey, "plain", sequence(implicit(0, keyId(authority)))),
    extension(OID.names, "plain", sequence(...dnsNames)),
  ];
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
