/** Log lines: one JSON object each, constant message, fields, errors readable. */
import { expect, it } from "vitest";
import { PlatformError } from "../../../common/errors.ts";
import { createLogger } from "../../../foundation/logger.ts";

it("writes one JSON line with message, fields and the parts of an error", () => {
  const lines: string[] = [];
  const logger = createLogger({ name: "activator", write: (line) => void lines.push(line) });
  const error = new PlatformError("ERR_TIMEOUT", "too late", { cause: new Error("slow") });
  logger.with({ revision: "ns/r" }).warn("push refused", { error });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    severity: "warn",
    logger: "activator",
    message: "push refused",
    revision: "ns/r",
    error: { message: "too late", code: "ERR_TIMEOUT", cause: "slow" },
  });
});

it("leaves out what is below its level", () => {
  const lines: string[] = [];
  const logger = createLogger({
    name: "x",
    level: "error",
    write: (line) => void lines.push(line),
  });
  logger.info("no");
  logger.error("yes");
  expect(lines).toHaveLength(1);
});
