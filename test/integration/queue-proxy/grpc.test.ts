/** HTTP/2 through the real sidecar process: gRPC answers, trailers, and the sidecar's own refusals. */
import http2 from "node:http2";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { ModelServer } from "../../fixtures/servers/model-server.ts";
import { startModelServer } from "../../fixtures/servers/model-server.ts";
import type { SidecarProcess } from "../../support/queue-proxy-process.ts";
import { startSidecar } from "../../support/queue-proxy-process.ts";

let model: ModelServer;
let sidecar: SidecarProcess;
let session: http2.ClientHttp2Session;

beforeEach(async () => {
  model = await startModelServer();
  sidecar = await startSidecar({ userPort: model.port });
  session = http2.connect(`http://${sidecar.ip}:8012`);
});

afterEach(async () => {
  session.destroy();
  await sidecar.stop();
  await model.stop();
});

interface GrpcAnswer {
  readonly head: http2.IncomingHttpHeaders;
  readonly trailers: http2.IncomingHttpHeaders;
  readonly body: Buffer;
}

const MESSAGE = Buffer.from([0, 0, 0, 0, 2, 0x68, 0x69]);

function call(path: string, headers: http2.OutgoingHttpHeaders = {}): Promise<GrpcAnswer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    let head: http2.IncomingHttpHeaders = {};
    let trailers: http2.IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.once("response", (received) => (head = received));
    stream.once("trailers", (received) => (trailers = received));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.once("error", reject);
    stream.once("end", () => resolve({ head, trailers, body: Buffer.concat(chunks) }));
    stream.end(MESSAGE);
  });
}

// F19: exact status and message in every form.
it("passes a unary answer with its trailers", async () => {
  const { head, trailers, body } = await call("/echo.Echo/Say");
  expect(head[":status"]).toBe(200);
  expect(body).toEqual(MESSAGE);
  expect(trailers["grpc-status"]).toBe("0");
});

it("passes a unary error as the one head it is", async () => {
  const { head } = await call("/echo.Echo/Fail");
  expect(head).toMatchObject({ "grpc-status": "3", "grpc-message": "asked to fail" });
});

it("passes a stream that fails after three messages", async () => {
  const { body, trailers } = await call("/echo.Echo/Stream");
  expect(body.length).toBe(3 * MESSAGE.length);
  expect(trailers).toMatchObject({ "grpc-status": "13", "grpc-message": "broke after three" });
});

it("refuses as gRPC where the caller is one, and by status where it is our activator", async () => {
  await model.stop();
  const foreign = await call("/echo.Echo/Say");
  expect(foreign.head).toMatchObject({ ":status": 200, "grpc-status": "14" });
  expect(foreign.head["pilotlight-reason"]).toBe("container_exited");
  const leased = await call("/echo.Echo/Say", { "pilotlight-target-uid": sidecar.uid });
  expect(leased.head).toMatchObject({ ":status": 503, "pilotlight-reason": "pod_full" });
  const misdirected = await call("/echo.Echo/Say", { "pilotlight-target-uid": "another" });
  expect(misdirected.head[":status"]).toBe(421);
});
