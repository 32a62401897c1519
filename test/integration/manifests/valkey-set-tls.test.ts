/** The store of the manifests with the component valkey-tls: nothing goes over it unencrypted. */
import { execFile, execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { MANIFESTS } from "../../support/manifest-files.ts";
import { freePort } from "../../support/valkey.ts";

const run = promisify(execFile);
const NETWORK = `127.0.${20 + (process.pid % 200)}`;
const PEERS = [1, 2, 3].map((index) => `${NETWORK}.${210 + index}`);
const LONG = { timeoutMs: 60_000, everyMs: 500 };

let folder: string;
let url: string;
let port: number;
let sentinelPort: number;
const children: ChildProcess[] = [];

/** As docs/guides/install-on-a-cluster.md makes them, for addresses in place of names. */
function makeCertificates(): void {
  const openssl = (...args: readonly string[]): void => {
    execFileSync("openssl", args, { cwd: folder, stdio: "ignore" });
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const authority = ["-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt"];
  openssl("req", "-x509", ...key, "-days", "2", ...authority);
  openssl("req", ...key, "-subj", "/CN=valkey", "-keyout", "tls.key", "-out", "tls.csr");
  const names = PEERS.map((peer) => `IP:${peer}`).join(",");
  writeFileSync(join(folder, "names"), `subjectAltName=${names}`);
  const signer = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2"];
  openssl("x509", "-req", "-in", "tls.csr", ...signer, "-out", "tls.crt", "-extfile", "names");
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pilotlight-valkey-tls-"));
  makeCertificates();
  port = await freePort();
  sentinelPort = await freePort();
  for (const peer of PEERS) {
    for (const kind of ["valkey", "sentinel"]) {
      const data = join(folder, `${kind}-${peer}`);
      mkdirSync(data);
      children.push(
        spawn("sh", [join(MANIFESTS, `components/valkey/start-${kind}.sh`)], {
          stdio: "ignore",
          env: {
            PATH: `${join(MANIFESTS, "../.cache/valkey/bin")}:${process.env["PATH"] ?? ""}`,
            PASSWORD: "secret",
            INTERNAL_PASSWORD: "among-themselves",
            PEERS: PEERS.join(" "),
            PORT: String(port),
            SENTINEL_PORT: String(sentinelPort),
            SELF: peer,
            BIND: peer,
            DATA: data,
            TLS: folder,
          },
        }),
      );
    }
  }
  const hosts = PEERS.map((peer) => `${peer}:${sentinelPort}`).join(",");
  url = `rediss+sentinel://pilotlight:secret@${hosts}/pilotlight`;
});
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

async function serverSeen(authority: string): Promise<string> {
  const script = join(import.meta.dirname, "../../support/ping-store.ts");
  const env = { PILOTLIGHT_STORE_URL: url, NODE_EXTRA_CA_CERTS: authority };
  return (await run(process.execPath, [script], { env: { ...process.env, ...env } })).stdout;
}

describe("the store with TLS", () => {
  it("is reached through its Sentinels by whoever knows the authority", async () => {
    const authority = join(folder, "ca.crt");
    await eventually(async () => (await serverSeen(authority)).includes('"valkey"'), LONG);
  }, 120_000);

  it("is not taken for the store by whoever does not", async () => {
    expect(await serverSeen("")).not.toContain('"valkey"');
  }, 60_000);

  it.each(["data", "sentinel"])("answers nothing in the clear: %s", async (of) => {
    const socket = connect(of === "data" ? port : sentinelPort, PEERS[0] ?? "");
    const heard = new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      socket.on("close", () => resolve(text));
      socket.on("error", () => resolve(text));
    });
    socket.write("PING\r\n");
    expect(await heard).not.toContain("PONG");
  });
});
