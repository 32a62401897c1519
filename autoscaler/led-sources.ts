/**
 * The sources of a controller that lives only as long as its process leads: subscriptions at the
 * source are for ever, so one serves all lives, and each life gives back what it listened to.
 */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { AutoscalerOptions } from "./controller.ts";

export type Sources = Pick<AutoscalerOptions, "subscriber" | "objects" | "scale">;

export interface SourcesLife extends Sources {
  close(): void;
}

/** The sources for one controller after the other, each of which leaves nothing behind. */
export function createSources({ subscriber, objects, scale }: Sources): { open(): SourcesLife } {
  const wakes = createFan<[RevisionKey]>();
  const resubscriptions = createFan<[]>();
  const changes = createFan<[RevisionKey]>();
  const podChanges = createFan<[RevisionKey]>();
  subscriber.onWake(wakes.tell);
  subscriber.onResubscribed(resubscriptions.tell);
  objects.onChange(changes.tell);
  scale.onPodsChanged(podChanges.tell);
  return {
    open: () => {
      const [wake, resubscribed] = [wakes.open(), resubscriptions.open()];
      const [change, podChange] = [changes.open(), podChanges.open()];
      return {
        subscriber: derived(subscriber, {
          onWake: wake.listen,
          onResubscribed: resubscribed.listen,
        }),
        objects: derived(objects, { onChange: change.listen }),
        scale: derived(scale, { onPodsChanged: podChange.listen }),
        close: () => {
          for (const scope of [wake, resubscribed, change, podChange]) scope.close();
        },
      };
    },
  };
}

/** `base` with some methods replaced; the others keep their own `this`. */
function derived<T extends object>(base: T, replaced: Partial<T>): T {
  return new Proxy(base, {
    get: (target, name) => {
      if (Object.hasOwn(replaced, name)) return Reflect.get(replaced, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

interface Fan<A extends readonly unknown[]> {
  /** To the listeners of all open scopes. */
  readonly tell: (...argument: A) => void;
  open(): FanScope<A>;
}

interface FanScope<A extends readonly unknown[]> {
  readonly listen: (listener: (...argument: A) => void) => void;
  close(): void;
}

function createFan<A extends readonly unknown[]>(): Fan<A> {
  const scopes = new Set<((...argument: A) => void)[]>();
  return {
    tell: (...argument) => {
      for (const listeners of scopes) for (const listener of listeners) listener(...argument);
    },
    open: () => {
      const listeners: ((...argument: A) => void)[] = [];
      scopes.add(listeners);
      return {
        listen: (listener) => void listeners.push(listener),
        close: () => void scopes.delete(listeners),
      };
    },
  };
}
