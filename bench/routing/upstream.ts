/** The pods of the bench, all of them: one process that answers 13 bytes to everything. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((incoming, answer) => {
  incoming.resume();
  answer.end("hello, world\n");
});
server.keepAliveTimeout = 75_000;
server.listen(0, "127.0.0.1", () => {
  // A TCP server has an address object, not a path.
  process.send?.({ port: (server.address() as AddressInfo).port });
});
