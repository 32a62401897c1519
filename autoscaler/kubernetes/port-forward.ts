/**
 * A port of a pod on this machine, through the API server, as `kubectl port-forward` does it: the
 * caller's rights decide, and the pod need not listen for anybody else.
 */
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import type { KubeConfig, PortForward } from "@kubernetes/client-node";
import { errorText, PlatformError } from "../../common/errors.ts";

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

export interface Forwarded {
  /** `http://127.0.0.1:PORT`, open to this machine only. */
  readonly url: string;
  close(): Promise<void>;
}

/** `localPort` 0: any free one. What cannot be reached shows at the first connection. */
export async function forwardPort(
  config: KubeConfig,
  { namespace, pod, port }: PodPort,
  localPort = 0,
): Promise<Forwarded> {
  const client = await import("@kubernetes/client-node");
  const forward = new client.PortForward(config);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => socket.destroy());
    forward.portForward(namespace, pod, [port], socket, null, socket).then(
      (channel) => follow(socket, channel),
      (error: unknown) => void socket.destroy(asError(error)),
    );
  });
  server.listen(localPort, "127.0.0.1");
  await once(server, "listening").catch((cause: unknown) => {
    const text = `Port ${localPort} on 127.0.0.1 cannot be used: ${errorText(cause)}.`;
    throw new PlatformError("ERR_CONFIG_INVALID", `${text} Name another.`, { cause });
  });
  // A server on TCP has an address of this form once it listens.
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}`,
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

type Channel = Awaited<ReturnType<PortForward["portForward"]>>;

/** Either end that goes takes the other along. */
function follow(socket: Socket, channel: Channel): void {
  const peer = typeof channel === "function" ? channel() : channel;
  if (peer === null) return void socket.destroy();
  socket.on("close", () => peer.close());
  peer.on("close", () => socket.end());
  peer.on("error", (error) => socket.destroy(error));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorText(error));
}
