/** Large bodies both ways: every byte, with slow readers, at bounded memory. */
import { createHash, randomBytes } from "node:crypto";
import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";
import { type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";

const SIZE = 8 * 1024 * 1024;
const BODY = randomBytes(SIZE);
const DIGEST = createHash("sha256").update(BODY).digest("hex");

let rig: Rig;
let server: Server;

/** `/up` answers with the digest of what came, `/down` sends the body; `slow` reads with pauses. */
beforeAll(async () => {
  server = createServer((request, response) => {
    const { url = "" } = request;
    if (url.startsWith("/down")) {
      if (url.includes("length")) response.setHeader("Content-Length", SIZE);
      for (let at = 0; at < SIZE; at += 100_003) response.write(BODY.subarray(at, at + 100_003));
      response.end();
      return;
    }
    void digestOf(request, url.includes("slow")).then((digest) => response.end(digest));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  rig = await startRig({ port: (server.address() as AddressInfo).port });
});

afterAll(async () => {
  await rig.stop();
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

async function digestOf(message: IncomingMessage, isSlow: boolean): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of message) {
    hash.update(bytes as Buffer);
    if (isSlow) await new Promise((resolve) => setImmediate(resolve));
  }
  return hash.digest("hex");
}

async function send(method: string, path: string, framing: "length" | "chunked"): Promise<string> {
  const headers = framing === "length" ? { "Content-Length": SIZE } : {};
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(
      { port: rig.port, host: "127.0.0.1", path, method, headers },
      resolve,
    );
    request.on("error", reject);
    if (method === "GET") return request.end();
    let at = 0;
    const more = (): void => {
      while (at < SIZE) {
        const piece = BODY.subarray(at, (at += 65_521));
        if (!request.write(piece)) return void request.once("drain", more);
      }
      request.end();
    };
    more();
    return undefined;
  });
  if (method === "GET") return digestOf(message, path.includes("slow"));
  let text = "";
  for await (const bytes of message) text += String(bytes);
  return text;
}

describe("a body of 8 MiB", () => {
  it.each([
    ["PUT", "/up", "length"],
    ["PUT", "/up", "chunked"],
    ["PUT", "/up?slow", "length"],
    ["PUT", "/up?slow", "chunked"],
    ["GET", "/down?length", "length"],
    ["GET", "/down", "chunked"],
    ["GET", "/down?length&slow", "length"],
    ["GET", "/down?slow", "chunked"],
  ] as const)("%s %s (%s) arrives byte for byte", async (method, path, framing) => {
    expect(await send(method, path, framing)).toBe(DIGEST);
  });

  it("arrives six times at once, both ways, mixed", async () => {
    const digests = await Promise.all([
      send("PUT", "/up", "length"),
      send("GET", "/down?length&slow", "length"),
      send("PUT", "/up?slow", "chunked"),
      send("GET", "/down?slow", "chunked"),
      send("GET", "/down?length", "length"),
      send("PUT", "/up", "chunked"),
    ]);
    expect(digests).toEqual(Array.from({ length: 6 }, () => DIGEST));
  });
});

describe("back-pressure", () => {
  let raw: RawServer | undefined;
  let own: Rig | undefined;

  const stop = async (): Promise<void> => {
    await own?.stop();
    await raw?.stop();
  };

  it("stops a fast upstream when the client does not read", async () => {
    let written = 0;
    const piece = Buffer.alloc(65_536, "x");
    raw = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const more = (): void => {
        while (written < 256 * 1024 * 1024) {
          written += piece.length;
          connection.socket.write("10000\r\n");
          connection.socket.write(piece);
          if (!connection.socket.write("\r\n")) return void connection.socket.once("drain", more);
        }
      };
      more();
    });
    own = await startRig({ port: raw.port });
    const client = new RawClient(own.port).send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.has("200 OK");
    client.socket.pause();
    let before = -1;
    await eventually(
      () => {
        const isStill = written === before;
        before = written;
        return isStill;
      },
      { everyMs: 200, timeoutMs: 10_000 },
    );
    // Kernel buffers of two loopback connections take some MiB; the rest waits upstream.
    expect(written).toBeLessThan(64 * 1024 * 1024);
    client.socket.destroy();
    await eventually(() => own?.ends.length === 1);
    expect(own.ends).toMatchObject([{ kind: "client-gone", status: 200 }]);
    await stop();
  });

  it("stops a fast client when the upstream does not read", async () => {
    raw = await startRawServer((connection) => {
      connection.socket.pause();
    });
    own = await startRig({ port: raw.port });
    const client = new RawClient(own.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
    let sent = 0;
    const more = (): void => {
      while (sent < 256 * 1024 * 1024) {
        sent += 65_536;
        if (!client.socket.write(piece, "latin1")) return void client.socket.once("drain", more);
      }
    };
    more();
    let before = -1;
    await eventually(
      () => {
        const isStill = sent === before;
        before = sent;
        return isStill;
      },
      { everyMs: 200, timeoutMs: 10_000 },
    );
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    // A client that leaves is seen as soon as its bytes can be read again.
    client.socket.resetAndDestroy();
    raw.connections[0]?.socket.resume();
    await eventually(() => own?.front.open === 0);
    expect(own.ends).toMatchObject([{ kind: "client-gone", status: 0 }]);
    await stop();
  });
});
