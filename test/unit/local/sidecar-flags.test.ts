import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { SIDECAR_NODE_FLAGS } from "../../../local/sidecar.ts";

it("runs the sidecar in images with the flags that it has in local mode", () => {
  const dockerfile = readFileSync(new URL("../../../Dockerfile", import.meta.url), "utf8");
  const target = dockerfile.slice(dockerfile.indexOf("AS queue-proxy"));
  const command: unknown = JSON.parse(/^CMD (.*)$/m.exec(target)?.[1] ?? "[]");
  expect(command).toEqual([...SIDECAR_NODE_FLAGS, "/app/queue-proxy/main.cjs"]);
});
