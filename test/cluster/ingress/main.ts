/**
 * The ingress as a process: the controller, and a door on this machine's loopback, so that people
 * and browsers reach services as `http://NAME.NAMESPACE.localhost:PORT`.
 *
 *   node test/cluster/ingress/main.ts '{"kubeconfig": ..., "door": {...}, ...}'
 */
import { connect, createServer } from "node:net";
import { IngressController } from "./controller.ts";
import type { ControllerOptions } from "./controller.ts";

interface Settings extends ControllerOptions {
  /** Port on 127.0.0.1 that leads to the gateway. */
  readonly hostPort: number;
}

const settings = JSON.parse(process.argv[2] ?? "") as Settings;

const door = createServer((from) => {
  const to = connect(settings.ports.external, settings.ports.address);
  from.pipe(to).pipe(from);
  for (const end of [from, to]) end.setNoDelay(true);
  from.on("error", () => to.destroy());
  to.on("error", () => from.destroy());
});
door.on("error", (error) => console.error(`No door on this machine: ${error.message}`));
door.listen(settings.hostPort, "127.0.0.1");

process.on("SIGTERM", () => process.exit(0));
await new IngressController(settings).run();
