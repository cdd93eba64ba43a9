import { Chance } from './chatter.ts';

/** Bounds in milliseconds; `to` is exclusive. */
type Range = readonly [from: number, to: number];

/** Delay from the row of an outgoing message to its chat join. */
export const JOIN_AFTER_MS: Range = [5, 120];
/**
 * Delay from a row's chat join until the row is marked as outgoing. Other programs wait 250 to 500 ms for the mark
 * (steipete/imsg, pull request 87 and docs/watch.md).
 */
export const MARK_AFTER_MS: Range = [5, 300];
/**
 * Delay from a row to its chat join after the Mac woke. Other programs read such rows before their chat join, and
 * answered the wrong person (steipete/imsg issue 118, openclaw issue 84470, claude-plugins issue 1267).
 */
export const LATE_JOIN_AFTER_MS: Range = [5, 300];

/** Chooses delays within the ranges of the real Messages, as far as these are known. Equal seeds give equal delays. */
export class Delays {
  readonly #chance: Chance | undefined;
  #turn = 0;

  /** Without a seed, the delays step through each range, and are the same in every run. */
  constructor(seed?: number | null) {
    this.#chance = typeof seed === 'number' ? new Chance(seed) : undefined;
  }

  /** Returns a delay in this range, in whole milliseconds. */
  in([from, to]: Range): number {
    this.#turn += 1;
    return from + (this.#chance?.below(to - from) ?? (this.#turn * 37) % (to - from));
  }
}
