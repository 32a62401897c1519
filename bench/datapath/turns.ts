/** One turn of one proxy: started fresh, warmed up, measured, stopped. Rounds are made of turns. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { connect } from "node:net";
import {
  holdRequests,
  type LoadResult,
  type Place,
  readEvents,
  runWrk,
  writeUploadScript,
} from "./load.ts";
import type { Peer, PeerKind } from "./peers.ts";
import type { Tool } from "./tools.ts";
import { BULK_BYTES } from "./upstream.ts";

export interface TurnPlan {
  readonly wrk: Tool;
  readonly bulkPort: number;
  readonly streamPort: number;
  readonly connections: readonly number[];
  readonly seconds: number;
}

export interface SmallResult extends LoadResult {
  readonly connections: number;
  readonly cpuUs: number;
}

export interface Turn {
  readonly small: readonly SmallResult[];
  /** On-CPU time per MiB. */
  readonly downUs: number;
  readonly upUs: number;
  readonly downMibPerSecond: number;
  readonly rssKib: number;
  readonly events: { readonly p50Us: number; readonly cpuUs: number; readonly perSecond: number };
}

const BULK_CONNECTIONS = 4;
const WARM_UP_CONNECTIONS = 16;
/** A compiler that warms up at run time is measured when it has, as in a sidecar that lives for hours. */
const WARM_UP_REQUESTS = 40_000;
const MAX_WARM_UPS = 12;
/** 20,000 events, for the same reason. */
const EVENT_WARM_UP_SECONDS = 4;
const UPLOAD_SCRIPT = join(tmpdir(), "pilotlight-bench-upload.lua");
/** Slots of the turn that weighs waiting requests; stock queues ten per slot. */
const HELD_SLOTS = 200;
/** Wait before it is weighed: a process that meets its first ones grows by its own code, not by theirs. */
const HELD_BEFORE = 500;
const HELD_REQUESTS = 1_000;

export async function playTurn(kind: PeerKind, plan: TurnPlan): Promise<Turn> {
  const requests = await withPeer(kind, { upstreamPort: plan.bulkPort, concurrency: 0 }, (peer) =>
    playRequests(peer, plan),
  );
  const events = await withPeer(kind, { upstreamPort: plan.streamPort, concurrency: 0 }, (peer) =>
    playEvents(peer, plan),
  );
  return { ...requests, events };
}

/** The upstream without any proxy: the floor of this moment. */
export async function playDirect(plan: TurnPlan): Promise<readonly SmallResult[]> {
  const results: SmallResult[] = [];
  for (const connections of plan.connections) {
    const url = `http://127.0.0.1:${plan.bulkPort}/`;
    const result = await runWrk(plan.wrk, { url, connections, seconds: plan.seconds });
    results.push({ ...result, connections, cpuUs: 0 });
  }
  return results;
}

/** Growth of resident memory per request that waits for a slot, in bytes. */
export function weighHeld(kind: PeerKind, streamPort: number): Promise<number> {
  return withPeer(kind, { upstreamPort: streamPort, concurrency: HELD_SLOTS }, async (peer) => {
    const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_000));
    await firstAnswer(peer);
    const letFirstGo = await holdRequests(peer, HELD_SLOTS + HELD_BEFORE);
    await settle();
    const before = peer.rssKib();
    const letGo = await holdRequests(peer, HELD_REQUESTS);
    await settle();
    const after = peer.rssKib();
    letGo();
    letFirstGo();
    return ((after - before) * 1_024) / HELD_REQUESTS;
  });
}

export interface StartTime {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** From exec to the first answer of the upstream through the proxy. */
export async function timeStart(kind: PeerKind, upstreamPort: number): Promise<StartTime> {
  const startedAt = performance.now();
  return withPeer(kind, { upstreamPort, concurrency: 0 }, async (peer) => {
    await firstAnswer(peer);
    return { wallMs: performance.now() - startedAt, cpuMs: peer.cpuMs() };
  });
}

async function playRequests(peer: Peer, plan: TurnPlan): Promise<Omit<Turn, "events">> {
  const { wrk, seconds } = plan;
  const url = `http://${peer.host}:${peer.port}`;
  await warmUp(wrk, `${url}/`);
  const small: SmallResult[] = [];
  for (const connections of plan.connections) {
    const { result, cpuMs } = await measured(peer, () =>
      runWrk(wrk, { url: `${url}/`, connections, seconds }),
    );
    small.push({ ...result, connections, cpuUs: (cpuMs * 1_000) / result.requests });
  }
  const rssKib = peer.rssKib();
  const load = { connections: BULK_CONNECTIONS, seconds };
  const down = await measured(peer, () => runWrk(wrk, { ...load, url: `${url}/bulk` }));
  writeUploadScript(UPLOAD_SCRIPT, BULK_BYTES);
  const up = await measured(peer, () =>
    runWrk(wrk, { ...load, url: `${url}/`, script: UPLOAD_SCRIPT }),
  );
  return {
    small,
    rssKib,
    downUs: (down.cpuMs * 1_000) / down.result.requests,
    upUs: (up.cpuMs * 1_000) / up.result.requests,
    downMibPerSecond: down.result.rps,
  };
}

async function warmUp(wrk: Tool, url: string): Promise<void> {
  let requests = 0;
  for (let i = 0; i < MAX_WARM_UPS && requests < WARM_UP_REQUESTS; i += 1) {
    requests += (await runWrk(wrk, { url, connections: WARM_UP_CONNECTIONS, seconds: 1 })).requests;
  }
}

async function playEvents(peer: Peer, { seconds }: TurnPlan): Promise<Turn["events"]> {
  await readEvents(peer, EVENT_WARM_UP_SECONDS);
  const { result, cpuMs } = await measured(peer, () => readEvents(peer, seconds));
  return {
    p50Us: result.p50Us,
    cpuUs: (cpuMs * 1_000) / result.events,
    perSecond: result.events / seconds,
  };
}

async function measured<T>(
  peer: Peer,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly cpuMs: number }> {
  const before = peer.cpuMs();
  const result = await run();
  return { result, cpuMs: peer.cpuMs() - before };
}

async function withPeer<T>(
  kind: PeerKind,
  options: Parameters<PeerKind["start"]>[0],
  use: (peer: Peer) => Promise<T>,
): Promise<T> {
  const peer = await kind.start(options);
  try {
    return await use(peer);
  } finally {
    await peer.stop();
  }
}

async function firstAnswer({ host, port }: Place): Promise<void> {
  const socket = connect({ host, port });
  socket.write("GET / HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
  await once(socket, "data");
  socket.destroy();
}
