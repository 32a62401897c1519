/** Where an answer really goes: to the addresses that a name has at the moment of sending. */
import type { lookup } from "node:dns";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createAddressGuard } from "../../../activator/core/webhook-address.ts";
import type { Delivery } from "../../../activator/core/webhook-delivery.ts";
import { WebhookSender } from "../../../activator/runs/webhook-sender.ts";
import { systemClock } from "../../../foundation/clock.ts";
import { createLogger } from "../../../foundation/logger.ts";

let server: Server;
let port = 0;
let hosts: string[] = [];

beforeEach(async () => {
  hosts = [];
  server = createServer((request, response) => {
    hosts.push(request.headers.host ?? "");
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A resolver whose answer changes from one question to the next, as a hostile one's does. */
function sender(...answers: readonly (readonly string[])[]): {
  readonly sender: WebhookSender;
  readonly asked: () => number;
} {
  let asked = 0;
  const resolve = (_host: string, _options: unknown, callback: (...args: unknown[]) => void) => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? [];
    asked += 1;
    callback(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );
  };
  return {
    sender: new WebhookSender({
      guard: createAddressGuard([]),
      clock: systemClock,
      logger: createLogger({ name: "test", level: "silent" }),
      pause: () => Promise.resolve(),
      // One of the forms of the function, the one that is used.
      resolve: resolve as unknown as typeof lookup,
    }),
    asked: () => asked,
  };
}

function delivery(listed: readonly string[]): Delivery {
  return {
    runId: "r1",
    service: "default/ocr",
    target: { url: `http://hook.example.com:${port}/`, format: "plain", hosts: listed },
    status: 200,
    answer: { headers: ["content-type", "text/plain"], omitted: false },
    body: Buffer.from("answer"),
    secret: "",
    endedAt: 0,
  };
}

const { signal } = new AbortController();

describe("a name", () => {
  it.each([
    ["loopback", ["127.0.0.1"]],
    ["a private network", ["10.1.2.3"]],
    ["the credentials of a cloud", ["169.254.169.254"]],
    ["a public and a private address", ["93.184.216.34", "127.0.0.1"]],
  ])("that leads to %s is given up, and nothing is connected to", async (_what, addresses) => {
    const rig = sender(addresses);
    expect(await rig.sender.send(delivery([]), signal)).toEqual({ outcome: "failed", tries: 1 });
    expect(hosts).toEqual([]);
  });

  it("is asked for anew for each attempt, so one that changes its mind reaches nothing", async () => {
    // A public address that nobody answers at, then the inside.
    const rig = sender([], ["127.0.0.1"]);
    expect(await rig.sender.send(delivery([]), signal)).toEqual({ outcome: "failed", tries: 2 });
    expect(rig.asked()).toBe(2);
    expect(hosts).toEqual([]);
  });

  it("that the service lists may be inside", async () => {
    const rig = sender(["127.0.0.1"]);
    const listed = delivery(["*.example.com"]);
    expect(await rig.sender.send(listed, signal)).toEqual({ outcome: "delivered", tries: 1 });
    expect(hosts).toEqual([`hook.example.com:${port}`]);
  });
});
