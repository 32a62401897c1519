/**
 * A port with TLS before a front that reads cleartext (contract 2.16 and 3.9), shared by both hops:
 * served from a pair of files that is looked at now and then, and replaced when it has changed.
 */
import { existsSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type * as Tls from "node:tls";
import type { Server, TLSSocket, TlsOptions } from "node:tls";

export interface TlsPortParts {
  /** Holds `tls.crt` and `tls.key`. */
  readonly folder: string;
  readonly options: TlsOptions;
  readonly host: string | undefined;
  readonly port: number;
  readonly reloadEveryMs: number;
  accept(socket: Socket): void;
  onReloaded(): void;
  /** Half of a pair is on disk, or nothing: the one in use stays. */
  onReloadFailed(error: unknown): void;
}

export interface TlsPort {
  /** The port it listens on. */
  readonly port: number;
  close(): void;
}

interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly digest: string;
}

export function hasCertificate(folder: string): boolean {
  return existsSync(join(folder, "tls.crt")) && existsSync(join(folder, "tls.key"));
}

/** Loaded only where there is a certificate: it costs time that most starts need not spend. */
export function loadTls(): typeof Tls {
  return process.getBuiltinModule("node:tls");
}

export async function openTlsPort(parts: TlsPortParts): Promise<TlsPort> {
  const pair = readPair(parts.folder);
  const server = loadTls().createServer({
    ...parts.options,
    cert: pair.cert,
    key: pair.key,
    ALPNProtocols: ["h2", "http/1.1"],
  });
  server.on("secureConnection", (socket) => acceptSecure(socket, parts));
  // A client that speaks no TLS, or none that we accept: its connection is closed already.
  server.on("tlsClientError", () => undefined);
  await listen(server, parts);
  const timer = setInterval(reloader(parts, server, pair), parts.reloadEveryMs).unref();
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : parts.port,
    close: () => {
      clearInterval(timer);
      server.close();
    },
  };
}

/**
 * The first bytes decide, as on a cleartext port: stock's activator speaks HTTP/2 without having
 * negotiated it, which Node's HTTP/2 server would refuse by what the handshake said.
 */
function acceptSecure(socket: TLSSocket, parts: TlsPortParts): void {
  socket.alpnProtocol = "h2";
  parts.accept(socket);
}

function readPair(folder: string): Pair {
  const cert = readFileSync(join(folder, "tls.crt"));
  const key = readFileSync(join(folder, "tls.key"));
  const { createHash } = process.getBuiltinModule("node:crypto");
  return { cert, key, digest: createHash("sha256").update(cert).update(key).digest("hex") };
}

function reloader(parts: TlsPortParts, server: Server, first: Pair): () => void {
  let { digest } = first;
  return () => {
    try {
      const pair = readPair(parts.folder);
      if (pair.digest === digest) return;
      server.setSecureContext({ ...parts.options, cert: pair.cert, key: pair.key });
      digest = pair.digest;
      parts.onReloaded();
    } catch (error) {
      parts.onReloadFailed(error);
    }
  };
}

function listen(server: Server, { host, port }: TlsPortParts): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** What stock's controller and manifests say about TLS; empty text for the default. */
export interface TlsSettings {
  readonly minVersion: string;
  readonly maxVersion: string;
  readonly cipherSuites: string;
  readonly curves: string;
}

/** Minimum 1.3 as stock, unless the operator lowers it. */
export function tlsOptions(settings: TlsSettings): TlsOptions {
  const { minVersion, maxVersion, cipherSuites, curves } = settings;
  return {
    minVersion: minVersion === "1.2" ? "TLSv1.2" : "TLSv1.3",
    ...(maxVersion === "" ? {} : { maxVersion: maxVersion === "1.2" ? "TLSv1.2" : "TLSv1.3" }),
    ...(cipherSuites === "" ? {} : { ciphers: list(cipherSuites).map(openSslSuite).join(":") }),
    ...(curves === "" ? {} : { ecdhCurve: list(curves).map(openSslCurve).join(":") }),
  };
}

function list(text: string): string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

/** Suites of TLS 1.3 are called the same everywhere; older ones have a name of OpenSSL's own. */
function openSslSuite(name: string): string {
  if (!name.includes("_WITH_")) return name;
  return name
    .replace(/^TLS_/, "")
    .replace("_WITH_", "_")
    .replace(/AES_(\d+)/, "AES$1")
    .replace(/_CBC_/, "_")
    .replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    .replaceAll("_", "-");
}

function openSslCurve(name: string): string {
  return name.replace(/^CurveP/, "P-");
}
