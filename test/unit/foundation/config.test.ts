/** Environment to options: every fault at once, with name, value and what was expected. */
import { describe, expect, it } from "vitest";
import { flag, integer, oneOf, readConfig, text } from "../../../foundation/config.ts";

const table = {
  url: ["STORE_URL", text()],
  port: ["PORT", integer({ min: 0, max: 65_535, fallback: 8080 })],
  debug: ["DEBUG", flag()],
  level: ["LEVEL", oneOf(["info", "warn"], "info")],
} as const;

describe("readConfig", () => {
  it("fills in defaults and freezes the result", () => {
    const config = readConfig<{ url: string; port: number; debug: boolean; level: string }>(
      { STORE_URL: "x" },
      table,
    );
    expect(config).toEqual({ url: "x", port: 8080, debug: false, level: "info" });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it("reports all faults together", () => {
    const read = () =>
      readConfig<object>({ PORT: "70000", DEBUG: "yes", LEVEL: "loud" }, table as never);
    expect(read).toThrow(
      [
        "Bad configuration.",
        "STORE_URL: is not set; set it to a text",
        'PORT: got "70000", expected an integer from 0 to 65535',
        'DEBUG: got "yes", expected true or false',
        'LEVEL: got "loud", expected one of info, warn',
      ].join("\n"),
    );
  });
});
