/** h2c on both sides and mixed with HTTP/1.1: gRPC endings, GOAWAY, resets, early answers. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { answering, type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";
import { RawClient, type Rig, startRig } from "../../support/proxy-rig.ts";

type Serve = (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void;

interface H2cServer {
  readonly port: number;
  readonly sessions: readonly http2.ServerHttp2Session[];
  stop(): Promise<void>;
}

interface Answer {
  readonly headers: http2.IncomingHttpHeaders;
  readonly trailers: http2.IncomingHttpHeaders | undefined;
  readonly body: Buffer;
  readonly code: number | undefined;
}

const stops: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function startH2c(serve: Serve): Promise<H2cServer> {
  const sessions: http2.ServerHttp2Session[] = [];
  const server = http2.createServer();
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    serve(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  stops.push(stop);
  return { port: (server.address() as AddressInfo).port, sessions, stop };
}

async function rigTo(port: number, protocol: "http1" | "h2c"): Promise<Rig> {
  const rig = await startRig({ port, protocols: "both", attempt: { protocol } });
  stops.push(() => rig.stop());
  return rig;
}

function openSession(rig: Rig): http2.ClientHttp2Session {
  const session = http2.connect(`http://127.0.0.1:${rig.port}`);
  session.on("error", () => undefined);
  stops.push(() => session.destroy());
  return session;
}

async function call(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: Buffer | string,
): Promise<Answer> {
  const stream = session.request({ ":path": "/", ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  let answer: http2.IncomingHttpHeaders = {};
  let trailers: http2.IncomingHttpHeaders | undefined;
  const pieces: Buffer[] = [];
  stream.on("response", (found) => (answer = found));
  stream.on("trailers", (found) => (trailers = found));
  stream.on("data", (bytes: Buffer) => pieces.push(bytes));
  stream.on("error", () => undefined);
  await new Promise<void>((resolve) => stream.once("close", resolve));
  return { headers: answer, trailers, body: Buffer.concat(pieces), code: stream.rstCode };
}

/** A gRPC-like server: `/ok`, `/fail` as trailers-only, `/half` fails after three messages. */
const grpc: Serve = (stream, headers) => {
  if (headers["te"] !== "trailers") return stream.close(http2.constants.NGHTTP2_PROTOCOL_ERROR);
  if (headers[":path"] === "/fail") {
    return stream.respond(
      {
        ":status": 200,
        "content-type": "application/grpc",
        "grpc-status": "5",
        "grpc-message": "no%20such",
      },
      { endStream: true },
    );
  }
  const status = headers[":path"] === "/half" ? "8" : "0";
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () =>
    stream.sendTrailers({ "grpc-status": status, "grpc-message": "m" }),
  );
  for (let i = 0; i < 3; i += 1) stream.write(`message ${i};`);
  stream.end();
  return undefined;
};

describe("gRPC from an h2c client to an h2c upstream", () => {
  it.each([
    ["/ok", "0", "message 0;message 1;message 2;"],
    ["/half", "8", "message 0;message 1;message 2;"],
  ])("%s keeps messages and trailers", async (path, status, body) => {
    const rig = await rigTo((await startH2c(grpc)).port, "h2c");
    const answer = await call(
      openSession(rig),
      { ":method": "POST", ":path": path, te: "trailers" },
      "x",
    );
    expect(answer.body.toString()).toBe(body);
    expect(answer.headers[":status"]).toBe(200);
    expect(answer.trailers).toMatchObject({ "grpc-status": status, "grpc-message": "m" });
    await eventually(() => rig.ends.length === 1 && rig.front.open === 0);
    expect(rig.ends).toEqual([{ kind: "done", status: 200 }]);
  });

  it("keeps a trailers-only answer as it is", async () => {
    const rig = await rigTo((await startH2c(grpc)).port, "h2c");
    const answer = await call(
      openSession(rig),
      { ":method": "POST", ":path": "/fail", te: "trailers" },
      "x",
    );
    expect(answer.headers).toMatchObject({ "grpc-status": "5", "grpc-message": "no%20such" });
    expect(answer.trailers).toBeUndefined();
  });

  it("lets the platform answer trailers-only itself", async () => {
    const rig = await startRig({
      protocols: "both",
      onExchange: (exchange) =>
        exchange.answer({
          status: 200,
          headers: ["content-type", "application/grpc", "grpc-status", "14"],
          body: "",
        }),
    });
    stops.push(() => rig.stop());
    const answer = await call(openSession(rig), { ":method": "POST", te: "trailers" }, "x");
    expect(answer.headers).toMatchObject({ ":status": 200, "grpc-status": "14" });
    expect(answer.code).toBe(http2.constants.NGHTTP2_NO_ERROR);
  });

  it("multiplexes many calls over one upstream session", async () => {
    const server = await startH2c(grpc);
    const rig = await rigTo(server.port, "h2c");
    const session = openSession(rig);
    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        call(session, { ":method": "POST", ":path": "/ok", te: "trailers" }, "x"),
      ),
    );
    expect(answers.every(({ trailers }) => trailers?.["grpc-status"] === "0")).toBe(true);
    expect(server.sessions).toHaveLength(1);
  });
});

