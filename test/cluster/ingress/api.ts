/** The few calls to the API server that the ingress needs: list, watch, and writing a status. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";

export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly generation?: number;
    readonly resourceVersion: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

interface KubeconfigFile {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly "certificate-authority": string };
  }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

interface List<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

const RETRY_MS = 200;
/** The server ends a watch after this; a silent one is cut somewhat later. */
const WATCH_SECONDS = 240;

export class Api {
  readonly #server: URL;
  readonly #token: string;
  readonly #agent: Agent;

  constructor(kubeconfig: string) {
    const file = JSON.parse(readFileSync(kubeconfig, "utf8")) as KubeconfigFile;
    const cluster = file.clusters[0]?.cluster;
    const token = file.users[0]?.user.token;
    if (cluster === undefined || token === undefined)
      throw new Error(`${kubeconfig} is incomplete`);
    this.#server = new URL(cluster.server);
    this.#token = token;
    this.#agent = new Agent({
      keepAlive: true,
      ca: readFileSync(cluster["certificate-authority"]),
    });
  }

  /** Keeps `objects` as the API server has them, for ever, and calls `changed` after each change. */
  async mirror<T extends KubeObject>(
    path: string,
    objects: Map<string, T>,
    changed: () => void,
  ): Promise<never> {
    for (;;) {
      try {
        const list = await this.#json<List<T>>("GET", path);
        objects.clear();
        for (const one of list.items) objects.set(keyOf(one), one);
        changed();
        await this.#watch(path, list.metadata.resourceVersion, objects, changed);
      } catch {
        // The server is away or forgot where we were: list again.
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  /** Writes fields of an object's status. */
  async patchStatus(path: string, status: object): Promise<void> {
    await this.#json("PATCH", `${path}/status`, { status });
  }

  async #watch<T extends KubeObject>(
    path: string,
    from: string,
    objects: Map<string, T>,
    changed: () => void,
  ): Promise<void> {
    let version = from;
    for (;;) {
      const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${WATCH_SECONDS}&resourceVersion=${version}`;
      const response = await this.#send("GET", `${path}?${query}`);
      for await (const line of createInterface({ input: response })) {
        const { type, object } = JSON.parse(line) as WatchEvent<T>;
        if (type === "ERROR") throw new Error("the watch cannot go on");
        version = object.metadata.resourceVersion;
        if (type === "BOOKMARK") continue;
        if (type === "DELETED") objects.delete(keyOf(object));
        else objects.set(keyOf(object), object);
        changed();
      }
    }
  }

  async #json<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await this.#send(method, path, body);
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
    return JSON.parse(text) as T;
  }

  #send(method: string, path: string, body?: object): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${this.#token}`,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/merge-patch+json" }),
      };
      const sent = request(new URL(path, this.#server), { method, headers, agent: this.#agent });
      sent.setTimeout((WATCH_SECONDS + 30) * 1000, () => sent.destroy(new Error("silent")));
      sent.once("error", reject);
      sent.once("response", (response) => {
        const { statusCode = 0 } = response;
        if (statusCode < 300) return resolve(response);
        response.resume();
        reject(new Error(`${method} ${path}: ${statusCode}`));
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

export const keyOf = ({ metadata }: KubeObject): string => `${metadata.namespace}/${metadata.name}`;
