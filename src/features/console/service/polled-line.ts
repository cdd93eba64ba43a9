import { offsetIn, pageOf, statusOf } from './api.ts';
import { countOwn, hasSpare } from './budget.ts';
import type { LineParts } from './line.ts';
import type { LiveEvent } from './live.ts';
import { ALL_PARTS } from './service.ts';

/** How long the service may hold back an answer until there is an event. */
const WAIT_S = 25;
/** Between an answer and the next request: events that come together should share a request. */
const PAUSE_MS = 1000;
/** While few requests are left, or the page has made many by itself. */
const SPARING_MS = 10_000;
/** While nobody sees the page. A browser opens few connections at once, so a hidden page must not hold one. */
const HIDDEN_MS = 30_000;
/** The wait after the first failure. It doubles with each until it is `RECONNECT_MAX_MS`. */
const RECONNECT_MS = 2000;
const RECONNECT_MAX_MS = 30_000;

/** Asks for events again and again, where no WebSocket leads. Notifies and resumes as `Line` does. */
export class PolledLine {
  #after: string | number;
  readonly #parts: LineParts;
  readonly #ending = new AbortController();

  constructor(parts: LineParts) {
    this.#parts = parts;
    this.#after = parts.position.after;
  }

  open(): void {
    void this.#run();
  }

  close(): void {
    this.#ending.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    // The first answer comes at once, and says that the service can be reached.
    let wait = 0;
    let isOpen = false;
    let failures = 0;
    while (!signal.aborted) {
      countOwn();
      const answer = await pageOf<LiveEvent>(this.#path(wait), { signal, isKept: true }).catch((error: unknown) => ({
        error,
      }));
      if (signal.aborted) return;
      if ('error' in answer) {
        const status = statusOf(answer.error) ?? 0;
        if ([401, 404, 410].includes(status)) return this.#parts.notify(status === 401 ? 'refused' : 'expired');
        isOpen = false;
        const waitMs = document.hidden ? HIDDEN_MS : Math.min(RECONNECT_MS * 2 ** failures, RECONNECT_MAX_MS);
        failures += 1;
        this.#parts.notify('closed');
        await pause(waitMs, signal);
        wait = 0;
        continue;
      }
      if (!isOpen) this.#parts.notify('open');
      isOpen = true;
      failures = 0;
      this.#after = offsetIn(answer.next ?? '') ?? this.#after;
      for (const event of answer.items) this.#parts.take(event);
      await pause(document.hidden ? HIDDEN_MS : hasSpare() ? PAUSE_MS : SPARING_MS, signal);
      wait = document.hidden ? 0 : WAIT_S;
    }
  }

  #path(wait: number): string {
    const query = new URLSearchParams({ after: String(this.#after), include: ALL_PARTS });
    if (this.#parts.position.hasChanges) query.set('changes', 'true');
    if (wait > 0) query.set('wait', String(wait));
    return `events?${query}`;
  }
}

/** Resolves after the time, or as soon as somebody sees the page again or the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    document.addEventListener('visibilitychange', done);
    signal.addEventListener('abort', done);
  });
}
