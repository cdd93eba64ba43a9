import type { Clock } from '../model/ports/host-ports.ts';
import type { Span } from '../model/ports/row-ages-ports.ts';

/**
 * Minimum length of a recorded period. A sleeping Mac wakes for a few seconds at a time, too briefly for messages to
 * arrive reliably.
 */
const SHORTEST_MS = 5 * 60_000;
const MAX_SPANS = 100;

/**
 * Records the periods of Unix time during which chat.db was watched: those in which the service ran, the Mac was awake
 * and chat.db was readable. The current period is measured with the clock's monotonic time, which stands still during
 * sleep. Setting the wall clock therefore does not lengthen the period.
 */
export class RunningTime {
  readonly #clock: Clock;
  readonly #spans: Span[] = [];
  #sinceMs: number | undefined;

  /** `earlier` holds the periods that earlier processes recorded. */
  constructor(clock: Clock, earlier: readonly Span[]) {
    this.#clock = clock;
    for (const span of earlier) this.#add(span);
  }

  begin(): void {
    this.#sinceMs ??= this.#clock.monotonic();
  }

  end(): void {
    this.#endAt(this.#clock.now());
  }

  /** Excludes a sleep of `ms` milliseconds that has just ended. */
  noteSleep(ms: number): void {
    if (this.#sinceMs === undefined) return;
    this.#endAt(this.#clock.now() - ms);
    this.begin();
  }

  /** The periods during which chat.db was watched, including the current one. */
  get spans(): readonly Span[] {
    const present = this.#present(this.#clock.now());
    return present === undefined ? this.#spans : [...this.#spans, present];
  }

  /** Returns how many milliseconds chat.db was watched between two instants of Unix time. */
  between(fromMs: number, toMs: number): number {
    return this.spans.reduce(
      (sum, span) => sum + Math.max(0, Math.min(span.toMs, toMs) - Math.max(span.fromMs, fromMs)),
      0,
    );
  }

  #endAt(toMs: number): void {
    const span = this.#present(toMs);
    this.#sinceMs = undefined;
    if (span !== undefined) this.#add(span);
  }

  #add(span: Span): void {
    if (lengthOf(span) < SHORTEST_MS) return;
    this.#spans.push(span);
    if (this.#spans.length <= MAX_SPANS) return;
    const shortest = Math.min(...this.#spans.map(lengthOf));
    this.#spans.splice(
      this.#spans.findIndex((one) => lengthOf(one) === shortest),
      1,
    );
  }

  #present(toMs: number): Span | undefined {
    if (this.#sinceMs === undefined) return undefined;
    return { fromMs: toMs - (this.#clock.monotonic() - this.#sinceMs), toMs };
  }
}

function lengthOf({ fromMs, toMs }: Span): number {
  return toMs - fromMs;
}
