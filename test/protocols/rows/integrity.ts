/** F22: whatever two parsers could read in two ways is refused, and nothing behind it is served. */
import assert from "node:assert/strict";
import { http, RawConnection } from "../clients.ts";
import type { ProtocolRow, Target } from "../row.ts";

/** `BEHIND` is a second request that must never be answered. */
const BEHIND = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

const AMBIGUOUS: Readonly<Record<string, (target: Target) => string>> = {
  "Content-Length with Transfer-Encoding": ({ authority }) =>
    `POST /echo HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  "two different Content-Lengths": ({ authority }) =>
    `POST /echo HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd`,
  "Transfer-Encoding: xchunked": ({ authority }) =>
    `POST /echo HTTP/1.1\r\nHost: ${authority}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
  "Content-Length: +4": ({ authority }) =>
    `POST /echo HTTP/1.1\r\nHost: ${authority}\r\nContent-Length: +4\r\n\r\nabcd`,
  "space before the colon": ({ authority }) =>
    `POST /echo HTTP/1.1\r\nHost: ${authority}\r\nContent-Length : 4\r\n\r\nabcd`,
  "bare line feed": ({ authority }) =>
    `POST /echo HTTP/1.1\nHost: ${authority}\nContent-Length: 4\n\nabcd`,
  "two Hosts": ({ authority }) => `GET /echo HTTP/1.1\r\nHost: ${authority}\r\nHost: b\r\n\r\n`,
  "folded header line": ({ authority }) =>
    `GET /echo HTTP/1.1\r\nHost: ${authority}\r\nX-A: 1\r\n 2\r\n\r\n`,
};

export const INTEGRITY_ROWS: readonly ProtocolRow[] = [
  ...Object.entries(AMBIGUOUS).map(([name, text]): ProtocolRow => ({
    row: `ambiguous framing, ${name}: 400 and close (F22)`,
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const { web } = place.stage;
      const hits = [...web.hits.values()].reduce((sum, n) => sum + n, 0);
      const connection = new RawConnection(target);
      connection.send(text(target) + BEHIND);
      const answers = (await connection.over()).match(/HTTP\/1\.1 \d+/g);
      assert.deepEqual(answers, ["HTTP/1.1 400"]);
      assert.equal(web.hitsOf("/smuggled"), 0);
      const now = [...web.hits.values()].reduce((sum, n) => sum + n, 0);
      // Rows that wait run beside this one and have requests of their own.
      assert.ok(now - hits <= 60);
    },
  })),
  {
    row: "a forwarded request has exactly one framing header",
    client: "node:http",
    run: async (place) => {
      const chunked = { "transfer-encoding": "chunked" };
      for (const headers of [{}, chunked]) {
        const call = { method: "POST", body: "hello", headers };
        const { body } = await http(place.at("web"), "/echo", call);
        const names = (JSON.parse(body) as { headers: string[] }).headers.filter(
          (_, i) => i % 2 === 0,
        );
        const framing = names.filter((name) => /^(content-length|transfer-encoding)$/i.test(name));
        assert.equal(framing.length, 1, framing.join(", "));
      }
    },
  },
  {
    row: "internal headers from outside do not reach the container",
    client: "node:http",
    run: async (place) => {
      const headers = {
        "pilotlight-lease": "x",
        "pilotlight-order": "0;0;0",
        "pilotlight-tenant": "t",
      };
      const { body } = await http(place.at("web"), "/echo", { headers });
      assert.doesNotMatch(body, /pilotlight-/i);
    },
  },
  {
    row: "a head over 1 MiB: 431",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const connection = new RawConnection(target);
      connection.send(
        `GET / HTTP/1.1\r\nHost: ${target.authority}\r\nX-Big: ${"x".repeat(1_100_000)}\r\n\r\n`,
      );
      assert.match(await connection.over(), /^HTTP\/1\.1 431 /);
    },
  },
];
