/**
 * Keeps the webhook trusted: a certificate in a Secret that all replicas share, renewed long before
 * its end, and the authorities that the API server has to know. A new certificate is served only
 * once its authority is known there, and the old authority stays until it has ended.
 */
import type { Clock } from "../../common/clock.ts";
import { errorText } from "../../common/errors.ts";
import type { Random } from "../../common/random.ts";
import type { Logger } from "../../foundation/logger.ts";
import { apiStatus, orGone } from "../kubernetes/api-client.ts";
import type { ApiClient } from "../kubernetes/api-client.ts";
import { collectionPath, objectPath } from "../kubernetes/objects.ts";
import type { KubeObject } from "../kubernetes/objects.ts";
import type { CancelTimer, Timers } from "../timers.ts";
import { expiryOf, makeServerCertificate, splitPem } from "./certificates.ts";

export interface KeeperOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  /** Of the Secret. */
  readonly secret: string;
  /** Of the Service by which the API server calls. */
  readonly service: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  /** A certificate to serve from now on. */
  readonly onCertificate: (pair: { readonly cert: string; readonly key: string }) => void;
}

interface Secret extends KubeObject {
  readonly type?: string;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
}

interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name?: string;
    readonly clientConfig?: { readonly caBundle?: string };
  }[];
}

interface Kept {
  readonly cert: string;
  readonly key: string;
  /** Authorities to trust, newest first. */
  readonly bundle: string;
}

export const CONFIGURATIONS = [
  "mutatingwebhookconfigurations/defaulting.webhook.pilotlight.dev",
  "validatingwebhookconfigurations/validation.webhook.pilotlight.dev",
] as const;
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const FILES = { cert: "tls.crt", key: "tls.key", bundle: "ca.crt" } as const;

const DAY_MS = 86_400_000;
const VALID_MS = 90 * DAY_MS;
const RENEW_BEFORE_MS = 30 * DAY_MS;
const LOOK_MS = 30_000;
/** While something is missing. */
const RETRY_MS = 2_000;

export class CertificateKeeper {
  readonly #options: KeeperOptions;
  #served = "";
  #problem = "no certificate yet";
  #cancel: CancelTimer = () => undefined;
  #turn: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Why the API server cannot call yet; empty when it can. */
  get problem(): string {
    return this.#problem;
  }

  start(): void {
    this.#turn = this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#turn;
  }

  async #look(): Promise<void> {
    const { logger, random, timers } = this.#options;
    let isDone = false;
    try {
      const kept = await this.#keptPair();
      isDone = await this.#trust(kept.bundle);
      this.#serve(kept);
      this.#problem = "";
    } catch (error) {
      logger.warn("certificate not kept", { error: errorText(error) });
      if (this.#served === "") this.#problem = errorText(error);
    }
    if (this.#isStopped) return;
    const delayMs = (isDone ? LOOK_MS : RETRY_MS) * (0.75 + random() / 2);
    this.#cancel = timers.after(delayMs, () => void (this.#turn = this.#look()));
  }

  #serve({ cert, key }: Kept): void {
    if (cert === this.#served) return;
    this.#served = cert;
    this.#options.onCertificate({ cert, key });
    this.#options.logger.info("certificate taken", {
      until: new Date(expiryOf(cert)).toISOString(),
    });
  }

  /** What the Secret has, or what this replica was the first to put there. */
  async #keptPair(): Promise<Kept> {
    const { client, namespace, secret: name, clock } = this.#options;
    const path = objectPath("secrets", { namespace, name });
    const secret = await orGone(client.read<Secret | null>(path), null);
    const kept = secret === null ? null : decode(secret);
    if (kept !== null && expiryOf(kept.cert) - clock.now() > RENEW_BEFORE_MS) return kept;
    return this.#renew(secret, kept);
  }

  async #renew(secret: Secret | null, before: Kept | null): Promise<Kept> {
    const { client, namespace, secret: name, clock, logger } = this.#options;
    const next = this.#make(before);
    const data = encode(next);
    try {
      if (secret === null) {
        const body = { ...SECRET, metadata: { name, namespace }, data };
        await client.write({ method: "POST", path: collectionPath("secrets", namespace), body });
      } else {
        const path = objectPath("secrets", { namespace, name });
        const body = { ...secret, data: { ...secret.data, ...data } };
        await client.write({ method: "PUT", path, body });
      }
      logger.info("certificate made", { until: new Date(clock.now() + VALID_MS).toISOString() });
      return next;
    } catch (error) {
      // Another replica was faster: its pair is as good.
      if (apiStatus(error) !== 409) throw error;
      const path = objectPath("secrets", { namespace, name });
      const theirs = decode(await client.read<Secret>(path));
      if (theirs === null) throw error;
      return theirs;
    }
  }

  #make(before: Kept | null): Kept {
    const { namespace, service, clock } = this.#options;
    const host = `${service}.${namespace}.svc`;
    const names = [host, `${host}.cluster.local`, `${service}.${namespace}`, service];
    const made = makeServerCertificate({ names, nowMs: clock.now(), validMs: VALID_MS });
    const older = splitPem(before?.bundle ?? "").filter((one) => expiryOf(one) > clock.now());
    return { cert: made.cert, key: made.key, bundle: [made.authority, ...older].join("") };
  }

  /** False where a configuration is not there yet. */
  async #trust(bundle: string): Promise<boolean> {
    const found = await Promise.all(
      CONFIGURATIONS.map((name) => this.#trustIn(`${ADMISSION}/${name}`, bundle)),
    );
    return found.every((isThere) => isThere);
  }

  async #trustIn(path: string, bundle: string): Promise<boolean> {
    const { client, logger } = this.#options;
    const found = await orGone(client.read<WebhookConfiguration | null>(path), null);
    if (found === null) return false;
    const caBundle = Buffer.from(bundle).toString("base64");
    const body = (found.webhooks ?? []).flatMap(({ name, clientConfig }, index) =>
      clientConfig?.caBundle === caBundle
        ? []
        : [
            { op: "test", path: `/webhooks/${index}/name`, value: name },
            { op: "add", path: `/webhooks/${index}/clientConfig/caBundle`, value: caBundle },
          ],
    );
    if (body.length === 0) return true;
    await client.write({ method: "PATCH", patch: "json-patch", path, body });
    logger.info("authority made known", { configuration: found.metadata.name });
    return true;
  }
}

const SECRET = { apiVersion: "v1", kind: "Secret", type: "kubernetes.io/tls" };

/** `null` for a Secret that lacks a part or holds something else. */
function decode({ data = {} }: Secret): Kept | null {
  const textOf = (file: string): string => Buffer.from(data[file] ?? "", "base64").toString();
  const kept = { cert: textOf(FILES.cert), key: textOf(FILES.key), bundle: textOf(FILES.bundle) };
  const isWhole = expiryOf(kept.cert) > 0 && kept.key !== "" && splitPem(kept.bundle).length > 0;
  return isWhole ? kept : null;
}

function encode({ cert, key, bundle }: Kept): Readonly<Record<string, string>> {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  return { [FILES.cert]: base64(cert), [FILES.key]: base64(key), [FILES.bundle]: base64(bundle) };
}