describe("bodies over h2c", () => {
  const body = randomBytes(2 * 1024 * 1024);
  const digest = createHash("sha256").update(body).digest("hex");
  const echo: Serve = (stream) => {
    stream.respond({ ":status": 200 });
    stream.pipe(stream);
  };

  it("pass whole, both ways at once", async () => {
    const rig = await rigTo((await startH2c(echo)).port, "h2c");
    const session = openSession(rig);
    const answers = await Promise.all(
      [1, 2, 3].map(() => call(session, { ":method": "POST" }, body)),
    );
    for (const answer of answers) {
      expect(createHash("sha256").update(answer.body).digest("hex")).toBe(digest);
    }
  });

  it("pass from an h2c client to an HTTP/1.1 upstream, with cookies as one header", async () => {
    const server = await startRawServer(async (connection) => {
      await connection.has("0\r\n\r\n");
      connection.send(
        "HTTP/1.1 200 OK\r\nConnection: x-hop\r\nX-Hop: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
      );
    });
    stops.push(() => server.stop());
    const rig = await rigTo(server.port, "http1");
    const answer = await call(
      openSession(rig),
      { ":method": "POST", ":path": "/p", cookie: ["a=1", "b=2"] },
      "hello",
    );
    expect(answer.body.toString()).toBe("ok");
    expect(answer.trailers).toMatchObject({ "x-t": "1" });
    expect(answer.headers["x-hop"]).toBeUndefined();
    const sent = server.connections[0]?.received ?? "";
    expect(sent).toMatch(/^POST \/p HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/);
    expect(sent).toContain("cookie: a=1; b=2\r\n");
    expect(sent).toContain("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
  });

  it("pass from an HTTP/1.1 client to an h2c upstream", async () => {
    const rig = await rigTo((await startH2c(echo)).port, "h2c");
    const client = new RawClient(rig.port);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    await client.has("\r\n0\r\n\r\n");
    expect(client.received).toContain("5\r\nhello\r\n");
    client.socket.destroy();
  });
});

describe("endings over h2c", () => {
  it("serves calls after a GOAWAY on a new session, and lets the running stream end", async () => {
    let finish = (): void => undefined;
    const server = await startH2c((stream, headers) => {
      stream.respond({ ":status": 200 });
      if (headers[":path"] !== "/long") return stream.end("ok");
      finish = () => stream.end("long");
      return undefined;
    });
    const rig = await rigTo(server.port, "h2c");
    const session = openSession(rig);
    const long = call(session, { ":path": "/long" });
    await eventually(() => server.sessions.length === 1 && rig.exchanges.length === 1);
    await eventually(() => rig.reused.length === 1);
    server.sessions[0]?.close();
    const answers = [];
    for (let i = 0; i < 50; i += 1) answers.push(await call(session, {}));
    expect(answers.every(({ body }) => body.toString() === "ok")).toBe(true);
    finish();
    expect((await long).body.toString()).toBe("long");
    expect(server.sessions).toHaveLength(2);
    expect(rig.ends.every((end) => end.kind === "done")).toBe(true);
  });

  it("repeats a call that the upstream refused unread", async () => {
    let calls = 0;
    const server = await startH2c((stream) => {
      calls += 1;
      if (calls === 1) return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
      stream.respond({ ":status": 200 });
      stream.end("ok");
      return undefined;
    });
    const rig = await rigTo(server.port, "h2c");
    const answer = await call(openSession(rig), { ":method": "POST" }, "hello");
    expect(answer.body.toString()).toBe("ok");
    expect(rig.ends).toEqual([{ kind: "done", status: 200 }]);
  });

  it("ends as connect-failed when nobody listens, and as bad response when it is no HTTP/2", async () => {
    const gone = await startH2c(() => undefined);
    await gone.stop();
    const rig = await rigTo(gone.port, "h2c");
    expect((await call(openSession(rig), {})).headers[":status"]).toBe(502);
    expect(rig.ends).toMatchObject([{ kind: "connect-failed", failure: "refused" }]);
    const http1: RawServer = await startRawServer(
      answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    );
    stops.push(() => http1.stop());
    const other = await rigTo(http1.port, "h2c");
    expect((await call(openSession(other), {})).headers[":status"]).toBe(502);
    expect(other.ends).toMatchObject([{ kind: "bad-response" }]);
  });

  it("ends as reset, or is cut, when upstream resets the stream", async () => {
    const server = await startH2c((stream, headers) => {
      if (headers[":path"] === "/before")
        return stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      // Trailers are owed and never sent: the reset comes before the end.
      stream.respond({ ":status": 200 }, { waitForTrailers: true });
      stream.write("half", () => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
      return undefined;
    });
    const rig = await rigTo(server.port, "h2c");
    const session = openSession(rig);
    expect((await call(session, { ":path": "/before" })).headers[":status"]).toBe(502);
    const cut = await call(session, { ":path": "/after" });
    expect(cut.headers[":status"]).toBe(200);
    expect(cut.code).toBe(http2.constants.NGHTTP2_INTERNAL_ERROR);
    expect(rig.ends).toMatchObject([{ kind: "reset" }, { kind: "cut", status: 200 }]);
  });

  it("cancels the upstream stream when the client resets its own", async () => {
    let code: number | undefined;
    const server = await startH2c((stream) => {
      stream.respond({ ":status": 200 });
      stream.write("part");
      stream.on("close", () => (code = stream.rstCode));
    });
    const rig = await rigTo(server.port, "h2c");
    const stream = openSession(rig).request({ ":path": "/" });
    stream.on("error", () => undefined);
    await once(stream, "data");
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await eventually(() => code === http2.constants.NGHTTP2_CANCEL);
    expect(rig.ends).toEqual([{ kind: "client-gone", status: 200 }]);
    await eventually(() => rig.front.open === 0);
  });

  it("passes an early answer on and stops the upload", async () => {
    const server = await startH2c((stream) => {
      stream.respond({ ":status": 413 });
      stream.end("big");
    });
    const rig = await rigTo(server.port, "h2c");
    // Not `call`: Node's client leaves a stream open whose peer said "enough" without an error.
    const stream = openSession(rig).request({ ":path": "/", ":method": "POST" });
    stream.on("error", () => undefined);
    const pieces: Buffer[] = [];
    stream.on("data", (bytes: Buffer) => pieces.push(bytes));
    stream.end(Buffer.alloc(8 * 1024 * 1024));
    const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
    await once(stream, "end");
    expect(headers[":status"]).toBe(413);
    expect(Buffer.concat(pieces).toString()).toBe("big");
    await eventually(() => rig.ends.length === 1 && rig.front.open === 0);
    expect(rig.ends).toEqual([{ kind: "done", status: 413 }]);
  });

  it("refuses a length that differs from the data, and upstream never gets a whole request", async () => {
    let whole = 0;
    const server = await startH2c((stream) => {
      stream.on("end", () => (whole += stream.rstCode === 0 && !stream.aborted ? 1 : 0));
      stream.resume();
    });
    const rig = await rigTo(server.port, "h2c");
    const answer = await call(
      openSession(rig),
      { ":method": "POST", "content-length": "9" },
      "four",
    );
    expect(answer.code).not.toBe(http2.constants.NGHTTP2_NO_ERROR);
    await eventually(() => rig.front.open === 0);
    expect(whole).toBe(0);
  });

  it("drains: GOAWAY to the client, open streams end", async () => {
    let finish = (): void => undefined;
    const server = await startH2c((stream) => {
      finish = () => {
        stream.respond({ ":status": 200 });
        stream.end("late");
      };
    });
    const rig = await rigTo(server.port, "h2c");
    const session = openSession(rig);
    const late = call(session, {});
    await eventually(() => rig.reused.length === 1);
    rig.front.stopAccepting();
    await eventually(() => session.closed);
    await eventually(() => server.sessions.length === 1);
    finish();
    expect((await late).body.toString()).toBe("late");
    await rig.front.drained();
  });
});

describe("one port for both protocols", () => {
  it("serves HTTP/1.1 beside h2c, also when the first byte comes alone", async () => {
    const server = await startRawServer(
      answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    );
    stops.push(() => server.stop());
    const rig = await rigTo(server.port, "http1");
    const client = new RawClient(rig.port).send("P");
    await eventually(() => client.socket.bytesWritten === 1);
    client.send("UT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    await client.has("\r\n\r\nok");
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await eventually(() => client.received.split("\r\n\r\nok").length === 3);
    expect((await call(openSession(rig), {})).body.toString()).toBe("ok");
    client.socket.destroy();
  });
});
