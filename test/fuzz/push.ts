/**
 * Fuzzes the push protocol of an activator: reports with bent fields and bodies that are no JSON,
 * from a pod with a valid token. Whatever arrives: an answer in time, never a fault of ours, and
 * nothing in the store that the pod may not say.
 */
import { request } from "node:http";
import { PUSH_PATH, type PushReport } from "../../common/contracts/push.ts";
import type { RevisionKey } from "../../common/contracts/routing.ts";
import { createRandom, type Random } from "../../common/random.ts";
import { signToken } from "../support/activator-stub-pod.ts";
import type { FuzzResult } from "./request-head.ts";
import { pick, whole } from "./request-mutations.ts";

export interface PushFuzzOptions {
  readonly seed: number;
  readonly ms: number;
  /** Host and port of the push side. */
  readonly push: string;
  readonly pod: {
    readonly uid: string;
    readonly address: string;
    readonly port: number;
    readonly revision: RevisionKey;
    readonly secret: string;
  };
  /** The targets on record, by uid and address. */
  targets(): Promise<readonly { readonly uid: string; readonly address: string }[]>;
}

const ANSWER_MS = 5_000;
const MAX_FINDINGS = 10;
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e308,
  2 ** 53 + 2,
  "",
  "x".repeat(70_000),
  "\u0000\r\n",
  "../../etc",
  "a/b/c",
  "{tag}",
  "\ud800",
  [],
  [["a"]],
  Array.from({ length: 2_000 }, (_, i) => `l${i}`),
  {},
  { __proto__: { polluted: 1 }, constructor: { prototype: 1 } },
  { readyAt: "soon" },
  { readyAt: -1, spawnedAt: 1e300 },
];

export async function fuzzPushes(options: PushFuzzOptions): Promise<FuzzResult> {
  const random = createRandom(options.seed);
  const token = await signToken(options.pod.secret, options.pod.uid);
  const findings: string[] = [];
  let runs = 0;
  let passed = 0;
  for (const endsAt = performance.now() + options.ms; performance.now() < endsAt; runs += 1) {
    const body = oneBody(random, options, runs);
    const status = await post(options, token, body);
    if (status === 200) passed += 1;
    const fault = faultOf(status) ?? (runs % 20 === 0 ? await strangerOf(options) : undefined);
    if (fault !== undefined) findings.push(`${fault}: ${body.toString("latin1").slice(0, 2_000)}`);
    if (findings.length >= MAX_FINDINGS) break;
  }
  return { runs, passed, findings };
}

function faultOf(status: number | "silence"): string | undefined {
  if (status === "silence") return "no answer";
  return status >= 500 ? `answered with ${status}` : undefined;
}

/** Whether the store knows a target that this pod may not speak for. */
async function strangerOf(options: PushFuzzOptions): Promise<string | undefined> {
  const { pod } = options;
  const odd = (await options.targets()).find(
    ({ uid, address }) => uid !== pod.uid || !address.startsWith(`${pod.address}:`),
  );
  return odd === undefined ? undefined : `the store holds ${JSON.stringify(odd)}`;
}

function oneBody(random: Random, options: PushFuzzOptions, sequence: number): Buffer {
  const report: Record<string, unknown> = { ...validReport(options, sequence) };
  const names = Object.keys(report);
  for (let bends = whole(random, 4); bends > 0; bends -= 1) {
    const name =
      random() < 0.1 ? pick(random, ["__proto__", "extra", "constructor"]) : pick(random, names);
    if (random() < 0.2) Reflect.deleteProperty(report, name);
    else
      Object.defineProperty(report, name, {
        value: pick(random, ODD_VALUES),
        enumerable: true,
        configurable: true,
      });
  }
  const bytes = Buffer.from(JSON.stringify(report));
  return random() < 0.25 ? damaged(random, bytes) : bytes;
}

function damaged(random: Random, bytes: Buffer): Buffer {
  const at = whole(random, bytes.length);
  switch (whole(random, 4)) {
    case 0:
      return bytes.subarray(0, at);
    case 1:
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.from([whole(random, 256)]),
        bytes.subarray(at),
      ]);
    case 2:
      return Buffer.from(`${"[".repeat(1 + whole(random, 20_000))}`);
    default:
      return Buffer.alloc(0);
  }
}

function validReport({ pod }: PushFuzzOptions, sequence: number): PushReport {
  return {
    kind: sequence % 50 === 0 ? "hello" : "change",
    revision: pod.revision,
    podUid: pod.uid,
    podName: `pod-${pod.uid}`,
    boot: 1_764_459_734_123,
    sequence,
    state: sequence % 2 === 0 ? "ready" : "unready",
    reason: "",
    address: pod.address,
    port: pod.port,
    capacity: 1,
    inFlight: 0,
    occupied: 0,
    reportsRunning: false,
    asked: [],
    running: [],
    build: "fuzz",
    marks: { sidecarAt: 1_764_459_734_124 },
  };
}

function post(
  { push, pod }: PushFuzzOptions,
  token: string,
  body: Buffer,
): Promise<number | "silence"> {
  const [host = "", port = ""] = push.split(":");
  return new Promise((resolve) => {
    const call = request(
      {
        host,
        port,
        path: PUSH_PATH,
        method: "POST",
        localAddress: pod.address,
        headers: {
          Authorization: `Bearer ${token}`,
          "Content-Type": "application/json",
          "Content-Length": body.length,
        },
        timeout: ANSWER_MS,
      },
      (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      },
    );
    call.on("timeout", () => call.destroy());
    call.on("error", () => resolve("silence"));
    call.end(body);
  });
}
