/**
 * One event stream per browser. The visible tab that holds the lock reads it and passes each
 * message on to the others; a hidden tab gives it up. Where streams do not get through, the tab
 * asks again and again instead.
 */

const LOCK = "pilotlight-stream";
const POLL_EVERY_MS = 2_000;
/** Failed attempts in a row after which the stream is given up for polling. */
const STREAM_TRIES = 3;
/** A stream is tried again after this many polls. */
const POLLS_BEFORE_STREAM = 15;

/**
 * @typedef {import("../types.ts").FeedStatus} FeedStatus
 * @typedef {{ kind: "history", data: import("../types.ts").History }
 *   | { kind: "snapshot", data: import("../types.ts").Snapshot }
 *   | { kind: "status", data: FeedStatus }} FeedMessage
 */

/** @param {(message: FeedMessage) => void} receive */
export function startFeed(receive) {
  const channel = new BroadcastChannel(LOCK);
  channel.onmessage = (event) => {
    if (!document.hidden) receive(event.data);
  };
  /** @param {FeedMessage} message */
  const publish = (message) => {
    receive(message);
    channel.postMessage(message);
  };
  /** @type {AbortController | undefined} */
  let visible;
  const onVisibility = () => {
    visible?.abort();
    visible = undefined;
    if (document.hidden) return;
    visible = new AbortController();
    const { signal } = visible;
    // Whoever leads, this tab wants the past minutes now.
    fetchBoth(receive, signal).catch(() => {
      if (!signal.aborted) receive({ kind: "status", data: "offline" });
    });
    void lead(publish, signal);
  };
  document.addEventListener("visibilitychange", onVisibility);
  onVisibility();
}

/**
 * Waits for the lock, then reads for all tabs until this one is hidden.
 * @param {(message: FeedMessage) => void} publish
 * @param {AbortSignal} signal
 */
async function lead(publish, signal) {
  // Locks exist in secure contexts only; a plain address in the network gets a stream per tab.
  if (navigator.locks === undefined) return read(publish, signal);
  try {
    await navigator.locks.request(LOCK, { signal }, () => read(publish, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/**
 * @param {(message: FeedMessage) => void} publish
 * @param {AbortSignal} signal
 */
async function read(publish, signal) {
  while (!signal.aborted) {
    await readStream(publish, signal);
    for (let polls = 0; polls < POLLS_BEFORE_STREAM && !signal.aborted; polls += 1) {
      await poll(publish, signal);
    }
  }
}

/**
 * Ends when the stream failed too often or the signal says so.
 * @param {(message: FeedMessage) => void} publish
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function readStream(publish, signal) {
  return new Promise((resolve) => {
    const source = new EventSource("api/stream");
    let failures = 0;
    const end = () => {
      source.close();
      resolve();
    };
    signal.addEventListener("abort", end, { once: true });
    for (const kind of /** @type {const} */ (["history", "snapshot"])) {
      source.addEventListener(kind, (event) => {
        failures = 0;
        publish({ kind, data: JSON.parse(event.data) });
        publish({ kind: "status", data: "live" });
      });
    }
    source.onerror = () => {
      failures += 1;
      publish({ kind: "status", data: "offline" });
      if (failures >= STREAM_TRIES || source.readyState === EventSource.CLOSED) end();
    };
  });
}

/**
 * @param {(message: FeedMessage) => void} publish
 * @param {AbortSignal} signal
 */
async function poll(publish, signal) {
  try {
    await fetchBoth(publish, signal);
    publish({ kind: "status", data: "polling" });
  } catch {
    if (!signal.aborted) publish({ kind: "status", data: "offline" });
  }
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, POLL_EVERY_MS);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve(undefined)), {
      once: true,
    });
  });
}

/**
 * @param {(message: FeedMessage) => void} receive
 * @param {AbortSignal} signal
 */
async function fetchBoth(receive, signal) {
  const [history, snapshot] = await Promise.all([
    fetchJson("api/history", signal),
    fetchJson("api/snapshot", signal),
  ]);
  receive({ kind: "history", data: history });
  receive({ kind: "snapshot", data: snapshot });
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function fetchJson(path, signal) {
  const response = await fetch(path, { signal });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.json();
}
