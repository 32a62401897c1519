/** Ordinary requests through the front: connections, order, heads as sent, bodiless answers. */
import { afterEach, describe, expect, it } from "vitest";
import { answering, type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { currentFrontForm, RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

let rig: Rig | undefined;
let server: RawServer | undefined;

afterEach(async () => {
  await rig?.stop();
  await server?.stop();
  rig = undefined;
  server = undefined;
});

async function start(...answers: string[]): Promise<{ rig: Rig; server: RawServer }> {
  server = await startRawServer(answering(...answers));
  rig = await startRig({ port: server.port });
  return { rig, server };
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

describe("a plain request", () => {
  it("keeps order, spelling and odd bytes of headers both ways", async () => {
    const made = await start(
      "HTTP/1.1 299 Odd \xe9 Reason\r\nzZ-b: \xff\xfe\r\nX-A: 1\r\nx-a:  2 \r\nContent-LENGTH: 0\r\n\r\n",
    );
    const client = new RawClient(made.rig.port);
    client.send(
      "GET /p?q=%20 HTTP/1.1\r\nhOST: a.b\r\nX-B: \xe9\r\nx-a: 1\r\nX-A: 2\r\nEmpty:\r\n\r\n",
    );
    await client.has("\r\n\r\n");
    expect(made.server.connections[0]?.received).toBe(
      "GET /p?q=%20 HTTP/1.1\r\nhOST: a.b\r\nX-B: \xe9\r\nx-a: 1\r\nX-A: 2\r\nEmpty: \r\n\r\n",
    );
    expect(client.received).toMatch(
      /^HTTP\/1\.1 299 Odd \xe9 Reason\r\nzZ-b: \xff\xfe\r\nX-A: 1\r\nx-a: 2\r\nContent-LENGTH: 0\r\nDate: /,
    );
    client.socket.destroy();
  });

  it("serves several requests on one client connection over one upstream connection", async () => {
    const made = await start(OK);
    const client = new RawClient(made.rig.port);
    for (let i = 1; i <= 3; i += 1) {
      client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
      await eventually(() => client.received.split("\r\n\r\nok").length === i + 1);
    }
    expect(made.server.connections).toHaveLength(1);
    expect(made.rig.reused).toEqual([false, true, true]);
    client.socket.destroy();
  });

  it.skipIf(currentFrontForm() === "raw")(
    "answers pipelined requests in their order, although the first is the slowest",
    async () => {
      server = await startRawServer(async (connection) => {
        await connection.has("\r\n\r\n");
        const path = /GET (\S+)/.exec(connection.received)?.[1] ?? "";
        if (path === "/1") await eventually(() => server?.connections.length === 3);
        connection.send(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${path}`);
      });
      rig = await startRig({ port: server.port });
      const client = new RawClient(rig.port);
      client.send(
        ["/1", "/2", "/3"].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(""),
      );
      await client.has("\r\n\r\n/3");
      expect(client.received.match(/\r\n\r\n\/\d/g)).toEqual(
        ["/1", "/2", "/3"].map((path) => `\r\n\r\n${path}`),
      );
      client.socket.destroy();
    },
  );

  it.each([
    ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", "Content-Length: 500"],
    ["HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200 OK"],
    ["GET", "HTTP/1.1 204 No Content\r\n\r\n", "204 No Content"],
    ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "Content-Length: 9"],
  ])("passes a bodiless answer to %s and keeps both connections", async (method, answer, mark) => {
    const made = await start(answer);
    const client = new RawClient(made.rig.port);
    client.send(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`);
    await client.has("\r\n\r\n");
    expect(client.received).toContain(mark);
    client.send(`${method} /2 HTTP/1.1\r\nHost: a\r\n\r\n`);
    await eventually(() => client.received.split("HTTP/1.1").length === 3);
    expect(made.rig.reused).toEqual([false, true]);
    expect(client.received).not.toContain("\n0\r\n\r\n");
    client.socket.destroy();
  });

  it("asks the upstream in origin-form when the client used absolute-form", async () => {
    const made = await start(OK);
    const client = new RawClient(made.rig.port);
    client.send("GET http://a.example:80?x=1 HTTP/1.1\r\nHost: a.example:80\r\n\r\n");
    await client.has("ok");
    expect(made.server.connections[0]?.received).toMatch(
      /^GET \/\?x=1 HTTP\/1\.1\r\nHost: a\.example:80/,
    );
    expect(made.rig.exchanges[0]?.head.host).toBe("a.example:80");
    client.socket.destroy();
  });

  it("serves HTTP/1.0: closes after the answer, without chunks", async () => {
    const made = await start(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    );
    const client = new RawClient(made.rig.port);
    client.send("GET / HTTP/1.0\r\n\r\n");
    expect(await client.ended()).toMatch(/Connection: close\r\n\r\nok$/);
  });

  it("understands an HTTP/1.0 upstream that ends its answer by closing", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.0 200 OK\r\nServer: old\r\n\r\nall of it");
      connection.socket.end();
    });
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.has("\r\n0\r\n\r\n");
    expect(client.received).toContain("9\r\nall of it\r\n0\r\n\r\n");
    expect(rig.ends).toEqual([{ kind: "done", status: 200 }]);
    client.socket.destroy();
  });

  it("passes interim answers on, and keeps 100 from a client that did not ask", async () => {
    const made = await start(
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${OK}`,
    );
    const client = new RawClient(made.rig.port);
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.has("ok");
    expect(client.received).toMatch(
      /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 200 OK/,
    );
    client.socket.destroy();
  });

  it("passes trailers both ways", async () => {
    const made = await start(
      "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n",
    );
    const client = new RawClient(made.rig.port);
    client.send(
      "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\nTrailer: X-In\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-In: 5\r\n\r\n",
    );
    await client.has("X-Sum: 7\r\n\r\n");
    await eventually(() => made.server.connections[0]?.received.includes("X-In: 5\r\n\r\n"));
    const sent = made.server.connections[0]?.received ?? "";
    expect(sent).toContain("\r\nTE: trailers\r\n");
    expect(sent).toContain("\r\nTrailer: X-In\r\n");
    expect(sent).toContain("\r\n\r\n3\r\nabc\r\n0\r\nX-In: 5\r\n\r\n");
    expect(client.received).toContain("\r\nTrailer: X-Sum\r\n");
    expect(client.received).toContain("2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n");
    client.socket.destroy();
  });

  it("sends each piece of a stream on at once", async () => {
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (let i = 0; i < 3; i += 1) {
        await eventually(() => client.received.includes("\r\n\r\n") && seen() === i);
        connection.send(`7\r\ndata:${i}\n\r\n`);
      }
      await eventually(() => seen() === 3);
      connection.send("0\r\n\r\n");
    });
    rig = await startRig({ port: server.port });
    const client = new RawClient(rig.port);
    const seen = (): number => client.received.split("data:").length - 1;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await client.has("\r\n0\r\n\r\n");
    expect(rig.ends).toEqual([{ kind: "done", status: 200 }]);
    client.socket.destroy();
  });
});

describe("draining", () => {
  it("finishes open exchanges, tells their clients to close, and accepts nothing new", async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    server = await startRawServer(async (connection) => {
      await connection.has("\r\n\r\n");
      await released;
      connection.send(OK);
    });
    rig = await startRig({ port: server.port });
    const idle = new RawClient(rig.port);
    const busy = new RawClient(rig.port);
    busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(() => rig?.front.open === 1);
    rig.front.stopAccepting();
    let isDrained = false;
    const drained = rig.front.drained().then(() => (isDrained = true));
    const late = new RawClient(rig.port);
    await eventually(() => late.isClosed);
    expect(isDrained).toBe(false);
    release();
    await drained;
    expect(await busy.ended()).toMatch(/Connection: close\r\n[^]*ok$/);
    expect(rig.front.open).toBe(0);
    idle.socket.destroy();
  });
});
