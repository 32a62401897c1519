import { describe, expect, it } from "vitest";
import { closeFrame, FrameTracker } from "../../../proxy/websocket-close.ts";

/** A frame with a payload of this size; masked as clients send it when asked. */
function frame(size: number, opcode = 2, isMasked = false): Buffer {
  const length =
    size < 126
      ? Buffer.from([size])
      : size < 65_536
        ? Buffer.from([126, size >> 8, size & 0xff])
        : Buffer.from([
            127,
            0,
            0,
            0,
            0,
            ...new Uint8Array(new Uint32Array([size]).buffer).toReversed(),
          ]);
  if (isMasked) length[0] = (length[0] ?? 0) | 0x80;
  const mask = Buffer.alloc(isMasked ? 4 : 0, 7);
  return Buffer.concat([Buffer.from([0x80 | opcode]), length, mask, Buffer.alloc(size, 0x88)]);
}

describe("the frame tracker", () => {
  it.each([0, 1, 125, 126, 300, 65_535, 65_536, 70_000])(
    "finds the end of a frame of %i bytes",
    (size) => {
      for (const isMasked of [false, true]) {
        const bytes = frame(size, 2, isMasked);
        const tracker = new FrameTracker();
        tracker.follow(bytes.subarray(0, bytes.length - 1));
        expect(tracker.isAtBoundary).toBe(false);
        tracker.follow(bytes.subarray(bytes.length - 1));
        expect(tracker.isAtBoundary).toBe(true);
        expect(tracker.sawClose).toBe(false);
      }
    },
  );

  it("follows frames byte by byte, and sees a close frame only where one starts", () => {
    const tracker = new FrameTracker();
    const bytes = Buffer.concat([frame(5), frame(200, 1), frame(0, 9)]);
    for (const byte of bytes) tracker.follow(Buffer.from([byte]));
    expect(tracker.isAtBoundary).toBe(true);
    expect(tracker.sawClose).toBe(false);
    tracker.follow(closeFrame(1_001));
    expect(tracker.sawClose).toBe(true);
  });

  it("writes a close frame with its code in network order", () => {
    expect(closeFrame(1_011)).toEqual(Buffer.from([0x88, 2, 0x03, 0xf3]));
  });
});
