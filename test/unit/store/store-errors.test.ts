/** Which errors of the store may pass by themselves, and what is said when they do not. */
import { describe, expect, test } from "vitest";
import { faultOf, unavailable } from "../../../store/store-errors.ts";

describe("an error of the store", () => {
  test.each([
    ["READONLY You can't write against a read only replica.", "wrong-node"],
    ["LOADING Valkey is loading the dataset in memory", "wrong-node"],
    ["MASTERDOWN Link with MASTER is down", "wrong-node"],
    ["CLUSTERDOWN The cluster is down", "wrong-node"],
    ["MOVED 3999 127.0.0.1:6381", "wrong-node"],
    ["ASK 3999 127.0.0.1:6381", "wrong-node"],
    ["TRYAGAIN Multiple keys request during rehashing of slot", "wrong-node"],
    ["BUSY Valkey is busy running a script.", "busy"],
    ["NEWERLAYOUT the state has layout 2, this library writes 1", "newer-layout"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "full"],
    ["MISCONF Valkey is configured to save RDB snapshots", "full"],
    ["Connection is closed.", "away"],
    ["Command timed out", "away"],
    ["WRONGPASS invalid username-password pair", null],
    ["ERR wrong number of arguments", null],
  ])("%s", (text, fault) => {
    expect(faultOf(new Error(text))).toBe(fault);
  });

  test("of the network is known by its code", () => {
    expect(faultOf(Object.assign(new Error("connect"), { code: "ECONNREFUSED" }))).toBe("away");
  });

  test("that lasts names what to do about it", () => {
    const cause = new Error("OOM command not allowed");
    expect(unavailable(cause.message, cause)).toMatchObject({
      code: "ERR_STORE_UNAVAILABLE",
      message: expect.stringContaining("give it more memory"),
      details: { fault: "full" },
    });
  });
});
