/**
 * Answers, per pod, whether what only the kubelet sees has passed: startup probes and exec
 * readiness probes. The sidecar asks here as one more of its own probes.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReadinessGate {
  readonly port: number;
  set(podUid: string, open: boolean): void;
  remove(podUid: string): void;
  close(): Promise<void>;
}

export async function openReadinessGate(): Promise<ReadinessGate> {
  const pods = new Map<string, boolean>();
  const server = createServer((request, response) => {
    const uid = request.url?.replace("/pods/", "") ?? "";
    response.writeHead(pods.get(uid) === true ? 200 : 503, { "content-length": 0 });
    response.end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    set: (podUid, open) => void pods.set(podUid, open),
    remove: (podUid) => void pods.delete(podUid),
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
