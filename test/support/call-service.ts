/** One request to a service by its Host, on a connection of its own. */
import { request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ServiceCall {
  readonly path?: string;
  readonly method?: string;
  readonly body?: string;
}

export function callService(
  ingress: string,
  host: string,
  call: ServiceCall = {},
): Promise<ServiceAnswer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(ingress);
    const outgoing = request(
      {
        host: hostname,
        port,
        path: call.path ?? "/",
        method: call.method ?? (call.body === undefined ? "GET" : "POST"),
        headers: { host },
        agent: false,
      },
      (response) => {
        buffer(response).then(
          (body) =>
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: body.toString("utf8"),
            }),
          reject,
        );
      },
    );
    outgoing.on("error", reject);
    outgoing.end(call.body);
  });
}
