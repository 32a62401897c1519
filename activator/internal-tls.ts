/**
 * TLS inside the cluster (contract 3.9), where `config-network` turns it on: the data port 8112 in
 * front of this process, and encrypted connections to pods, whose certificate must bear the name of
 * the data plane and that of the pod's namespace.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { checkServerIdentity, connect, rootCertificates } from "node:tls";
import type { ConnectionOptions, PeerCertificate, TLSSocket } from "node:tls";
import type { RevisionKey } from "../common/contracts/routing.ts";
import { PlatformError } from "../common/errors.ts";
import type { Logger } from "../foundation/logger.ts";
import type { SocketFront } from "../proxy/front.ts";
import { hasCertificate, openTlsPort, tlsOptions } from "../proxy/tls-port.ts";
import type { TlsPort, TlsSettings } from "../proxy/tls-port.ts";
import type { Dialer } from "../proxy/types.ts";

/** Name that every data-plane certificate bears. */
const DATA_PLANE = "data-plane.knative.dev";
export const POD_TLS_PORT = 8_112;
/** Renewals reach a mounted Secret within a minute; another tenth of that does not matter. */
const LOOK_EVERY_MS = 5_000;

export interface InternalTlsOptions {
  /** `tls.crt`, `tls.key` and `ca.crt`: the Secret `routing-serving-certs`. */
  readonly folder: string;
  /** More roots, one or several per file; may be absent. */
  readonly bundleFolder: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly settings: TlsSettings;
  readonly logger: Logger;
  readonly lookEveryMs?: number;
}

export class InternalTls {
  readonly #options: InternalTlsOptions;
  readonly #dialers = new Map<string, Dialer>();
  #roots: readonly string[];
  #rootsMark: string;
  #port: TlsPort | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Throws where the certificate is missing, as stock ends: pods would be asked in clear text. */
  constructor(options: InternalTlsOptions) {
    const { folder } = options;
    this.#options = options;
    if (!hasCertificate(folder)) {
      const cure = "Mount the Secret routing-serving-certs there, or turn system-internal-tls off.";
      throw new PlatformError("ERR_CONFIG_INVALID", `No tls.crt and tls.key in ${folder}. ${cure}`);
    }
    this.#rootsMark = this.#markOfRoots();
    this.#roots = this.#readRoots();
  }

  async open(front: SocketFront): Promise<number> {
    const { folder, listen, settings, logger, lookEveryMs = LOOK_EVERY_MS } = this.#options;
    this.#timer = setInterval(() => this.#lookAtRoots(), lookEveryMs).unref();
    this.#port = await openTlsPort({
      folder,
      options: tlsOptions(settings),
      ...listen,
      reloadEveryMs: lookEveryMs,
      accept: (socket) => front.accept(socket),
      onReloaded: () => logger.info("certificate of the data plane replaced"),
      onReloadFailed: (error) => logger.warn("certificate not read again", { error }),
    });
    return this.#port.port;
  }

  /** Stops accepting; what stands goes on. */
  close(): void {
    clearInterval(this.#timer);
    this.#port?.close();
  }

  /** How pods of a revision are reached. Connections of a namespace are never lent to another. */
  dialerOf(revision: RevisionKey): Dialer {
    const [namespace = ""] = revision.split("/", 1);
    const known = this.#dialers.get(namespace);
    if (known !== undefined) return known;
    const dialer: Dialer = {
      key: `tls/${namespace}`,
      dial: (where) => this.#dial(namespace, where),
    };
    this.#dialers.set(namespace, dialer);
    return dialer;
  }

  #dial(namespace: string, where: { readonly host: string; readonly port: number }): TLSSocket {
    const { minVersion, maxVersion } = tlsOptions(this.#options.settings);
    const options: ConnectionOptions & { readonly allowHalfOpen: boolean } = {
      ...where,
      // No ALPN, as stock: HTTP/2 begins by prior knowledge.
      servername: DATA_PLANE,
      ca: [...this.#roots],
      ...(minVersion === undefined ? {} : { minVersion }),
      ...(maxVersion === undefined ? {} : { maxVersion }),
      checkServerIdentity: (name, certificate) => checkPod(namespace, name, certificate),
      // Half-close is the business of whoever reads.
      allowHalfOpen: true,
    };
    const socket = connect(options);
    socket.setNoDelay(true);
    return socket;
  }

  #lookAtRoots(): void {
    try {
      const mark = this.#markOfRoots();
      if (mark === this.#rootsMark) return;
      this.#roots = this.#readRoots();
      this.#rootsMark = mark;
      this.#options.logger.info("roots of the data plane read again");
    } catch (error) {
      this.#options.logger.warn("roots not read again", { error });
    }
  }

  #rootFiles(): readonly string[] {
    const { folder, bundleFolder } = this.#options;
    const bundles =
      bundleFolder === "" || !existsSync(bundleFolder)
        ? []
        : readdirSync(bundleFolder).map((name) => join(bundleFolder, name));
    return [join(folder, "ca.crt"), ...bundles].filter(
      (file) => existsSync(file) && statSync(file).isFile(),
    );
  }

  #markOfRoots(): string {
    return this.#rootFiles()
      .map((file) => `${file} ${statSync(file).mtimeMs} ${statSync(file).size}`)
      .join("\n");
  }

  #readRoots(): readonly string[] {
    const roots = this.#rootFiles().map((file) => readFileSync(file, "utf8"));
    return roots.length === 0 ? rootCertificates : roots;
  }
}

/** The name of the data plane, and beside it that of the pod's own namespace. */
function checkPod(
  namespace: string,
  name: string,
  certificate: PeerCertificate,
): Error | undefined {
  const failure = checkServerIdentity(name, certificate);
  if (failure !== undefined) return failure;
  const wanted = `DNS:kn-user-${namespace.toLowerCase()}`;
  if ((certificate.subjectaltname ?? "").split(", ").includes(wanted)) return undefined;
  return new Error(`the pod's certificate does not bear the name kn-user-${namespace}`);
}
