/**
 * The admission webhook process of a cluster. Any number may run; each serves the certificate that
 * they share. It holds no credential of the store and scales nothing.
 */
import { once } from "node:events";
import { createRandom } from "../common/random.ts";
import { systemClock } from "../foundation/clock.ts";
import { createLifecycle, stopOnSignals } from "../foundation/lifecycle.ts";
import { createLogger } from "../foundation/logger.ts";
import type { Logger } from "../foundation/logger.ts";
import { createMetricsPage } from "../foundation/metrics.ts";
import { createAdminServer } from "./admin-server.ts";
import { openApi } from "./kubernetes/api.ts";
import type { ApiClient } from "./kubernetes/api-client.ts";
import { systemTimers } from "./timers.ts";
import { CertificateKeeper } from "./webhook/certificate-keeper.ts";
import { readWebhookConfig } from "./webhook/config.ts";
import type { WebhookConfig } from "./webhook/config.ts";
import { renderWebhookMetrics } from "./webhook/metrics.ts";
import { watchRules } from "./webhook/rules.ts";
import type { RulesWatch } from "./webhook/rules.ts";
import { createWebhookServer } from "./webhook/server.ts";
import type { WebhookServer } from "./webhook/server.ts";

const STOP_DEADLINE_MS = 10_000;

await run();

async function run(): Promise<void> {
  const config = readWebhookConfig(process.env);
  const logger = createLogger({ name: "webhook", level: config.logLevel });
  const client = await openApi({ ...config, clock: systemClock });
  const shared = { client, clock: systemClock, random: createRandom(process.pid), logger };
  const rules = watchRules({ ...shared, namespace: config.systemNamespace });
  const webhook = createWebhookServer({ rules: () => rules.current(), logger });
  const keeper = new CertificateKeeper({
    ...shared,
    ...config,
    namespace: config.systemNamespace,
    timers: systemTimers,
    onCertificate: (pair) => webhook.server.setSecureContext(pair),
  });
  await live({ config, logger, client, rules, webhook, keeper });
}

interface Parts {
  readonly config: WebhookConfig;
  readonly logger: Logger;
  readonly client: ApiClient;
  readonly rules: RulesWatch;
  readonly webhook: WebhookServer;
  readonly keeper: CertificateKeeper;
}

async function live({ config, logger, client, rules, webhook, keeper }: Parts): Promise<void> {
  const page = createMetricsPage();
  page.addCollector(() => renderWebhookMetrics(webhook.counts()));
  const admin = createAdminServer({
    unready: () => keeper.problem || rules.unready(),
    metrics: page,
  });
  const { server } = webhook;
  const lifecycle = createLifecycle({
    logger,
    stopDeadlineMs: STOP_DEADLINE_MS,
    parts: [
      { name: "api client", stop: () => client.close() },
      { name: "rules", start: () => rules.start(), stop: () => rules.stop() },
      {
        name: "server",
        start: async () => {
          server.listen(config.listen);
          await once(server, "listening");
        },
        stop: async () => {
          // Calls under way end; the API server goes to another replica.
          server.closeIdleConnections();
          await new Promise((resolve) => server.close(resolve));
        },
      },
      {
        name: "admin",
        start: async () => {
          const url = await admin.listen(config.adminListen);
          logger.info("listening", { url, webhook: server.address() });
          process.send?.({ type: "listening", url, webhook: server.address() });
        },
        stop: () => admin.close(),
      },
      { name: "certificates", start: () => keeper.start(), stop: () => keeper.stop() },
    ],
  });
  stopOnSignals(lifecycle, (code) => process.exit(code));
  await lifecycle.start();
}
