/** A Secret renewed as the kubelet does it: new files beside, then one link moved; no restart. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, expect, it } from "vitest";
import { Certificates } from "../../../cells/certificates.ts";
import { CERTIFICATE_FILES } from "../../../common/contracts/cells.ts";
import { createLogger } from "../../../foundation/logger.ts";
import { createCellAuthority } from "../../../local/cell-certificates.ts";
import type { CellCertificate } from "../../../local/cell-certificates.ts";
import { eventually } from "../../support/eventually.ts";

const logger = createLogger({ name: "certificates", level: "silent" });
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

/** A volume of a Secret: each file a link through `..data`, which leads to the folder in force. */
class SecretVolume {
  readonly folder = mkdtempSync(join(tmpdir(), "pilotlight-secret-"));
  #version = 0;

  constructor(pair: CellCertificate) {
    cleanups.push(() => rmSync(this.folder, { recursive: true, force: true }));
    this.renew(pair);
    for (const file of Object.values(CERTIFICATE_FILES)) {
      symlinkSync(join("..data", file), join(this.folder, file));
    }
  }

  renew({ cert, key, ca }: CellCertificate): void {
    this.#version += 1;
    const version = `..v${this.#version}`;
    mkdirSync(join(this.folder, version));
    writeFileSync(join(this.folder, version, CERTIFICATE_FILES.cert), cert);
    writeFileSync(join(this.folder, version, CERTIFICATE_FILES.key), key);
    writeFileSync(join(this.folder, version, CERTIFICATE_FILES.ca), ca);
    symlinkSync(version, join(this.folder, "..data_tmp"));
    renameSync(join(this.folder, "..data_tmp"), join(this.folder, "..data"));
  }
}

function use(volume: SecretVolume): Certificates {
  const certificates = new Certificates(volume.folder, logger);
  certificates.start();
  cleanups.push(() => certificates.stop());
  return certificates;
}

it("is used by new connections within seconds, and breaks none that stand", async () => {
  const authority = createCellAuthority(Date.now());
  const [euVolume, usVolume] = ["eu", "us"].map((cell) => new SecretVolume(authority.issue(cell)));
  if (euVolume === undefined || usVolume === undefined) throw new Error("no volumes");
  const [eu, us] = [use(euVolume), use(usVolume)];
  const clients: string[] = [];
  const server = us.createServer(["test"]);
  server.on("secureConnection", (socket) => {
    clients.push(socket.getPeerCertificate().fingerprint256);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const dial = async (): Promise<TLSSocket> => {
    const socket = eu.dial({ cell: "us", host: "127.0.0.1", port, protocol: "test" });
    cleanups.push(() => socket.destroy());
    await new Promise((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("error", reject);
    });
    return socket;
  };
  const standing = await dial();
  const before = standing.getPeerCertificate().fingerprint256;

  euVolume.renew(authority.issue("eu"));
  usVolume.renew(authority.issue("us"));
  await eventually(async () => (await dial()).getPeerCertificate().fingerprint256 !== before, {
    timeoutMs: 10_000,
    everyMs: 200,
    what: "the server shows its new certificate",
  });
  await eventually(async () => {
    await dial();
    return clients.at(-1) !== clients[0];
  });
  const echoed = new Promise((resolve) => standing.once("data", resolve));
  standing.write("still here");
  expect(String(await echoed)).toBe("still here");
});
