/** Keeps Envoy as the Ingress objects want it, and tells them when it is so. */
import { createHash } from "node:crypto";
import { request } from "node:http";
import { Api, keyOf } from "./api.ts";
import { VERSION_HOST, writeClusters, writeEndpoints, writeRoutes } from "./envoy.ts";
import type { EnvoyPorts } from "./envoy.ts";
import type { Endpoints, Ingress, Service } from "./objects.ts";
import { translate } from "./translate.ts";
import type { Configuration, Upstream } from "./translate.ts";

const GROUP = "/apis/networking.internal.knative.dev/v1alpha1";
const CLASS = "networking.knative.dev/ingress.class";
/** Changes come in bursts; one pass serves a burst. */
const SETTLE_MS = 5;
const PROBE_EVERY_MS = 5;

export interface ControllerOptions {
  readonly kubeconfig: string;
  readonly folder: string;
  readonly ports: EnvoyPorts;
  readonly ingressClass: string;
  /** Names of the gateway's Services, as pods reach them. */
  readonly externalName: string;
  readonly localName: string;
}

export class IngressController {
  readonly #options: ControllerOptions;
  readonly #api: Api;
  readonly #ingresses = new Map<string, Ingress>();
  readonly #services = new Map<string, Service>();
  readonly #endpoints = new Map<string, Endpoints>();
  #written = "";
  #upstreams: readonly Upstream[] = [];
  #timer: NodeJS.Timeout | undefined;
  #working = false;
  #again = false;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#api = new Api(options.kubeconfig);
  }

  /** Works until the process ends. */
  async run(): Promise<void> {
    const changed = (): void => this.#schedule();
    await Promise.all([
      this.#api.mirror(`${GROUP}/ingresses`, this.#ingresses, changed),
      this.#api.mirror("/api/v1/services", this.#services, changed),
      this.#api.mirror("/api/v1/endpoints", this.#endpoints, changed),
    ]);
  }

  #schedule(): void {
    this.#again = true;
    if (this.#working || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#work();
    }, SETTLE_MS);
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#again) {
      this.#again = false;
      try {
        await this.#pass();
      } catch (error) {
        console.error(error);
        this.#again = true;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
    this.#working = false;
  }

  async #pass(): Promise<void> {
    const ours = new Map([...this.#ingresses].filter(([, one]) => this.#isOurs(one)));
    const { address, local } = this.#options.ports;
    const configuration = translate(
      { ingresses: ours, services: this.#services, endpoints: this.#endpoints },
      { local: { ip: address, port: local } },
    );
    await this.#write(configuration);
    for (const one of ours.values()) if (!isSettled(one)) await this.#settle(one);
  }

  async #write(configuration: Configuration): Promise<void> {
    const { folder } = this.#options;
    const { upstreams, ...routes } = configuration;
    const shape = { ...routes, clusters: upstreams.map(({ name, http2 }) => ({ name, http2 })) };
    const version = createHash("sha256").update(JSON.stringify(shape)).digest("hex").slice(0, 16);
    if (version === this.#written) return writeEndpoints(folder, upstreams);
    // New clusters before the routes that name them; clusters that go, go when no route does.
    const both = new Map([...this.#upstreams, ...upstreams].map((one) => [one.name, one]));
    await this.#takeClusters([...both.values()], `${version}-new`);
    writeRoutes(folder, configuration, version);
    await this.#takenRoutes(version);
    await this.#takeClusters(upstreams, version);
    this.#upstreams = upstreams;
    this.#written = version;
  }

  /** Returns when the gateway knows these clusters and has read their endpoints. */
  async #takeClusters(upstreams: readonly Upstream[], version: string): Promise<void> {
    writeClusters(this.#options.folder, upstreams, version);
    const { address, admin } = this.#options.ports;
    const filter = "^cluster_manager.(cds.version_text|warming_clusters)$";
    await until(`the clusters of version ${version}`, async () => {
      const text = await ask(address, admin, `/stats?filter=${encodeURIComponent(filter)}`);
      return text.includes(`version_text: "${version}"`) && /warming_clusters: 0$/m.test(text);
    });
  }

  /** Returns when the gateway answers with these routes; it has one worker, so that one answer is enough. */
  async #takenRoutes(version: string): Promise<void> {
    const { address, external, local } = this.#options.ports;
    for (const port of [external, local]) {
      await until(`the routes of version ${version}`, async () => {
        return (await ask(address, port, "/")) === version;
      });
    }
  }

  async #settle({ metadata }: Ingress): Promise<void> {
    const { externalName, localName } = this.#options;
    const path = `${GROUP}/namespaces/${metadata.namespace}/ingresses/${metadata.name}`;
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, "Z");
    const types = ["LoadBalancerReady", "NetworkConfigured", "Ready"];
    try {
      await this.#api.patchStatus(path, {
        observedGeneration: metadata.generation,
        conditions: types.map((type) => ({ type, status: "True", lastTransitionTime })),
        publicLoadBalancer: { ingress: [{ domainInternal: externalName }] },
        privateLoadBalancer: { ingress: [{ domainInternal: localName }] },
      });
    } catch (error) {
      // It was deleted or changed meanwhile; its next event brings it here again.
      console.error(`${keyOf({ metadata })}: ${String(error)}`);
    }
  }

  #isOurs({ metadata }: Ingress): boolean {
    return metadata.annotations?.[CLASS] === this.#options.ingressClass;
  }
}

function isSettled({ metadata, status }: Ingress): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
  return ready && status?.observedGeneration === metadata.generation;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`The gateway does not take ${what}`);
    await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS));
  }
}

function ask(host: string, port: number, path: string): Promise<string> {
  const headers = { host: VERSION_HOST };
  return new Promise((resolve) => {
    const sent = request({ host, port, path, headers, timeout: 1000, agent: false });
    sent.once("error", () => resolve(""));
    sent.once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.once("close", () => resolve(text));
    });
    sent.end();
  });
}
