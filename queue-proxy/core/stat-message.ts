/**
 * The stock autoscaler's `Stat` message in protobuf, written by hand: six fields do not justify an
 * encoder in the sidecar. Proto3 leaves out zero values.
 */

export interface Stat {
  readonly podName: string;
  readonly averageConcurrentRequests: number;
  readonly averageProxiedConcurrentRequests: number;
  readonly requestCount: number;
  readonly proxiedRequestCount: number;
  readonly processUptimeSeconds: number;
}

const LENGTH_DELIMITED = 2;
const FIXED_64 = 1;

export function encodeStat(stat: Stat): Buffer {
  const name = Buffer.from(stat.podName, "utf8");
  const doubles: readonly (readonly [field: number, value: number])[] = [
    [2, stat.averageConcurrentRequests],
    [3, stat.averageProxiedConcurrentRequests],
    [4, stat.requestCount],
    [5, stat.proxiedRequestCount],
    [6, stat.processUptimeSeconds],
  ];
  const parts = [
    ...(name.length > 0
      ? [Buffer.from([tag(1, LENGTH_DELIMITED)]), varint(name.length), name]
      : []),
    ...doubles.filter(([, value]) => value !== 0).map(([field, value]) => double(field, value)),
  ];
  return Buffer.concat(parts);
}

function tag(field: number, wireType: number): number {
  return (field << 3) | wireType;
}

function double(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = tag(field, FIXED_64);
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
