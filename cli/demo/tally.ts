/** What came back of the demo's requests, by service and status. */
import type { CallResult } from "./http.ts";

export interface ServiceTally {
  requests: number;
  readonly byStatus: Record<string, number>;
  /** Reasons and failures of answers that were not 2xx. */
  readonly troubles: string[];
}

export class Tally {
  readonly #services = new Map<string, ServiceTally>();

  add(service: string, result: CallResult): CallResult {
    const tally = this.of(service);
    tally.requests += 1;
    const status = result.status === 0 ? "none" : String(result.status);
    tally.byStatus[status] = (tally.byStatus[status] ?? 0) + 1;
    if (!isSuccess(result)) {
      const words = result.reason || result.body.toString("utf8", 0, 200).trim();
      tally.troubles.push(`${service}: ${status} ${words}`);
    }
    return result;
  }

  of(service: string): ServiceTally {
    const known = this.#services.get(service);
    if (known !== undefined) return known;
    const fresh: ServiceTally = { requests: 0, byStatus: {}, troubles: [] };
    this.#services.set(service, fresh);
    return fresh;
  }

  get total(): number {
    return this.#sum((tally) => tally.requests);
  }

  get notSuccessful(): number {
    return this.#sum((tally) => tally.troubles.length);
  }

  troubles(): string[] {
    return [...this.#services.values()].flatMap((tally) => tally.troubles);
  }

  #sum(of: (tally: ServiceTally) => number): number {
    return [...this.#services.values()].reduce((sum, tally) => sum + of(tally), 0);
  }
}

export function isSuccess(result: CallResult): boolean {
  return result.status >= 200 && result.status < 300;
}
