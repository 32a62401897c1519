/** What each npm script runs, once packages, Node and (where asked) Valkey are there. */

const cli = (command) => ({
  needsStore: true,
  steps: (args) => [{ args: ["cli/main.ts", command, ...args] }],
});

const script = (file, options = { needsStore: true }) => ({
  ...options,
  steps: (args) => [{ args: [file, ...args] }],
});

const cluster = (command) => ({
  needsStore: true,
  steps: (args) => [{ args: ["scripts/cluster/main.ts", command, ...args] }],
});

const bin = (path) => `node_modules/${path}`;
const types = { title: "Types", args: [bin("typescript/bin/tsc"), "--noEmit", "-p", "."] };
/** Pages run in a browser, so they are checked against the DOM by configurations of their own. */
const pageTypes = ["dashboard/page", "examples/chat/page"].map((folder) => ({
  title: `Types of ${folder}`,
  args: [bin("typescript/bin/tsc"), "--noEmit", "-p", folder],
}));
const lint = {
  title: "Lint",
  args: [bin("oxlint/bin/oxlint"), "-c", ".oxlintrc.json", "--type-aware"],
};
const format = { title: "Format", args: [bin("oxfmt/bin/oxfmt"), "--check", "."] };
const tests = (args) => ({ title: "Tests", args: ["scripts/run-tests.ts", ...args] });

export const TASKS = {
  demo: cli("demo"),
  up: cli("up"),
  /** Any command line, run where the user stands: `npx pilotlight ...`. */
  cli: {
    needsStore: true,
    steps: (args) => [
      { args: [new URL("../../cli/main.ts", import.meta.url).pathname, ...args], here: true },
    ],
  },
  install: { needsStore: true, steps: () => [] },
  test: { needsStore: true, steps: (args) => [tests(args)] },
  check: { needsStore: true, steps: (args) => [types, ...pageTypes, lint, format, tests(args)] },
  lint: { steps: () => [types, ...pageTypes, lint, format] },
  format: { steps: () => [{ args: [bin("oxfmt/bin/oxfmt"), "."] }] },
  build: { steps: () => [{ args: ["scripts/build.ts"] }] },
  "test:protocols": script("test/protocols/main.ts"),
  /** The waits of the field reports at their full length: half an hour. */
  "test:long": {
    needsStore: true,
    steps: (args) => [
      { args: ["test/protocols/main.ts", "--long", ...args] },
      {
        title: "A minute's stream from another cell",
        args: ["scripts/run-tests.ts", "test/integration/cells/long-stream.test.ts"],
        env: { PILOTLIGHT_STREAM_S: "60" },
      },
    ],
  },
  /** A real Kubernetes with a real Knative on this machine; root, and ten minutes the first time. */
  "cluster:up": cluster("up"),
  "cluster:down": cluster("down"),
  "cluster:status": cluster("status"),
  /** Builds our images and brings them into the running cluster. */
  "cluster:images": cluster("images"),
  "test:cluster": script("test/cluster/main.ts"),
  report: script("bench/report-cli.ts", {}),
  "test:faults": script("test/faults/main.ts"),
  /** Every page of a running platform in a real browser; takes the pictures of the documents. */
  "test:browser": script("test/browser/main.ts", { needsStore: true, needsBrowser: true }),
  "test:cells": script("test/cells/main.ts"),
  fuzz: script("test/fuzz/main.ts"),
  "example:text2sql": script("examples/text2sql/run.ts"),
  "bench:datapath": script("bench/datapath.ts"),
  "bench:routing": script("bench/routing.ts"),
  "bench:hexgen": script("bench/hexgen.ts"),
  "bench:scaling": script("bench/scaling.ts"),
  "bench:cells": script("bench/cells.ts"),
};
