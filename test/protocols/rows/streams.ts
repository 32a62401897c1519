/** Streams and sizes: events flushed as they come, gigabytes at constant memory, switched protocols. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { eventually } from "../../support/eventually.ts";
import { http, RawConnection, WsClient } from "../clients.ts";
import type { Place, ProtocolRow, Target } from "../row.ts";

const GIB = 1_073_741_824;
/** What the processes of a path may grow by while a gigabyte passes; buffers and pages of the heap. */
const MAX_GROWTH_BYTES = 96 * 1_048_576;
const PIECE = Buffer.alloc(65_536, 98);

/** Runs the transfer and returns by how much the path's processes grew at most. */
async function growthDuring(place: Place, transfer: Promise<void>): Promise<number> {
  const before = place.stage.residentBytes(place.path, "web");
  let most = before;
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      most = Math.max(most, place.stage.residentBytes(place.path, "web"));
      await pause(20);
    }
  })();
  try {
    await transfer;
  } finally {
    isOver = true;
    await watching;
  }
  return most - before;
}

function upload(target: Target, bytes: number): Promise<void> {
  const { host, port, authority } = target;
  return new Promise((resolve, reject) => {
    const headers = { host: authority, "content-length": bytes };
    const outgoing = request(
      { host, port, path: "/sink", method: "POST", agent: false, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => (text += piece));
        response.on("end", () =>
          text === String(bytes) ? resolve() : reject(new Error(`sank ${text}`)),
        );
      },
    );
    outgoing.on("error", reject);
    let left = bytes;
    const write = (): void => {
      while (left > 0) {
        left -= PIECE.length;
        if (!outgoing.write(PIECE)) return void outgoing.once("drain", write);
      }
      outgoing.end();
    };
    write();
  });
}

function download(target: Target, bytes: number): Promise<void> {
  const { host, port, authority } = target;
  return new Promise((resolve, reject) => {
    const path = `/flood?bytes=${bytes}`;
    request({ host, port, path, agent: false, headers: { host: authority } }, (response) => {
      let seen = 0;
      response.on("data", (chunk: Buffer) => (seen += chunk.length));
      response.on("error", reject);
      response.on("end", () =>
        seen === bytes ? resolve() : reject(new Error(`got ${seen} bytes`)),
      );
    })
      .on("error", reject)
      .end();
  });
}

export const STREAM_ROWS: readonly ProtocolRow[] = [
  {
    row: "server-sent events: each write arrives when it is written",
    client: "node:http",
    run: async (place) => {
      const arrivals: number[] = [];
      const answer = await http(place.at("web"), "/sse?n=5&gap=120", {
        onPiece: (_text, atMs) => arrivals.push(atMs),
      });
      assert.equal(answer.body, [1, 2, 3, 4, 5].map((n) => `data: ${n}\n\n`).join(""));
      assert.equal(answer.headers["content-encoding"], undefined);
      assert.equal(arrivals.length, 5);
      const gaps = arrivals.slice(1).map((at, i) => at - (arrivals[i] ?? 0));
      assert.ok(
        gaps.every((gap) => gap > 40),
        `gaps of ${gaps.map(Math.round).join(", ")} ms`,
      );
    },
  },
  {
    row: "1 GiB upload at constant memory",
    client: "node:http",
    run: async (place) => {
      const growth = await growthDuring(place, upload(place.at("web"), GIB));
      assert.ok(growth < MAX_GROWTH_BYTES, `grew by ${Math.round(growth / 1_048_576)} MiB`);
    },
  },
  {
    row: "1 GiB download at constant memory",
    client: "node:http",
    run: async (place) => {
      const growth = await growthDuring(place, download(place.at("web"), GIB));
      assert.ok(growth < MAX_GROWTH_BYTES, `grew by ${Math.round(growth / 1_048_576)} MiB`);
    },
  },
  {
    row: "WebSocket: text, fragments, 1 MiB binary, ping and pong, close code",
    client: "ws",
    run: async (place) => {
      const client = new WsClient(place.at("web"));
      await client.open();
      const { socket } = client;
      socket.send("hello");
      await client.says("hello");
      socket.send("frag", { fin: false });
      socket.ping("?");
      socket.send("ments", { fin: true });
      await client.says("fragments");
      await eventually(() => client.pongs === 1);
      const big = "b".repeat(1_048_576);
      socket.send(big);
      await client.says(big);
      socket.close(4_321, "done");
      assert.equal((await client.ended()).code, 4_321);
    },
  },
  {
    row: "WebSocket: the container's own close code reaches the client",
    client: "ws",
    run: async (place) => {
      const client = new WsClient(place.at("web"), "/ws-bye");
      assert.equal((await client.ended()).code, 4_004);
    },
  },
  {
    row: "refused upgrade is an ordinary answer",
    client: "ws",
    run: async (place) => {
      const client = new WsClient(place.at("web"), "/refuse-upgrade");
      let status = 0;
      client.socket.on("unexpected-response", (_request, response) => {
        status = response.statusCode ?? 0;
        client.socket.terminate();
      });
      await eventually(() => status !== 0, { what: "an answer to the upgrade" });
      assert.equal(status, 403);
    },
  },
  {
    row: "another protocol than WebSocket, half-closed by the client",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const connection = new RawConnection(target);
      connection.send(
        `GET /lines HTTP/1.1\r\nHost: ${target.authority}\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n`,
      );
      await connection.has("101 Switching Protocols");
      connection.send("a");
      await connection.has("<a>");
      connection.socket.end("last");
      assert.match(await connection.over(), /<last>bye$/);
    },
  },
  {
    row: "wish to switch to h2c by upgrade is served as HTTP/1.1",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const connection = new RawConnection(target);
      connection.send(
        `GET /echo HTTP/1.1\r\nHost: ${target.authority}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
      );
      await connection.has("HTTP/1.1 200 OK");
      connection.socket.destroy();
    },
  },
];
