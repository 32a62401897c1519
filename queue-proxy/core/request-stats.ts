/**
 * Averages for the stock autoscaler (contract 2.13): concurrency integrated over the time between
 * two reports, requests by arrival. Queued requests count, probes do not.
 */

export interface StatsReport {
  readonly averageConcurrency: number;
  readonly averageProxiedConcurrency: number;
  readonly requestCount: number;
  readonly proxiedRequestCount: number;
}

export class RequestStats {
  #concurrency = 0;
  #proxied = 0;
  #area = 0;
  #proxiedArea = 0;
  #secondsInUse = 0;
  #requests = 0;
  #proxiedRequests = 0;
  #changedAtSeconds: number;

  constructor(nowSeconds: number) {
    this.#changedAtSeconds = nowSeconds;
  }

  arrive(nowSeconds: number, via: "direct" | "proxied"): void {
    this.#integrate(nowSeconds);
    this.#concurrency += 1;
    this.#requests += 1;
    if (via === "direct") return;
    this.#proxied += 1;
    this.#proxiedRequests += 1;
  }

  depart(nowSeconds: number, via: "direct" | "proxied"): void {
    this.#integrate(nowSeconds);
    this.#concurrency -= 1;
    if (via === "proxied") this.#proxied -= 1;
  }

  /** The averages since the last report; the live concurrency stays. */
  report(nowSeconds: number): StatsReport {
    this.#integrate(nowSeconds);
    const seconds = this.#secondsInUse;
    const result = {
      averageConcurrency: seconds > 0 ? this.#area / seconds : 0,
      averageProxiedConcurrency: seconds > 0 ? this.#proxiedArea / seconds : 0,
      requestCount: this.#requests,
      proxiedRequestCount: this.#proxiedRequests,
    };
    this.#area = 0;
    this.#proxiedArea = 0;
    this.#secondsInUse = 0;
    this.#requests = 0;
    this.#proxiedRequests = 0;
    return result;
  }

  #integrate(nowSeconds: number): void {
    const seconds = nowSeconds - this.#changedAtSeconds;
    this.#changedAtSeconds = nowSeconds;
    if (seconds <= 0) return;
    this.#area += this.#concurrency * seconds;
    this.#proxiedArea += this.#proxied * seconds;
    this.#secondsInUse += seconds;
  }
}
