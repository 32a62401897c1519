/** Names the store's kind and version in a report whose command starts its servers somewhere deeper. */
import type { ReportBuilder } from "../../foundation/report.ts";
import { startValkey } from "./valkey.ts";

export async function noteStore(report: ReportBuilder): Promise<void> {
  const server = await startValkey();
  try {
    const info = await server.admin.info("server");
    report.store(/^valkey_version:(\S+)/m.exec(info)?.[1] ?? "", server.kind === "redis");
  } finally {
    await server.stop();
  }
}
