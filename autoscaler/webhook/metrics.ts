/** What the webhook counts, in the exposition format. */
import type { WebhookCounts } from "./server.ts";

const NAME = "pilotlight_webhook_reviews_total";

export function renderWebhookMetrics(counts: WebhookCounts): string {
  const lines = Object.entries(counts).map(
    ([result, count]) => `${NAME}{result="${result}"} ${count}`,
  );
  return [
    `# HELP ${NAME} Admission calls by what came of them`,
    `# TYPE ${NAME} counter`,
    ...lines,
    "",
  ].join("\n");
}
