/**
 * `npm run fuzz -- [--seconds 60] [--seed N]`: both fuzzers, one after the other, for as long as
 * asked. Findings are printed with the bytes that make them happen again.
 */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { fuzzPushesAtActivator } from "../support/push-fuzz-bench.ts";
import { fuzzRequestHeads, type FuzzOptions, type FuzzResult } from "./request-head.ts";

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, seed: { type: "string" } },
});
const options: FuzzOptions = {
  seed: values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed),
  ms: (Number(values.seconds) * 1_000) / 2,
};
print(`seed ${options.seed}, ${values.seconds} s`);
await run("request heads", fuzzRequestHeads);
await run("push protocol", fuzzPushesAtActivator);

async function run(
  name: string,
  fuzz: (options: FuzzOptions) => Promise<FuzzResult>,
): Promise<void> {
  const { runs, passed, findings } = await fuzz(options);
  print(`${name}: ${runs} runs, ${passed} of them accepted, ${findings.length} findings`);
  for (const finding of findings) print(`  ${finding}`);
  if (findings.length > 0) process.exitCode = 1;
}

/** This is a command, and its findings are its output. */
function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
