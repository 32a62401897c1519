/**
 * To which activator this pod pushes: the best of those that serve its revision, as far as it can be
 * reached. Looks again when their list or number changes, and now and then, since the names of a
 * cluster change without a word.
 */
import { LEAST_ACTIVATORS } from "../common/activator-subset.ts";
import type { Clock } from "../common/clock.ts";
import { PUSH_PORT } from "../common/contracts/push.ts";
import type { Random } from "../common/random.ts";
import type { ActivatorDirectory, Endpoint } from "./activator-directory.ts";
import { orderActivators } from "./core/activator-order.ts";

/** One question to the name service per pod and minute; spread, so that pods do not move as one. */
const LOOK_EVERY_MS = 60_000;
/** One that did not answer is the last choice for as long as a restart takes. */
const AVOID_MS = 10_000;

export interface ActivatorChoiceOptions {
  readonly directory: ActivatorDirectory;
  readonly clock: Clock;
  readonly random: Random;
  readonly revision: string;
  readonly pod: string;
}

export class ActivatorChoice {
  readonly #options: ActivatorChoiceOptions;
  readonly #avoidUntil = new Map<string, number>();
  /** The least parts lie within all larger ones, so a first choice is right whatever is heard later. */
  #count = LEAST_ACTIVATORS;
  #lookAt: number;

  constructor(options: ActivatorChoiceOptions) {
    this.#options = options;
    this.#lookAt = this.#nextLook();
  }

  /** When the choice is to be looked at again. */
  get lookAt(): number {
    return this.#lookAt;
  }

  /** Of activators that serve the revision, as a reply says it; undefined: it said nothing. */
  learn(count: number | undefined): void {
    if (count === undefined || count === this.#count) return;
    this.#count = count;
    this.lookNow();
  }

  lookNow(): void {
    this.#lookAt = 0;
  }

  /** It did not answer, or closed the connection. */
  failed(endpoint: Endpoint): void {
    this.#avoidUntil.set(nameOf(endpoint), this.#options.clock.now() + AVOID_MS);
  }

  /** All activators, best first; those that failed lately at the end. */
  async inTurn(): Promise<readonly Endpoint[]> {
    const { directory, clock, revision, pod } = this.#options;
    const endpoints = new Map((await directory.list()).map((one) => [nameOf(one), one]));
    const now = clock.now();
    for (const [name, until] of this.#avoidUntil) {
      if (until <= now) this.#avoidUntil.delete(name);
    }
    const ordered = orderActivators([...endpoints.keys()], { count: this.#count, revision, pod });
    const isAvoided = (name: string): boolean => this.#avoidUntil.has(name);
    return [
      ...ordered.filter((name) => !isAvoided(name)),
      ...ordered.filter((name) => isAvoided(name)),
    ].flatMap((name) => endpoints.get(name) ?? []);
  }

  /** Where to move from `current`; undefined while it is the right one, or none is known. */
  async better(current: Endpoint): Promise<Endpoint | undefined> {
    this.#lookAt = this.#nextLook();
    const [best] = await this.inTurn();
    return best === undefined || nameOf(best) === nameOf(current) ? undefined : best;
  }

  #nextLook(): number {
    const { clock, random } = this.#options;
    return clock.now() + LOOK_EVERY_MS * (0.5 + random());
  }
}

/** As the endpoints of the revision's Service name it: there, the port is not part of the choice. */
function nameOf({ host, port }: Endpoint): string {
  return port === PUSH_PORT ? host : `${host}:${port}`;
}
