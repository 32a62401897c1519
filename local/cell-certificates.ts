/**
 * Certificates for cells on one machine: an authority for this run alone, and one certificate per
 * cell that bears its name. Written with what Node has, since only these few fields are needed;
 * in clusters somebody's certificate manager does this.
 */
import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { CELL_DOMAIN } from "../common/contracts/cells.ts";

export interface CellCertificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface CellAuthority {
  /** A new pair for a cell; older ones stay good until they end. */
  issue(cell: string): CellCertificate;
}

const DAY_MS = 86_400_000;
/** Clocks of cells may differ by an hour, and a run lasts days at most. */
const VALID_BEFORE_MS = 2 * DAY_MS;
const VALID_FOR_MS = 30 * DAY_MS;

const OID = {
  commonName: "2.5.4.3",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  basicConstraints: "2.5.29.19",
  keyUsage: "2.5.29.15",
  extendedKeyUsage: "2.5.29.37",
  subjectAltName: "2.5.29.17",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
} as const;

export function createCellAuthority(now: number): CellAuthority {
  const pair = newPair();
  const name = "cells of this run";
  const ca = certificate({
    subject: name,
    issuer: name,
    publicKey: pair.publicKey,
    signWith: pair.privateKey,
    extensions: [
      extension(OID.basicConstraints, sequence(tlv(0x01, Buffer.from([0xff]))), "critical"),
      // keyCertSign, and nothing else.
      extension(OID.keyUsage, tlv(0x03, Buffer.from([2, 0x04])), "critical"),
    ],
    now,
  });
  return {
    issue: (cell) => {
      const own = newPair();
      const cert = certificate({
        subject: cell,
        issuer: name,
        publicKey: own.publicKey,
        signWith: pair.privateKey,
        extensions: [
          extension(OID.basicConstraints, sequence(), "critical"),
          extension(OID.extendedKeyUsage, sequence(oid(OID.serverAuth), oid(OID.clientAuth))),
          extension(
            OID.subjectAltName,
            sequence(tlv(0x82, Buffer.from(`${cell}.${CELL_DOMAIN}`, "latin1"))),
          ),
        ],
        now,
      });
      return { cert, key: pemOf(own.privateKey), ca };
    },
  };
}

interface Pair {
  readonly publicKey: Buffer;
  readonly privateKey: KeyObject;
}

function newPair(): Pair {
  const { publicKey, privateKey } = generateKeyPairSync("ec", {
    namedCurve: "prime256v1",
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "der" },
  });
  return {
    publicKey,
    privateKey: createPrivateKey({ key: privateKey, format: "der", type: "pkcs8" }),
  };
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

interface CertificateFields {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: Buffer;
  readonly signWith: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly now: number;
}

/** RFC 5280 4.1. */
function certificate(fields: CertificateFields): string {
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const body = sequence(
    // Version 3.
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    // Positive, and not guessed.
    tlv(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(15)])),
    algorithm,
    nameOf(fields.issuer),
    sequence(time(fields.now - VALID_BEFORE_MS), time(fields.now + VALID_FOR_MS)),
    nameOf(fields.subject),
    fields.publicKey,
    tlv(0xa3, sequence(...fields.extensions)),
  );
  const signature = sign("sha256", body, fields.signWith);
  const der = sequence(body, algorithm, tlv(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function extension(id: string, value: Buffer, critical: "critical" | "" = ""): Buffer {
  const flag = critical === "" ? [] : [tlv(0x01, Buffer.from([0xff]))];
  return sequence(oid(id), ...flag, tlv(0x04, value));
}

function nameOf(text: string): Buffer {
  return sequence(tlv(0x31, sequence(oid(OID.commonName), tlv(0x0c, Buffer.from(text)))));
}

function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/[-:T]/g, "").slice(2, 14);
  return tlv(0x17, Buffer.from(`${digits}Z`, "latin1"));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(parts));
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return tlv(0x06, Buffer.from([first * 40 + second, ...rest.flatMap((arc) => base128(arc))]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

/** One DER value: tag, length, content. */
function tlv(tag: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let left = length; left > 0; left >>>= 8) bytes.unshift(left & 0xff);
  return [0x80 | bytes.length, ...bytes];
}
