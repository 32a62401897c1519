/** HTTP/1.1: connections, bodies, interim answers, odd bytes. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../support/eventually.ts";
import { curl, http, inBackground, PATIENT, RawConnection } from "../clients.ts";
import type { Place, ProtocolRow } from "../row.ts";

const FIVE_MB = 5_000_000;
let fiveMb: string | undefined;

/** A file of 5 MB for curl. */
function bigFile(): string {
  if (fiveMb === undefined) {
    fiveMb = join(mkdtempSync(join(tmpdir(), "pilotlight-protocols-")), "b");
    writeFileSync(fiveMb, Buffer.alloc(FIVE_MB));
  }
  return fiveMb;
}

const WRITE_OUT = ["-o", "/dev/null", "-w", "%{http_code} %{size_upload} %{time_total}"];

async function statusOf(place: Place, path: string, args: readonly string[]): Promise<string> {
  const { stdout } = await curl(place.at("web"), path, [
    "-o",
    "/dev/null",
    "-w",
    "%{http_code}",
    ...args,
  ]);
  return stdout;
}

interface Echo {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
  readonly trailers: readonly string[];
  readonly length: number;
}

// The container's own JSON.
const echoOf = (body: string): Echo => JSON.parse(body) as Echo;

export const HTTP1_ROWS: readonly ProtocolRow[] = [
  {
    row: "keep-alive: two requests on one connection",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const connection = new RawConnection(target);
      for (const mark of ["one", "two"]) {
        connection.send(`GET /echo?${mark} HTTP/1.1\r\nHost: ${target.authority}\r\n\r\n`);
        await connection.has(`"url":"/echo?${mark}"`);
      }
      assert.equal(connection.isOver, false);
      connection.socket.destroy();
    },
  },
  {
    row: "pipelined requests are answered in order",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const connection = new RawConnection(target);
      const slow = `GET /sleep?ms=200 HTTP/1.1\r\nHost: ${target.authority}\r\n\r\n`;
      const fast = (n: number): string =>
        `GET /echo?${n} HTTP/1.1\r\nHost: ${target.authority}\r\n\r\n`;
      connection.send(slow + fast(1) + fast(2));
      await connection.has("/echo?2");
      const order = ["slept", "/echo?1", "/echo?2"].map((mark) =>
        connection.received.indexOf(mark),
      );
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      );
      connection.socket.destroy();
    },
  },
  {
    row: "HEAD has the head of GET and no body",
    client: "curl",
    run: async (place) => {
      const { stdout } = await curl(place.at("web"), "/flood?bytes=12345", ["--head"]);
      assert.match(stdout, /200 OK/);
      assert.match(stdout, /content-length: 12345/i);
    },
  },
  {
    row: "absolute-form target reaches the container in origin-form",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const connection = new RawConnection(target);
      connection.send(
        `GET http://${target.authority}/echo?abs=1 HTTP/1.1\r\nHost: ${target.authority}\r\nConnection: close\r\n\r\n`,
      );
      assert.match(await connection.over(), /"url":"\/echo\?abs=1"/);
    },
  },
  {
    row: "odd but legal header bytes pass both ways",
    client: "raw socket",
    run: async (place) => {
      const target = place.at("web");
      const connection = new RawConnection(target);
      connection.send(
        `GET /echo HTTP/1.1\r\nhOsT: ${target.authority}\r\nX-Latin: caf\u00e9 \u00ff\r\nX-Empty:\r\n` +
          "x-!#$%&'*+.^_`|~: tok\r\nX-Twice: a\r\nX-Twice: b\r\nConnection: close\r\n\r\n",
      );
      const { headers } = echoOf(
        (await connection.over())
          .split("\r\n\r\n")[1]
          ?.replace(/^[0-9a-f]+\r\n/, "")
          .split("\r\n")[0] ?? "",
      );
      const valueOf = (name: string): string[] =>
        headers.filter((_, i) => i % 2 === 1 && headers[i - 1] === name);
      // The container wrote its JSON in UTF-8, and this client reads bytes.
      assert.deepEqual(valueOf("X-Latin"), [
        Buffer.from("caf\u00e9 \u00ff", "utf8").toString("latin1"),
      ]);
      assert.deepEqual(valueOf("X-Empty"), [""]);
      assert.deepEqual(valueOf("X-Twice"), ["a", "b"]);
      assert.deepEqual(valueOf("x-!#$%&'*+.^_`|~"), ["tok"]);
      const answer = new RawConnection(target);
      answer.send(`GET /odd HTTP/1.1\r\nHost: ${target.authority}\r\nConnection: close\r\n\r\n`);
      const text = await answer.over();
      for (const line of [
        "200 Fine",
        "X-Latin: caf\u00e9 \u00ff",
        "x-lower: 1",
        "X-Empty:",
        "Set-Cookie: a=1\r\nSet-Cookie: b=2",
      ]) {
        assert.ok(text.includes(line), `${line} in ${text}`);
      }
    },
  },
  {
    row: "chunked upload with trailers",
    client: "node:http",
    run: async (place) => {
      const call = {
        method: "POST",
        body: "hello",
        headers: { trailer: "x-sum" },
        trailers: { "x-sum": "7" },
      };
      const { body } = await http(place.at("web"), "/echo", {
        ...call,
        headers: { ...call.headers, "transfer-encoding": "chunked" },
      });
      const { length, trailers } = echoOf(body);
      assert.equal(length, 5);
      assert.deepEqual(trailers, ["x-sum", "7"]);
    },
  },
  {
    row: "trailers of an answer (F19)",
    client: "node:http",
    run: async (place) => {
      const answer = await http(place.at("web"), "/trailers", { headers: { te: "trailers" } });
      assert.equal(answer.body, "body");
      assert.equal(answer.trailers["x-sum"], "42");
      assert.equal(answer.headers["trailer"], "x-sum");
    },
  },
  {
    row: "103 early hints",
    client: "node:http",
    run: async (place) => {
      const seen: unknown[] = [];
      const answer = await http(place.at("web"), "/hints", {
        onInformation: (status, headers) => seen.push([status, headers["link"]]),
      });
      assert.equal(answer.body, "hinted");
      assert.deepEqual(seen, [[103, "</style.css>; rel=preload"]]);
    },
  },
  {
    row: "Expect: 100-continue, 5 MB PUT, without the client's wait (F17)",
    client: "curl",
    run: async (place) => {
      const { stdout } = await curl(place.at("web"), "/echo", [
        ...WRITE_OUT,
        "-H",
        "Expect: 100-continue",
        "-T",
        bigFile(),
      ]);
      const [status, sent, seconds] = stdout.split(" ").map(Number);
      assert.deepEqual([status, sent], [200, FIVE_MB]);
      assert.ok((seconds ?? 9) < 0.95, `took ${seconds} s`);
    },
  },
  {
    row: "Expect: 100-continue refused: 413 and nothing uploaded (F17)",
    client: "curl",
    run: async (place) => {
      const { stdout } = await curl(place.at("web"), "/reject", [
        ...WRITE_OUT,
        "-H",
        "Expect: 100-continue",
        "-T",
        bigFile(),
      ]);
      const [status, sent, seconds] = stdout.split(" ").map(Number);
      assert.deepEqual([status, sent], [413, 0]);
      assert.ok((seconds ?? 9) < 0.95, `took ${seconds} s`);
    },
  },
  {
    row: "Expect is not made up: a large chunked body reaches the container without it",
    client: "curl",
    run: async (place) => {
      const { stdout } = await curl(place.at("web"), "/echo", [
        "-H",
        "Expect:",
        "-H",
        "Transfer-Encoding: chunked",
        "-T",
        bigFile(),
      ]);
      const { headers, length } = echoOf(stdout);
      assert.equal(length, FIVE_MB);
      assert.equal(
        headers.some((text) => text.toLowerCase() === "expect"),
        false,
      );
    },
  },
  {
    row: "unknown expectation: 417 (F17)",
    client: "curl",
    run: async (place) =>
      assert.equal(await statusOf(place, "/echo", ["-H", "Expect: a-miracle"]), "417"),
  },
  {
    row: "Expect: 100-continue while cold: 100 only after a pod was picked (F17)",
    client: "raw socket",
    only: "activator+queue-proxy",
    run: async (place) => {
      const target = place.at("late");
      const connection = new RawConnection(target);
      connection.send(
        `PUT /echo HTTP/1.1\r\nHost: ${target.authority}\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n`,
      );
      const before = performance.now();
      const starting = inBackground(place.stage.startPod("late"));
      await eventually(() => connection.received !== "" || performance.now() - before > 150);
      assert.equal(connection.received, "", "an answer before there was a pod");
      await connection.has("100 Continue", 20_000);
      connection.send("hello");
      assert.match(await connection.over(), /HTTP\/1\.1 200 OK[^]*"length":5/);
      await starting;
    },
  },
  {
    row: "early answer: 5 MB POST to a container that does not read it, 40 times (F16)",
    client: "curl",
    run: async (place) => {
      const lanes = Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 5; i += 1) {
          const { stdout } = await curl(place.at("web"), "/early", [
            "-w",
            " %{http_code}",
            "-H",
            "Expect:",
            "--data-binary",
            `@${bigFile()}`,
          ]);
          assert.equal(stdout, "early 200");
        }
      });
      await Promise.all(lanes);
    },
  },
  {
    row: "early answer to a slow chunked upload (F16)",
    client: "curl",
    run: async (place) => {
      const { stdout } = await curl(place.at("web"), "/early", [
        "-w",
        " %{http_code}",
        "-H",
        "Expect:",
        "-H",
        "Transfer-Encoding: chunked",
        "--limit-rate",
        "1M",
        "--max-time",
        "8",
        "-T",
        bigFile(),
        "-X",
        "POST",
      ]);
      assert.equal(stdout, "early 200");
    },
  },
  {
    row: "answer that breaks off is cut, never completed",
    client: "curl",
    run: async (place) => {
      const { code } = await curl(place.at("web"), "/half", []);
      assert.notEqual(code, 0);
    },
  },
  {
    row: "caller who leaves: the container sees it within 1 s (F04)",
    client: "node:http",
    run: async (place) => {
      const { web } = place.stage;
      const before = web.aborted;
      const hits = web.hitsOf("/sleep");
      const controllers = Array.from({ length: 20 }, () => new AbortController());
      const calls = controllers.map(({ signal }) =>
        http(place.at("web"), "/sleep?ms=20000", { signal }).catch(() => undefined),
      );
      await eventually(() => web.hitsOf("/sleep") - hits >= 20, PATIENT);
      for (const controller of controllers) controller.abort();
      await eventually(() => web.aborted - before >= 20, { timeoutMs: 1_000, what: "20 aborts" });
      await Promise.all(calls);
    },
  },
];
