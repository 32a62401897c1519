/**
 * The data port with TLS (contract 2.16): served when certificate and key lie in the pod at the
 * start, replaced when the files change. Cleartext stays beside it.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { TLSSocket, TlsOptions } from "node:tls";
import type { Logger } from "../foundation/logger.ts";
import type { SocketFront } from "../proxy/front.ts";
import { loadTls, type TlsServer } from "./builtins.ts";
import type { QueueProxyConfig } from "./config.ts";

const CERTIFICATE_FOLDER = "var/lib/knative/certs";
/** As stock looks for new files. */
export const RELOAD_EVERY_MS = 60_000;
/** Stock's tests look for these words. */
const RELOADED = "Certificate and/or key have changed on disk and were reloaded.";

export interface TlsParts {
  readonly config: QueueProxyConfig;
  readonly front: SocketFront;
  readonly logger: Logger;
  readonly host: string;
  readonly reloadEveryMs: number;
}

export interface TlsPort {
  close(): void;
}

/** Undefined when the pod has no certificate. */
export async function openTlsPort(parts: TlsParts): Promise<TlsPort | undefined> {
  const { config, front, host } = parts;
  const files = certificateFiles(config.podRoot ?? "/");
  if (!existsSync(files.cert) || !existsSync(files.key)) return undefined;
  const pair = readPair(files);
  const server = loadTls().createServer({
    ...tlsOptions(config),
    cert: pair.cert,
    key: pair.key,
    ALPNProtocols: ["h2", "http/1.1"],
  });
  server.on("secureConnection", (socket) => acceptSecure(socket, front));
  // A client that speaks no TLS, or none that we accept: its connection is closed already.
  server.on("tlsClientError", () => undefined);
  await listen(server, host, config.servingTlsPort);
  const timer = setInterval(reloader(parts, server, { files, pair }), parts.reloadEveryMs).unref();
  return {
    close: () => {
      clearInterval(timer);
      server.close();
    },
  };
}

/**
 * The first bytes decide, as on the cleartext port: stock's activator speaks HTTP/2 without having
 * negotiated it, which Node's HTTP/2 server would refuse by what the handshake said.
 */
function acceptSecure(socket: TLSSocket, front: SocketFront): void {
  socket.alpnProtocol = "h2";
  front.accept(socket);
}

interface Files {
  readonly cert: string;
  readonly key: string;
}

interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly digest: string;
}

function certificateFiles(root: string): Files {
  const folder = join(root, CERTIFICATE_FOLDER);
  return { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") };
}

function readPair(files: Files): Pair {
  const cert = readFileSync(files.cert);
  const key = readFileSync(files.key);
  // Loaded here, because most pods have no certificate and every pod waits for its sidecar.
  const { createHash } = process.getBuiltinModule("node:crypto");
  return { cert, key, digest: createHash("sha256").update(cert).update(key).digest("hex") };
}

function reloader(
  { logger }: TlsParts,
  server: TlsServer,
  start: { readonly files: Files; readonly pair: Pair },
): () => void {
  let { digest } = start.pair;
  return () => {
    try {
      const pair = readPair(start.files);
      if (pair.digest === digest) return;
      server.setSecureContext({ cert: pair.cert, key: pair.key });
      digest = pair.digest;
      logger.info(RELOADED);
    } catch (error) {
      // Half of a pair is on disk, or nothing: the one in use stays.
      logger.warn("certificate not reloaded", { error });
    }
  };
}

/** Minimum 1.3 as stock, unless the controller lowers it. */
export function tlsOptions(config: QueueProxyConfig): TlsOptions {
  const { minVersion, maxVersion, cipherSuites, curves } = config.tls;
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

function listen(server: TlsServer, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
