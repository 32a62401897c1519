/** From files to services: which definition holds as files are good, bad, gone and back. */
import { mkdtemp, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Loader } from "../../../local/loader.ts";
import { ServiceBook } from "../../../local/object-files.ts";
import type { ServiceChange } from "../../../local/object-files.ts";

let folder = "";
let now = 0;
let changes: string[] = [];
let errors: string[] = [];
let book: ServiceBook;
let loader: Loader;

const file = (name: string): string => join(folder, name);

function service(name: string, more: { image?: string; cooldown?: string; window?: string } = {}) {
  return `---
apiVersion: serving.knative.dev/v1
kind: Service
metadata: { name: ${name}, annotations: { pilotlight.dev/cooldown: ${more.cooldown ?? "10s"} } }
spec:
  template:
    metadata:
      annotations:
        pilotlight.dev/local-command: "true"
        autoscaling.knative.dev/window: ${more.window ?? "6s"}
    spec: { containers: [{ image: ${more.image ?? "a"} }] }
`;
}

async function load(files: Readonly<Record<string, string | null>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    if (text === null) await rm(file(name));
    else await writeFile(file(name), text);
  }
  changes = [];
  errors = [];
  await loader.load(Object.keys(files).map(file));
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "pilotlight-loader-"));
  now = 1_000_000;
  book = new ServiceBook({ now: () => now }, ({ kind, service: { definition } }: ServiceChange) =>
    changes.push(`${definition.name} ${kind}`),
  );
  loader = new Loader({
    book,
    hostEnv: { PATH: process.env["PATH"] },
    onError: ({ service: name, text }) => errors.push(`${name}: ${text.split("\n")[0] ?? ""}`),
    onWarning: () => undefined,
  });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const names = (): string[] => book.services().map(({ definition }) => definition.name);

describe("files", () => {
  it("add, change and remove services; what did not change is left alone", async () => {
    await load({ "a.yaml": service("one") + service("two") });
    expect(changes).toEqual(["one added", "two added"]);
    await load({ "a.yaml": service("one", { image: "b" }) + service("two") });
    expect(changes).toEqual(["one new-revision"]);
    await load({ "a.yaml": service("two") });
    expect(changes).toEqual(["one removed"]);
    await load({ "a.yaml": null });
    expect(changes).toEqual(["two removed"]);
    expect(errors).toEqual([]);
  });

  it("apply live keys without a new revision", async () => {
    await load({ "a.yaml": service("one") });
    await load({ "a.yaml": service("one", { cooldown: "3s" }) });
    expect(changes).toEqual(["one changed"]);
    const [revision] = book.list();
    expect(revision?.annotations["pilotlight.dev/cooldown"]).toBe("3s");
    expect(book.list()).toHaveLength(1);
  });

  it("with a fault keep that service's last good definition, and apply the others", async () => {
    await load({ "a.yaml": service("one") + service("two") });
    await load({ "a.yaml": service("one", { window: "1s" }) + service("two", { image: "b" }) });
    expect(changes).toEqual(["two new-revision"]);
    expect(errors).toEqual([
      "default/one: expected 6s <= 1s <= 1h0m0s: autoscaling.knative.dev/window",
    ]);
    await load({ "a.yaml": `${service("one")}---\n: [broken` });
    expect(names()).toEqual(["one", "two"]);
  });

  it("that name a service twice: the first file owns it until it lets go", async () => {
    await load({ "a.yaml": service("one"), "b.yaml": service("one", { image: "b" }) });
    expect(errors).toEqual([`default/one: service default/one also stands in ${file("a.yaml")}`]);
    expect(book.services()[0]?.definition.template.container.image).toBe("a");
    await load({ "a.yaml": service("other") });
    expect(book.services().find(({ definition }) => definition.name === "one")).toMatchObject({
      definition: { template: { container: { image: "b" } } },
    });
  });

  it("without a command here leave the service out, with the cure", async () => {
    const text = service("one").replace("pilotlight.dev/local-command", "example.com/other");
    await load({ "a.yaml": text });
    expect(names()).toEqual([]);
    expect(errors[0]).toContain("no command for image a on this machine");
  });
});

describe("apply and delete", () => {
  it("tell what became of each service", async () => {
    await writeFile(file("a.yaml"), service("one") + service("two"));
    const path = file("a.yaml");
    const shown = async (): Promise<string[]> =>
      (await loader.apply([path])).services.map(
        ({ key, change, revision }) => `${key} ${change} ${revision}`,
      );
    expect(await shown()).toEqual([
      "default/one created one-00001",
      "default/two created two-00001",
    ]);
    await writeFile(path, service("one", { image: "b" }) + service("two"));
    expect(await shown()).toEqual([
      "default/one configured one-00002",
      "default/two unchanged two-00001",
    ]);
    await writeFile(path, service("one", { window: "1s" }) + service("two"));
    const { services, errors: faults } = await loader.apply([path]);
    expect(services.map(({ key }) => key)).toEqual(["default/two"]);
    expect(faults).toEqual([expect.stringContaining("expected 6s <= 1s <= 1h0m0s")]);
  });

  it("keep a deleted service away until it is applied again", async () => {
    await load({ "a.yaml": service("one") + service("two") });
    expect(await loader.remove(["default/one"], [])).toEqual(["default/one"]);
    await load({ "a.yaml": service("one", { image: "b" }) + service("two") });
    expect(names()).toEqual(["two"]);
    await loader.apply([file("a.yaml")]);
    expect(names().toSorted()).toEqual(["one", "two"]);
  });

  it("take a file away with all that came from it, and nothing else", async () => {
    await load({ "a.yaml": service("one"), "b.yaml": service("two") });
    expect(await loader.remove([], [file("a.yaml")])).toEqual(["default/one"]);
    expect(loader.files).toEqual([file("b.yaml")]);
    expect(names()).toEqual(["two"]);
  });
});

describe("a removed service", () => {
  it("stays for the controller, unreachable, until its pods and late requests are gone", async () => {
    await load({ "a.yaml": service("one") });
    await load({ "a.yaml": "" });
    expect(book.routeTable().routes).toEqual([]);
    expect(book.list()).toMatchObject([{ reachable: false, trafficShare: 0 }]);
    now += 60_000;
    book.forgetUnreachable(() => true);
    expect(book.list()).toHaveLength(1);
    book.forgetUnreachable(() => false);
    expect(book.list()).toEqual([]);
  });

  it("that comes back goes on with its numbers", async () => {
    await load({ "a.yaml": service("one") });
    await load({ "a.yaml": "" });
    await load({ "a.yaml": service("one", { image: "b" }) });
    expect(changes).toEqual(["one added"]);
    expect(book.list().map(({ revision }) => revision)).toEqual(["one-00001", "one-00002"]);
  });
});

it("reads neither a device nor what is far too large, and stays", async () => {
  await load({ "a.yaml": service("one") });
  await symlink("/dev/zero", file("endless.yaml"));
  await load({ "big.yaml": "" });
  await truncate(file("big.yaml"), 17 * 1024 * 1024);
  await loader.load([file("endless.yaml"), file("big.yaml")]);
  expect(errors).toEqual([
    ": cannot be read: not a regular file",
    ": cannot be read: 17 MiB is too large for a service file",
  ]);
  expect(names()).toEqual(["one"]);
});
