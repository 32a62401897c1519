/** A collector of traces: takes OTLP as JSON over HTTP and keeps the spans that came. */
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly service: string;
  readonly attributes: Readonly<Record<string, string>>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Envelope {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, "attributes" | "service"> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}

export class TraceCollector {
  readonly spans: ReceivedSpan[] = [];
  /** Answers this status instead of taking what comes. */
  refuses = 0;
  posts = 0;
  readonly #server: Server = createServer((request, response) => {
    void text(request).then((body) => {
      this.posts += 1;
      if (this.refuses === 0) this.#take(JSON.parse(body) as Envelope);
      response.writeHead(this.refuses || 200).end("{}");
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take({ resourceSpans }: Envelope): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = recordOf(resource.attributes)["service.name"] ?? "";
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) {
        this.spans.push({ ...span, service, attributes: recordOf(span.attributes) });
      }
    }
  }
}

function recordOf(attributes: readonly Attribute[]): Record<string, string> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]),
  );
}
