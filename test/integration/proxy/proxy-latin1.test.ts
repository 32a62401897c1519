/** A handler's header value without bytes of its own ends no process and no connection. */
import http2 from "node:http2";
import { afterEach, expect, it } from "vitest";
import { startRawServer, type RawServer } from "../../fixtures/servers/raw-server.ts";
import { RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

let rig: Rig | undefined;
let server: RawServer | undefined;

afterEach(async () => {
  await rig?.stop();
  await server?.stop();
});

const WIDE = ["X-Why", "\u4f60\u010a"];

it("in an answer of its own", async () => {
  rig = await startRig({
    protocols: "both",
    onExchange: (exchange) => exchange.answer({ status: 503, headers: WIDE, body: "no\n" }),
  });
  const client = new RawClient(rig.port).send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await client.has("no\n");
  expect(client.received).toContain("X-Why: ??\r\n");
  client.socket.destroy();
  const session = http2.connect(`http://127.0.0.1:${rig.port}`);
  const headers = await new Promise<http2.IncomingHttpHeaders>((resolve) => {
    session.request({ ":path": "/" }).once("response", resolve).resume();
  });
  expect(headers["x-why"]).toBe("??");
  session.destroy();
});

it("beside an upstream's answer, and towards the upstream", async () => {
  server = await startRawServer(async (connection) => {
    await connection.has("\r\n\r\n");
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  const attempt = { headers: ["Host", "a", ...WIDE], onResponse: () => WIDE };
  rig = await startRig({ port: server.port, attempt });
  const client = new RawClient(rig.port).send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await client.has("ok");
  expect(client.received).toContain("X-Why: ??\r\n");
  expect(server.connections[0]?.received).toContain("X-Why: ??\r\n");
  client.socket.destroy();
});
