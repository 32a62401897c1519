/** What happens on the platform as lines for people: one emitter, and the words for each source. */
import type { Clock } from "../common/clock.ts";
import type { ServiceChange } from "./object-files.ts";
import type { PlatformEvent } from "./platform-types.ts";
import type { PodEvent, PodSummary } from "./pod-types.ts";
import { latestReady } from "./revisions.ts";
import { formatFinding } from "./service-files.ts";
import type { FileFinding } from "./service-types.ts";
import { trafficProblems, trafficShares } from "./traffic.ts";

type Listener = (event: PlatformEvent) => void;

export class PlatformEvents {
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  emit(event: Omit<PlatformEvent, "at">): void {
    const whole = { at: this.#clock.now(), ...event };
    for (const listener of this.#listeners) listener(whole);
  }

  warn(text: string): void {
    this.emit({ level: "warning", kind: "platform", subject: "", text });
  }

  finding(level: "warning" | "error", finding: FileFinding): void {
    this.emit({ level, kind: "file", subject: finding.service, text: formatFinding(finding) });
  }

  pod(pod: PodSummary, event: PodEvent): void {
    const level = event.kind === "failed" ? "warning" : "info";
    this.emit({ level, kind: `pod-${event.kind}`, subject: pod.name, text: event.text });
  }

  service(change: ServiceChange): void {
    const subject = change.service.definition.key;
    this.emit({
      level: "info",
      kind: `service-${change.kind}`,
      subject,
      text: serviceText(change),
    });
    if (change.kind === "removed") return;
    for (const problem of trafficProblems(change.service)) {
      const rest =
        change.service.lastTraffic === null ? "the latest gets its share" : "traffic stays";
      this.emit({
        level: "warning",
        kind: "service-changed",
        subject,
        text: `${problem} So ${rest}.`,
      });
    }
  }
}

function serviceText({ kind, service }: ServiceChange): string {
  const latest = service.revisions.at(-1);
  const texts: Readonly<Record<ServiceChange["kind"], string>> = {
    added: `added (${latest?.launch.shown ?? ""})`,
    changed: "changed, no new revision needed",
    "new-revision": `changed, new revision ${latest?.name ?? ""}`,
    "traffic-moved": trafficText(service),
    removed: "removed",
  };
  return texts[kind];
}

/** `traffic moves to echo-00002: echo-00001 60 %, echo-00002 40 %`. */
function trafficText(service: ServiceChange["service"]): string {
  const shares = trafficShares(service).map(({ revision, percent }) => `${revision} ${percent} %`);
  const rest = shares.length > 1 ? `: ${shares.join(", ")}` : "";
  return `traffic moves to ${latestReady(service)?.name ?? ""}${rest}`;
}
