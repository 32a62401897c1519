/**
 * Close frames of RFC 6455 and where they may stand: a frame must not be put into the middle of
 * another, so the bytes towards the client are followed frame by frame.
 */

/** Close codes that the platform itself gives. */
export const CLOSE_GOING_AWAY = 1001;
export const CLOSE_LIMIT = 1008;
export const CLOSE_POD_LOST = 1011;

const FINAL_BIT = 0x80;
const OPCODE_BITS = 0x0f;
const CLOSE_OPCODE = 0x08;
const MASK_BIT = 0x80;
const LENGTH_BITS = 0x7f;
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** An unmasked close frame, as servers send it. */
export function closeFrame(code: number): Buffer {
  return Buffer.from([FINAL_BIT | CLOSE_OPCODE, 2, code >> 8, code & 0xff]);
}

/** Follows frames of one direction. */
export class FrameTracker {
  #header: number[] = [];
  #payloadLeft = 0;
  #sawClose = false;

  /** The next byte starts a frame. */
  get isAtBoundary(): boolean {
    return this.#payloadLeft === 0 && this.#header.length === 0;
  }

  /** A close frame has begun; no frame may follow it. */
  get sawClose(): boolean {
    return this.#sawClose;
  }

  follow(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#payloadLeft > 0) {
        const taken = Math.min(this.#payloadLeft, bytes.length - at);
        this.#payloadLeft -= taken;
        at += taken;
      } else {
        this.#takeHeaderByte(bytes[at] ?? 0);
        at += 1;
      }
    }
  }

  #takeHeaderByte(byte: number): void {
    const header = this.#header;
    header.push(byte);
    if (header.length === 1 && (byte & OPCODE_BITS) === CLOSE_OPCODE) this.#sawClose = true;
    const second = header[1];
    if (second === undefined) return;
    const code = second & LENGTH_BITS;
    const lengthBytes = code === LENGTH_16 ? 2 : code === LENGTH_64 ? 8 : 0;
    const maskBytes = (second & MASK_BIT) === 0 ? 0 : 4;
    if (header.length < 2 + lengthBytes + maskBytes) return;
    this.#payloadLeft = lengthBytes === 0 ? code : toNumber(header.slice(2, 2 + lengthBytes));
    this.#header = [];
  }
}

function toNumber(bytes: readonly number[]): number {
  let value = 0;
  for (const byte of bytes) value = value * 256 + byte;
  return value;
}
