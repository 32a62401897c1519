/** Load of the last minutes per revision, in columns, bounded in length and in revisions. */
import type { RevisionKey } from "../common/contracts/routing.ts";
import type { RevisionView, Series } from "./view.ts";

/** Ten minutes at one sample per second. */
export const HISTORY_ROWS = 600;

type Row = Readonly<Record<keyof Series, number>>;

export interface HistoryLog {
  add(at: number, revisions: readonly RevisionView[]): void;
  read(): Record<RevisionKey, Series>;
}

export function createHistory(rows: number = HISTORY_ROWS): HistoryLog {
  const logs = new Map<RevisionKey, Row[]>();

  return {
    add: (at, revisions) => {
      const present = new Set(revisions.map(({ key }) => key));
      for (const key of logs.keys()) if (!present.has(key)) logs.delete(key);
      for (const revision of revisions) {
        const row = rowOf(at, revision);
        if (row === undefined) continue;
        const log = logs.get(revision.key) ?? [];
        log.push(row);
        if (log.length > rows) log.shift();
        logs.set(revision.key, log);
      }
    },
    read: () => Object.fromEntries([...logs].map(([key, log]) => [key, columns(log)])),
  };
}

/** Nothing is recorded while the store cannot be read: a gap is the truth, zero would not be. */
function rowOf(at: number, revision: RevisionView): Row | undefined {
  const { load, desiredScale } = revision;
  if (load === null) return undefined;
  const { ready, starting, ...others } = load.targetsByState;
  const unready = Object.values(others).reduce((sum, count) => sum + count, 0);
  return {
    at,
    running: load.running,
    waiting: load.waiting,
    ready,
    starting,
    unready,
    desired: desiredScale,
  };
}

function columns(log: readonly Row[]): Series {
  const column = (name: keyof Series): number[] => log.map((row) => row[name]);
  return {
    at: column("at"),
    running: column("running"),
    waiting: column("waiting"),
    ready: column("ready"),
    starting: column("starting"),
    unready: column("unready"),
    desired: column("desired"),
  };
}
