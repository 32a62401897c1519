/**
 * The two answers of a kubelet that the command line needs, behind a real API server: a forwarded
 * port of a pod, as WebSocket channels, and a container's log. Ports of pods are ports of this machine.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { Server } from "node:https";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { setStatus } from "./kube-api.ts";
import type { KubeApi } from "./kube-api.ts";

const TLS = join(import.meta.dirname, "../fixtures/tls");
const DATA = 0;
const ERRORS = 1;

export class KubeletPorts {
  /** By `namespace/pod/container`: lines of its log. */
  readonly logs = new Map<string, readonly string[]>();
  /** What listens on this machine in place of a pod's port, by the port. */
  readonly ports = new Map<number, number>();
  readonly #server: Server;

  constructor(key: Buffer, cert: Buffer) {
    this.#server = createServer({ key, cert }, (request, response) => {
      const [, , namespace, pod, container = ""] = (request.url ?? "").split(/[/?]/);
      const lines = this.logs.get(`${namespace}/${pod}/${container}`);
      if (lines === undefined) return void response.writeHead(404).end("no such container");
      response.end(lines.map((line) => `${line}\n`).join(""));
    });
    const sockets = new WebSocketServer({
      server: this.#server,
      handleProtocols: (offered) =>
        offered.has("v4.channel.k8s.io") ? "v4.channel.k8s.io" : false,
    });
    sockets.on("connection", (socket, request) => {
      const query = new URL(request.url ?? "", "https://kubelet").searchParams;
      this.#forward(socket, Number(query.get("port") ?? query.get("ports")));
    });
  }

  static create(): KubeletPorts {
    return new KubeletPorts(readFileSync(join(TLS, "one.key")), readFileSync(join(TLS, "one.crt")));
  }

  /** Listens, and tells the API server that this is the kubelet of the node. */
  async serve({ client }: Pick<KubeApi, "client">, node: string): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    await setStatus(client, `/api/v1/nodes/${node}`, {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(socket: WebSocket, port: number): void {
    const number = Buffer.alloc(2);
    number.writeUInt16LE(port);
    for (const channel of [DATA, ERRORS]) socket.send(Buffer.from([channel, ...number]));
    const target = connect(this.ports.get(port) ?? port, "127.0.0.1");
    target.on("data", (bytes) => socket.send(Buffer.concat([Buffer.from([DATA]), bytes])));
    target.on("error", (error) =>
      socket.send(Buffer.concat([Buffer.from([ERRORS]), Buffer.from(error.message)])),
    );
    target.on("close", () => socket.close());
    // The first byte names the channel; of what a client sends, all is data.
    socket.on("message", (message: Buffer) => target.write(message.subarray(1)));
    socket.on("close", () => target.destroy());
  }
}
