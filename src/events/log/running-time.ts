import type { Clock } from '../../domain/ports/host.ts';
import type { Span } from '../../domain/ports/row-ages.ts';

/** A Mac that sleeps wakes for some seconds now and then: a message may not come in so short a time. */
const SHORTEST_MS = 5 * 60_000;
const MAX_SPANS = 100;

/**
 * How long chat.db was watched, as spans of Unix time: neither the time before the start, nor sleep, nor the time in
 * which chat.db could not be read belongs to them. `clock` stands still during sleep; the present span is measured with
 * its monotonic time, so that a wall clock that is set does not lengthen it.
 */
export class RunningTime {
  readonly #clock: Clock;
  readonly #spans: Span[] = [];
  #sinceMs: number | undefined;

  /** `earlier` are the spans of earlier runs. */
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

  /** Leaves out a sleep of this length that has just ended. */
  noteSleep(ms: number): void {
    if (this.#sinceMs === undefined) return;
    this.#endAt(this.#clock.now() - ms);
    this.begin();
  }

  /** The spans until now, the present one included. */
  get spans(): readonly Span[] {
    const present = this.#present(this.#clock.now());
    return present === undefined ? this.#spans : [...this.#spans, present];
  }

  /** Milliseconds watched between two instants of Unix time. */
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
