/** What waits for the end of a turn of the event loop: its order, and what may come before it leaves. */
import { afterEach, describe, expect, it } from "vitest";
import { NO_BODY } from "../../../proxy/sides.ts";
import type { UpstreamFailure, UpstreamListener, UpstreamRequest } from "../../../proxy/sides.ts";
import { writeAtTurnEnd } from "../../../proxy/turn-end.ts";
import { createUpstream } from "../../../proxy/upstream.ts";
import { answering, type RawServer, startRawServer } from "../../fixtures/servers/raw-server.ts";
import { eventually } from "../../support/eventually.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

let server: RawServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

describe("writers", () => {
  it("write in their order once the turn is over, one that comes meanwhile in the next", async () => {
    const written: string[] = [];
    const writer = (name: string) => ({ writeNow: () => void written.push(name) });
    const both = {
      writeNow: () => {
        written.push("b");
        writeAtTurnEnd(writer("d"));
      },
    };
    writeAtTurnEnd(writer("a"));
    writeAtTurnEnd(both);
    writeAtTurnEnd(writer("c"));
    expect(written).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual(["a", "b", "c"]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written).toEqual(["a", "b", "c", "d"]);
  });
});

/** Tells how it ended and nothing else. */
class Ending implements UpstreamListener {
  ended = 0;
  readonly failures: UpstreamFailure[] = [];
  onUpstreamConnected(): void {}
  onUpstreamReady(): void {}
  onUpstreamInformation(): void {}
  onUpstreamHead(): void {}
  onUpstreamChunk(): boolean {
    return true;
  }
  onUpstreamEnd(): void {
    this.ended += 1;
  }
  onUpstreamSwitched(): void {}
  onUpstreamFailure(failure: UpstreamFailure): void {
    this.failures.push(failure);
  }
  onUpstreamDrain(): void {}
}

const REQUEST: UpstreamRequest = {
  protocol: "http1",
  host: "127.0.0.1",
  port: 0,
  localAddress: "",
  method: "POST",
  target: "/",
  headers: ["Host", "a"],
  hopHeaders: [],
  framing: NO_BODY,
  upgrade: "",
};

describe("a request that has not left yet", () => {
  const setUp = async () => {
    server = await startRawServer(answering(OK));
    const request = { ...REQUEST, port: server.port };
    const upstream = createUpstream({ idleMs: 60_000, maxIdlePerHost: 4 });
    const send = () => {
      const ending = new Ending();
      const stream = upstream.open(request);
      stream.start(request, ending);
      return { ending, stream };
    };
    const { ending: first } = send();
    await eventually(() => first.ended === 1 && upstream.idle === 1);
    const [connection] = server.connections;
    if (connection === undefined) throw new Error("no connection was made");
    return { send, connection, upstream };
  };

  it("is unprocessed when its upstream hangs up in the same turn", async () => {
    const { send, connection, upstream } = await setUp();
    // The end of the connection is read behind this, and before anything is written.
    connection.socket.destroy();
    const { ending: second } = send();
    await eventually(() => second.failures.length === 1);
    expect(second.failures[0]?.kind).toBe("unprocessed");
    expect(connection.received.match(/POST/g)).toHaveLength(1);
    upstream.close();
  });

  it("takes no answer that came before it", async () => {
    const { send, connection, upstream } = await setUp();
    connection.send(OK);
    const { ending: second } = send();
    await eventually(() => second.failures.length === 1);
    expect(second.failures[0]?.kind).toBe("unprocessed");
    expect(second.ended).toBe(0);
    upstream.close();
  });

  it("is not sent when it is given up in the same turn", async () => {
    const { send, connection, upstream } = await setUp();
    send().stream.destroy();
    const { ending: third } = send();
    await eventually(() => third.ended === 1);
    expect(connection.received.match(/POST/g)).toHaveLength(1);
    upstream.close();
  });
});
