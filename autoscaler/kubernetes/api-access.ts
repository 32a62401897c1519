/**
 * Where the API server is and who we are there. In a pod: the service account's folder, whose token
 * rotates and is therefore read again; outside: a kubeconfig, read by the Kubernetes client, which
 * is loaded only then because it costs a second and a hundred megabytes.
 */
import { readFile, stat } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import type { Clock } from "../../common/clock.ts";
import { PlatformError } from "../../common/errors.ts";

/** All that a kubeconfig says, in the form that the Kubernetes client reads. */
export type Kubeconfig = KubeConfig;

/** What a request needs beside method, path and body. */
export type AccessOptions = Pick<
  RequestOptions,
  "ca" | "cert" | "key" | "rejectUnauthorized" | "servername"
> & { readonly headers: Readonly<Record<string, string>> };

export interface ApiAccess {
  readonly url: URL;
  options(): Promise<AccessOptions>;
}

/** Kubelet renews a token at four fifths of its life, so the old one is still good for this long. */
const TOKEN_AGE_MS = 10_000;

export interface AccountOptions {
  /** `https://kubernetes.default.svc`; plain `http` reaches a proxy on this machine. */
  readonly apiUrl: string;
  /** Folder with `token` and `ca.crt`. */
  readonly accountFolder: string;
  readonly clock: Clock;
}

export function accountAccess(options: AccountOptions): ApiAccess {
  const { apiUrl, accountFolder, clock } = options;
  let kept: { readonly at: number; readonly value: Promise<AccessOptions> } | null = null;
  return {
    url: new URL(apiUrl),
    options: () => {
      if (kept !== null && clock.now() - kept.at < TOKEN_AGE_MS) return kept.value;
      const value = readAccount(accountFolder);
      kept = { at: clock.now(), value };
      // A folder that cannot be read now is read again at the next call.
      value.catch(() => {
        kept = null;
      });
      return value;
    },
  };
}

async function readAccount(folder: string): Promise<AccessOptions> {
  const [token, ca] = await Promise.all([
    readFile(`${folder}/token`, "utf8"),
    readIfThere(`${folder}/ca.crt`),
  ]);
  const headers = { authorization: `Bearer ${token.trim()}` };
  return ca === null ? { headers } : { headers, ca };
}

async function readIfThere(file: string): Promise<Buffer | null> {
  const found = await stat(file).catch(() => null);
  return found === null ? null : readFile(file);
}

/** A kubeconfig with all its ways to prove who one is, credential programs included. */
export async function kubeconfigAccess(file: string): Promise<ApiAccess> {
  return accessOf(await loadKubeconfig([file]), file);
}

/**
 * One kubeconfig out of files, the first of which wins, as kubectl reads `KUBECONFIG`. An empty
 * `context` means the current one. Rejects with ERR_CONFIG_INVALID, naming what is known instead.
 */
export async function loadKubeconfig(files: readonly string[], context = ""): Promise<KubeConfig> {
  const { KubeConfig: Loader } = await import("@kubernetes/client-node");
  const config = new Loader();
  for (const [index, file] of files.entries()) {
    const next = new Loader();
    try {
      next.loadFromFile(file);
    } catch (cause) {
      const text = `The kubeconfig ${file} cannot be read. Name another with KUBECONFIG.`;
      throw new PlatformError("ERR_CONFIG_INVALID", text, { cause, details: { file } });
    }
    if (index === 0) config.loadFromOptions(next);
    else config.mergeConfig(next, true);
  }
  if (context === "") return config;
  const known = config.getContexts().map(({ name }) => name);
  if (!known.includes(context)) {
    const text = `No context ${context} in ${files.join(", ")}. Known: ${known.join(", ") || "none"}.`;
    throw new PlatformError("ERR_CONFIG_INVALID", text, { details: { context } });
  }
  config.setCurrentContext(context);
  return config;
}

/** `source`: where it came from, for the message. */
export function accessOf(config: KubeConfig, source: string): ApiAccess {
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) {
    throw new PlatformError(
      "ERR_CONFIG_INVALID",
      `The current context of ${source} names no cluster. Set one with kubectl config use-context.`,
      { details: { source } },
    );
  }
  return {
    url: new URL(server),
    options: async () => {
      const asked: RequestOptions = { headers: {} };
      await config.applyToHTTPSOptions(asked);
      const { ca, cert, key, rejectUnauthorized, servername } = asked;
      const headers = Object.fromEntries(
        Object.entries(asked.headers ?? {}).map(([name, value]) => [name, String(value)]),
      );
      return withoutUndefined({ ca, cert, key, rejectUnauthorized, servername, headers });
    },
  };
}

function withoutUndefined(options: {
  readonly [K in keyof AccessOptions]-?: AccessOptions[K] | undefined;
}): AccessOptions {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  // Only keys whose value is absent have gone, all of which are optional.
  return Object.fromEntries(entries) as unknown as AccessOptions;
}
