/**
 * One line per request on standard output, in the operator's own template (contract 2.12). Off
 * unless the controller turns it on.
 */
import { createRequestLine, traceIdOf } from "../common/request-log.ts";
import type { LoggedResponse } from "../common/request-log.ts";
import type { RequestHead } from "../proxy/types.ts";
import type { QueueProxyConfig } from "./config.ts";

export type RequestLog = (head: RequestHead, response: LoggedResponse) => void;

/** Undefined when the log is off, or its template is empty. */
export function createRequestLog(
  config: QueueProxyConfig,
  write: (line: string) => void,
): RequestLog | undefined {
  const { requestLogTemplate, enableRequestLog } = config.observability;
  if (!enableRequestLog) return undefined;
  const line = createRequestLine(requestLogTemplate, write);
  if (line === undefined) return undefined;
  const revision = {
    Name: config.revision,
    Namespace: config.namespace,
    Service: config.service,
    Configuration: config.configuration,
    PodName: config.podName,
    PodIP: config.podIp,
  };
  return (request, response) => {
    write(line({ request, response, revision, traceId: traceIdOf(request.headers) }));
  };
}
