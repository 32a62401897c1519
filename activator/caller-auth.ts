/**
 * Who may call a service with `pilotlight.dev/auth: jwt`: the token's signature, issuer, audience and
 * times, checked with the operator's key set, and the services that it names. Nothing of a refused
 * call reaches the store, so strangers start no GPU.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createLocalJWKSet, createRemoteJWKSet, errors, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload, JWTVerifyGetKey } from "jose";
import type { Clock } from "../common/clock.ts";
import type { RevisionConfig } from "../common/contracts/routing.ts";
import { errorText } from "../common/errors.ts";
import type { Logger } from "../foundation/logger.ts";
import { findHeader } from "./core/caller-headers.ts";
import type { Refusal } from "./ticket.ts";

export interface CallerAuthOptions {
  /** URL of a key set, or path of a file with one (read again every 10 s). Empty: no token passes. */
  readonly jwks: string;
  /** `iss` that a token must have; empty: any. */
  readonly issuer: string;
  /** `aud` that a token must have. */
  readonly audience: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Claim with the services that a token is good for, as `namespace/name`, `namespace/*` or `*`. */
export const SERVICES_CLAIM = "pilotlight.dev/services";

interface Known {
  readonly services: readonly string[] | null;
  /** Instant, ms since the epoch. */
  readonly endsAt: number;
}

/** A token that was good is not checked again for so long; a key that is withdrawn ends it then. */
const REMEMBER_MS = 60_000;
const MOST_REMEMBERED = 10_000;
const FILE_KEPT_MS = 10_000;
const KEY_SET_TIMEOUT_MS = 3_000;
const CLOCK_TOLERANCE_S = 5;
const MOST_TOKEN_BYTES = 16_384;
/** Faults of the key set, not of the token. */
const KEYS_AWAY = new Set(["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"]);

export class CallerAuth {
  readonly #options: CallerAuthOptions;
  readonly #keyOf: JWTVerifyGetKey | null;
  readonly #known = new Map<string, Known>();

  constructor(options: CallerAuthOptions) {
    this.#options = options;
    this.#keyOf = keysAt(options);
  }

  /** The same for a call with these headers; null also where no token is asked for. */
  checkCall(
    { auth, namespace, service }: RevisionConfig,
    headers: readonly string[],
  ): Refusal | null | Promise<Refusal | null> {
    if (auth !== "jwt") return null;
    return this.check(findHeader(headers, "authorization"), `${namespace}/${service}`);
  }

  /**
   * Why a call with this `Authorization` header may not go to `service` (`namespace/name`); null
   * when it may. Answers at once for a token that was good a moment ago.
   */
  check(authorization: string, service: string): Refusal | null | Promise<Refusal | null> {
    const token = /^Bearer +([^\s]+)$/i.exec(authorization)?.[1];
    if (token === undefined || token.length > MOST_TOKEN_BYTES) {
      return unauthenticated("this service asks for a token: Authorization: Bearer TOKEN");
    }
    const digest = createHash("sha256").update(token).digest("base64");
    const known = this.#known.get(digest);
    if (known !== undefined && known.endsAt > this.#options.clock.now()) {
      return mayCall(known.services, service);
    }
    return this.#verify(token, digest, service);
  }

  async #verify(token: string, digest: string, service: string): Promise<Refusal | null> {
    if (this.#keyOf === null) {
      return unauthenticated("this platform has no keys to check tokens with");
    }
    const { issuer, audience, clock, logger } = this.#options;
    try {
      const { payload } = await jwtVerify(token, this.#keyOf, {
        audience,
        clockTolerance: CLOCK_TOLERANCE_S,
        currentDate: new Date(clock.now()),
        requiredClaims: ["exp"],
        ...(issuer === "" ? {} : { issuer }),
      });
      const services = servicesOf(payload);
      this.#remember(digest, { services, endsAt: this.#goodUntil(payload) });
      return mayCall(services, service);
    } catch (error) {
      if (!isKeysAway(error)) return unauthenticated(`the token is not valid: ${errorText(error)}`);
      logger.warn("keys for callers' tokens not read", { error });
      return unauthenticated("the keys to check tokens with cannot be read at present");
    }
  }

  #goodUntil({ exp }: JWTPayload): number {
    return Math.min((exp ?? 0) * 1_000, this.#options.clock.now() + REMEMBER_MS);
  }

  /** Oldest out first, so that a stream of new tokens costs bounded memory. */
  #remember(digest: string, known: Known): void {
    this.#known.delete(digest);
    this.#known.set(digest, known);
    if (this.#known.size <= MOST_REMEMBERED) return;
    const oldest = this.#known.keys().next().value;
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

function keysAt({ jwks, clock }: CallerAuthOptions): JWTVerifyGetKey | null {
  if (jwks === "") return null;
  if (!/^https?:/.test(jwks)) return fileKeys(jwks, clock);
  const remote = createRemoteJWKSet(new URL(jwks), { timeoutDuration: KEY_SET_TIMEOUT_MS });
  return (header, token) => remote(header, token);
}

function fileKeys(path: string, clock: Clock): JWTVerifyGetKey {
  let keys: ReturnType<typeof createLocalJWKSet> | null = null;
  let readAt = 0;
  return async (header, token) => {
    if (keys === null || clock.now() - readAt > FILE_KEPT_MS) {
      readAt = clock.now();
      keys = createLocalJWKSet(JSON.parse(await readFile(path, "utf8")) as JSONWebKeySet);
    }
    return keys(header, token);
  };
}

/** The token is innocent: nobody could look whether it is good. */
function isKeysAway(error: unknown): boolean {
  if (error instanceof errors.JOSEError) return KEYS_AWAY.has(error.code);
  return true;
}

/** `null`: good for every service. */
function servicesOf(payload: JWTPayload): readonly string[] | null {
  const claim = payload[SERVICES_CLAIM];
  if (claim === undefined) return null;
  if (!Array.isArray(claim)) return [];
  return claim.filter((entry) => typeof entry === "string");
}

function mayCall(services: readonly string[] | null, service: string): Refusal | null {
  if (services === null) return null;
  const [namespace = ""] = service.split("/");
  const isNamed = services.some(
    (entry) => entry === "*" || entry === service || entry === `${namespace}/*`,
  );
  return isNamed
    ? null
    : { reason: "forbidden", message: `the token is not good for the service ${service}` };
}

function unauthenticated(message: string): Refusal {
  return { reason: "unauthenticated", message };
}
