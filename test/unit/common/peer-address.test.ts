import { describe, expect, it } from "vitest";
import { withoutMapping } from "../../../common/peer-address.ts";

describe("withoutMapping", () => {
  it("reads a mapped address as the one it is", () => {
    expect(withoutMapping("::ffff:127.0.0.1")).toBe("127.0.0.1");
    expect(withoutMapping("2001:db8::1")).toBe("2001:db8::1");
  });
});
