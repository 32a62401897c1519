/** Kept while benches move to `foundation/report.ts`. */
export * from "../foundation/report.ts";
