/** Start in order, stop in reverse, a failing or hanging part does not keep the others up. */
import { describe, expect, it } from "vitest";
import { createLifecycle } from "../../../foundation/lifecycle.ts";
import { createLogger } from "../../../foundation/logger.ts";

const quiet = createLogger({ name: "test", level: "silent" });

describe("lifecycle", () => {
  it("starts in order and stops in reverse, once", async () => {
    const seen: string[] = [];
    const part = (name: string) => ({
      name,
      start: () => void seen.push(`start ${name}`),
      stop: () => void seen.push(`stop ${name}`),
    });
    const life = createLifecycle({
      logger: quiet,
      parts: [part("a"), part("b")],
      stopDeadlineMs: 1_000,
    });
    await life.start();
    await Promise.all([life.stop("one"), life.stop("two")]);
    expect(seen).toEqual(["start a", "start b", "stop b", "stop a"]);
  });

  it("stops only what was started, although a later start failed", async () => {
    const seen: string[] = [];
    const parts = [
      { name: "a", stop: () => void seen.push("stop a") },
      {
        name: "b",
        start: () => Promise.reject(new Error("no")),
        stop: () => void seen.push("stop b"),
      },
      { name: "c", stop: () => void seen.push("stop c") },
    ];
    const life = createLifecycle({ logger: quiet, parts, stopDeadlineMs: 1_000 });
    await expect(life.start()).rejects.toThrow("no");
    await life.stop("failed start");
    expect(seen).toEqual(["stop b", "stop a"]);
  });

  it("goes on past a part that fails to stop, and gives up on one that hangs", async () => {
    const seen: string[] = [];
    const parts = [
      { name: "hangs", stop: () => new Promise<void>(() => {}) },
      { name: "fails", stop: () => Promise.reject(new Error("no")) },
      { name: "fine", stop: () => void seen.push("stop fine") },
    ];
    const life = createLifecycle({ logger: quiet, parts, stopDeadlineMs: 10 });
    await life.start();
    await life.stop("test");
    expect(seen).toEqual(["stop fine"]);
  });
});
