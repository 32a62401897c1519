/**
 * Where requests of other cells enter, over connections whose certificates named their cell. What
 * is no hop, or for a service that other cells may not spill here, is refused as undelivered.
 */
import { randomUUID } from "node:crypto";
import { CALLER_EXPECT_HEADER, REQUEST_ID_HEADER } from "../../common/contracts/headers.ts";
import type { CellNode } from "../../cells/node.ts";
import type { Exchange, FrontHooks, RequestHead } from "../../proxy/types.ts";
import { platformAnswer, refusedHeadAnswer } from "../core/answers.ts";
import { findHeader, readCallerHeaders } from "../core/caller-headers.ts";
import type { HopHeaders } from "../core/hop.ts";
import { readHopHeaders } from "../core/hop.ts";
import { isValidRequestId } from "../core/request-id.ts";
import type { DispatchParts } from "../dispatch-parts.ts";
import { Dispatch } from "../dispatch.ts";
import type { Revisions } from "../revisions.ts";
import { IncomingHop } from "./incoming-hop.ts";

export interface PeerEntranceOptions {
  readonly parts: DispatchParts;
  readonly revisions: Revisions;
  readonly node: CellNode;
  /** Cell at the other end of the exchange's connection; empty when it is gone. */
  readonly cellOf: (exchange: Exchange) => string;
  /** Empty while this process is well. */
  readonly unhealthy: () => string;
}

export function createPeerEntrance(options: PeerEntranceOptions): FrontHooks {
  return {
    onRefused: (reason) => ({ ...refusedHeadAnswer(reason, randomUUID()), close: true }),
    onExchange: (exchange) => receive(options, exchange),
  };
}

function receive(options: PeerEntranceOptions, exchange: Exchange): void {
  const { parts, revisions, node } = options;
  const { head } = exchange;
  const caller = readCallerHeaders(head.headers);
  const requestId = isValidRequestId(caller.requestId) ? caller.requestId : randomUUID();
  const refuse = (message: string): void =>
    exchange.answer(
      platformAnswer({
        reason: "spill_refused",
        message,
        requestId,
        accept: caller.accept,
        // A cell reads status and reason; only callers read gRPC's own words.
        contentType: "",
        retryAfterS: 1,
        headers: [REQUEST_ID_HEADER, requestId],
      }),
    );
  const cell = options.cellOf(exchange);
  const headers = readHopHeaders(head.headers);
  if (headers === null || cell === "") return refuse("not a hop between cells");
  if (!keepsItsEnd(headers, head)) return refuse("a hop that waits must have an end to keep");
  if (options.unhealthy() !== "") return refuse("this router is stopping");
  const hop = new IncomingHop(cell, headers);
  if (!node.own.touch(hop.revision)) return refuse("no such revision in this cell");
  const receivedAt = parts.clock.now() - (performance.now() - exchange.receivedAt);
  new Dispatch(parts, {
    exchange,
    caller,
    requestId,
    entry: revisions.use(hop.revision),
    receivedAt,
    // `Expect` on the hop is the other cell's own word; its caller's is in a header of ours.
    head: {
      ...head,
      expectsContinue: findHeader(head.headers, CALLER_EXPECT_HEADER) === "100-continue",
    },
    hop,
  }).begin();
}

/** Without an end yet to come nothing would say when the other cell can no longer take it back. */
function keepsItsEnd({ spill }: HopHeaders, { contentLength, upgrade }: RequestHead): boolean {
  return spill === "warm" || upgrade !== "" || contentLength !== 0;
}
