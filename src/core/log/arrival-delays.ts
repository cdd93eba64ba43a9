import type { ArrivalDelay } from '../model/arrival-delay.ts';
import { LATE_S } from '../model/event.ts';

/** Number of incoming iMessages whose delays are remembered. */
const KEPT = 20;
const WARN_ABOVE_S = 120;

/** Remembers how long the newest incoming iMessages took to reach this Mac, while it was awake, since the start. */
export class ArrivalDelays {
  readonly #delaysMs: number[] = [];

  /**
   * Adds a delay. Ignores one that makes a message late: iCloud adds such old messages again, and they were not delayed
   * on their way.
   */
  add(delayMs: number): void {
    if (delayMs > LATE_S * 1000) return;
    this.#delaysMs.push(Math.max(0, delayMs));
    if (this.#delaysMs.length > KEPT) this.#delaysMs.shift();
  }

  /** Undefined before the first incoming iMessage. */
  status(): ArrivalDelay | undefined {
    const sorted = this.#delaysMs.toSorted((a, b) => a - b);
    const middle = sorted.slice(Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2) + 1);
    if (middle.length === 0) return undefined;
    const medianMs = middle.reduce((sum, ms) => sum + ms, 0) / middle.length;
    return { median_s: inSeconds(medianMs), max_s: inSeconds(sorted.at(-1) ?? 0), messages: sorted.length };
  }

  warning(): string | undefined {
    const report = this.status();
    if (report === undefined || report.median_s <= WARN_ABOVE_S) return undefined;
    const minutes = Math.round(report.median_s / 60);
    return `iMessages reach this Mac late: half of the last ${report.messages} took ${minutes} min or longer, without sleep. See "When messages arrive late" in the guide, under Installation.`;
  }
}

function inSeconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
