import { Chance } from './chatter.ts';

/** From and to, in milliseconds. */
type Range = readonly [from: number, to: number];

/** How long after its row the chat join of an own message appears. */
export const JOIN_AFTER_MS: Range = [5, 120];
/**
 * How long after its join an own row is marked as one: peers wait 250 to 500 ms for it (steipete/imsg, pull request 87 and
 * docs/watch.md).
 */
export const MARK_AFTER_MS: Range = [5, 300];
/**
 * How long the conversation of a row may be missing after the Mac woke: watchers read rows with the chat 0 and answered the
 * wrong person (steipete/imsg issue 118, openclaw issue 84470, claude-plugins issue 1267).
 */
export const LATE_JOIN_AFTER_MS: Range = [5, 300];

/** Delays of a real Messages, as far as they are known. They differ from turn to turn, and are the same for a seed. */
export class Delays {
  readonly #chance: Chance | undefined;
  #turn = 0;

  /** Without a seed they step through each range. */
  constructor(seed?: number | null) {
    this.#chance = typeof seed === 'number' ? new Chance(seed) : undefined;
  }

  in([from, to]: Range): number {
    this.#turn += 1;
    return from + (this.#chance?.below(to - from) ?? (this.#turn * 37) % (to - from));
  }
}
