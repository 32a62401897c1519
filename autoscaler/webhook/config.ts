/** Options of the webhook, read from its environment once and frozen. */
import { oneOf, readConfig, text } from "../../foundation/config.ts";
import { address } from "../../foundation/listen-address.ts";
import type { Address } from "../../foundation/listen-address.ts";
import { LOG_LEVELS } from "../../foundation/logger.ts";
import type { LogLevel } from "../../foundation/logger.ts";
import { API_TABLE } from "../config.ts";
import type { ApiConfig } from "../config.ts";

export interface WebhookConfig extends ApiConfig {
  readonly listen: Address;
  /** Health and metrics. */
  readonly adminListen: Address;
  readonly service: string;
  readonly secret: string;
  readonly logLevel: LogLevel;
}

export function readWebhookConfig(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<WebhookConfig> {
  return readConfig<WebhookConfig>(env, {
    ...API_TABLE,
    listen: ["PILOTLIGHT_WEBHOOK_LISTEN", address(":8443")],
    adminListen: ["PILOTLIGHT_ADMIN_LISTEN", address(":9090")],
    service: ["PILOTLIGHT_WEBHOOK_SERVICE", text("pilotlight-webhook")],
    secret: ["PILOTLIGHT_WEBHOOK_SECRET", text("pilotlight-webhook-certs")],
    logLevel: ["PILOTLIGHT_LOG_LEVEL", oneOf(LOG_LEVELS, "info")],
  });
}
