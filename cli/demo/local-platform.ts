/** The running local platform in the words of the demo. */
import { fileURLToPath } from "node:url";
import { startPlatform } from "../../local/main.ts";
import type { PlatformEvent } from "../../local/main.ts";
import type { DemoPlatform, DemoService } from "./platform-view.ts";

const EXAMPLES = ["echo", "ocr", "llm", "chat"];
const NAMESPACE = "default";

export interface DemoPlatformOptions {
  readonly port: number;
  readonly runFolder: string;
  readonly onEvent: (event: PlatformEvent) => void;
}

export async function startDemoPlatform(options: DemoPlatformOptions): Promise<DemoPlatform> {
  const platform = await startPlatform({
    files: EXAMPLES.map((name) =>
      fileURLToPath(new URL(`../../examples/${name}/service.yaml`, import.meta.url)),
    ),
    port: options.port,
    runFolder: options.runFolder,
    onEvent: options.onEvent,
  });
  const find = (name: string): DemoService | undefined =>
    services().find((service) => service.name === name);
  const services = (): DemoService[] =>
    platform.services().flatMap(({ name, namespace, revisions }) => {
      const current = revisions.find(({ percent }) => percent > 0) ?? revisions[0];
      if (current === undefined) return [];
      return [{ name, host: `${name}.${namespace}.localhost`, key: current.key }];
    });
  return {
    ingressUrl: platform.urls.ingress,
    activatorUrls: platform.activators().map(({ url }) => url),
    dashboardUrl: platform.urls.dashboard,
    store: platform.store,
    storeVersion: platform.storeFacts.version,
    storeIsRedis: platform.storeFacts.name === "redis",
    services,
    pods: (name) =>
      platform.pods().filter((pod) => pod.service === name && pod.key.startsWith(`${NAMESPACE}/`)),
    waiting: async (name) => {
      const service = find(name);
      if (service === undefined) return 0;
      return (await platform.routing.readFigures(service.key, { record: false })).waiting;
    },
    coldStarts: async (name) => {
      const service = find(name);
      return service === undefined ? [] : platform.routing.readColdStarts(service.key, 100);
    },
    stop: (graceMs) => platform.stop(graceMs),
  };
}
