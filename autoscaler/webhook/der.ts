/**
 * The few forms of DER that a certificate consists of. Node signs and reads certificates but does
 * not write them, and a library for these lines would be the largest part of the webhook.
 */

const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;

export function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(TAG.sequence, ...parts);
}

export function set(...parts: readonly Buffer[]): Buffer {
  return tagged(TAG.set, ...parts);
}

/** Of a number that is not negative. */
export function integer(value: Buffer): Buffer {
  const isHigh = ((value[0] ?? 0) & 0x80) !== 0;
  return tagged(TAG.integer, isHigh ? Buffer.concat([Buffer.from([0]), value]) : value);
}

export function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0x00]));
}

/** `unused` bits at the end do not count. */
export function bitString(bytes: Buffer, unused = 0): Buffer {
  return tagged(TAG.bitString, Buffer.from([unused]), bytes);
}

export function octetString(bytes: Buffer): Buffer {
  return tagged(TAG.octetString, bytes);
}

export function utf8(text: string): Buffer {
  return tagged(TAG.utf8, Buffer.from(text, "utf8"));
}

/** To the second; years up to 2049. */
export function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return tagged(TAG.utcTime, Buffer.from(digits.slice(2), "ascii"));
}

/** `1.2.840.10045.4.3.2`. */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(base128)];
  return tagged(TAG.oid, Buffer.from(bytes));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** `[number]` around other forms. */
export function explicit(number: number, ...parts: readonly Buffer[]): Buffer {
  return tagged(0xa0 | number, ...parts);
}

/** `[number]` in place of the form of its content. */
export function implicit(number: number, bytes: Buffer): Buffer {
  return tagged(0x80 | number, bytes);
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}
