/**
 * The sidecar's data port with TLS (contract 2.16): served when certificate and key lie in the pod
 * at the start. Cleartext stays beside it.
 */
import { join } from "node:path";
import type { Logger } from "../foundation/logger.ts";
import type { SocketFront } from "../proxy/front.ts";
import {
  hasCertificate,
  openTlsPort as openPort,
  tlsOptions,
  type TlsPort,
} from "../proxy/tls-port.ts";
import type { QueueProxyConfig } from "./config.ts";

export type { TlsPort } from "../proxy/tls-port.ts";

const CERTIFICATE_FOLDER = "var/lib/knative/certs";
/** As stock looks for new files. */
export const RELOAD_EVERY_MS = 60_000;
/** Stock's tests look for these words. */
const RELOADED = "Certificate and/or key have changed on disk and were reloaded.";

export interface TlsParts {
  readonly config: QueueProxyConfig;
  readonly front: SocketFront;
  readonly logger: Logger;
  readonly host: string | undefined;
  readonly reloadEveryMs: number;
}

/** Undefined when the pod has no certificate. */
export async function openTlsPort(parts: TlsParts): Promise<TlsPort | undefined> {
  const { config, front, logger, host, reloadEveryMs } = parts;
  const folder = join(config.podRoot ?? "/", CERTIFICATE_FOLDER);
  if (!hasCertificate(folder)) return undefined;
  return openPort({
    folder,
    options: tlsOptions(config.tls),
    host,
    port: config.servingTlsPort,
    reloadEveryMs,
    accept: (socket) => front.accept(socket),
    onReloaded: () => logger.info(RELOADED),
    onReloadFailed: (error) => logger.warn("certificate not reloaded", { error }),
  });
}
