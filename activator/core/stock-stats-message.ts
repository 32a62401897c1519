/**
 * `WireStatMessages` of the stock autoscaler in protobuf, by hand: five fields do not justify an
 * encoder. Proto3 leaves out zero values.
 */
import type { StockStat } from "./stock-stats.ts";

const LENGTH_DELIMITED = 2;
const FIXED_64 = 1;

export function encodeStockStats(stats: readonly StockStat[], podName: string): Buffer {
  return Buffer.concat(stats.map((stat) => bytesField(1, wireMessage(stat, podName))));
}

function wireMessage({ revision, averageConcurrency, requestCount }: StockStat, podName: string) {
  const slash = revision.indexOf("/");
  const stat = Buffer.concat([
    textField(1, podName),
    doubleField(2, averageConcurrency),
    doubleField(4, requestCount),
  ]);
  return Buffer.concat([
    textField(1, revision.slice(0, slash)),
    textField(2, revision.slice(slash + 1)),
    bytesField(3, stat),
  ]);
}

function textField(field: number, text: string): Buffer {
  return text === "" ? Buffer.alloc(0) : bytesField(field, Buffer.from(text, "utf8"));
}

function bytesField(field: number, bytes: Buffer): Buffer {
  const tag = (field << 3) | LENGTH_DELIMITED;
  return Buffer.concat([Buffer.from([tag]), varint(bytes.length), bytes]);
}

function doubleField(field: number, value: number): Buffer {
  if (value === 0) return Buffer.alloc(0);
  const bytes = Buffer.alloc(9);
  bytes[0] = (field << 3) | FIXED_64;
  bytes.writeDoubleLE(value, 1);
  return bytes;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
