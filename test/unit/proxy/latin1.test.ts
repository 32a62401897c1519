/** Header values that have no bytes: written as `?`, never as half of themselves, never a crash. */
import { describe, expect, it } from "vitest";
import { rawAnswer } from "../../../proxy/client-connection.ts";
import { answerFields } from "../../../proxy/h2-headers.ts";
import { isLatin1, sendableHeaders } from "../../../proxy/latin1.ts";
import { requestHeadText } from "../../../proxy/request-writer.ts";
import { switchHeadText } from "../../../proxy/response-writer.ts";
import { NO_BODY } from "../../../proxy/sides.ts";

/** Its lower byte is a line feed. */
const SPLITTER = "a\u010ax: injected";

describe("what can be sent", () => {
  it("is the same list, untouched", () => {
    const headers = ["X-A", "caf\u00e9 \u00ff\t!"];
    expect(sendableHeaders(headers)).toBe(headers);
    expect(isLatin1("caf\u00e9 \u00ff")).toBe(true);
    expect(isLatin1(SPLITTER)).toBe(false);
  });

  it.each(["\u4f60", "\u010a", "\n", "\r", "\u0000", "\u007f", "\ud800"])("is not %j", (text) => {
    expect(sendableHeaders(["X", `a${text}b`])).toEqual(["X", "a?b"]);
  });
});

describe("a head", () => {
  it("of a request loses nothing but the letter", () => {
    const text = requestHeadText({
      protocol: "http1",
      host: "127.0.0.1",
      port: 1,
      localAddress: "",
      method: "GET",
      target: "/",
      headers: ["Host", "a", "X-Why", SPLITTER, "X-B", "1"],
      hopHeaders: [],
      framing: NO_BODY,
      upgrade: "",
    });
    expect(text).toContain("X-Why: a?x: injected\r\nX-B: 1\r\n");
    expect(Buffer.from(text, "latin1").toString("latin1")).toBe(text);
  });

  it("of a switch, of a refusal and of HTTP/2 neither", () => {
    const head = { status: 101, statusText: "Switching", headers: [] };
    expect(switchHeadText(head, ["X", SPLITTER])).toContain("X: a?x: injected");
    const refusal = rawAnswer({ status: 400, headers: ["X", SPLITTER], body: "" });
    expect(refusal.toString("latin1")).toContain("X: a?x: injected");
    expect(answerFields(200, ["X", SPLITTER])).toEqual([":status", "200", "x", "a?x: injected"]);
  });
});
