/** The beginning of every canary's text. Queries of chat.db recognise canaries by this beginning. */
export const CANARY_START = 'Postern canary ';
const REST = ': a test that messages still reach this Mac';
/** Length of the number in a canary's text, in hexadecimal digits. Each canary has a different number. */
const NUMBER_LENGTH = 8;
/** The length of every canary, in characters and in bytes: the text is ASCII. */
export const CANARY_LENGTH = CANARY_START.length + NUMBER_LENGTH + REST.length;

/** Returns the text of the canary with this number: eight hexadecimal digits. */
export function canaryText(number: string): string {
  return `${CANARY_START}${number}${REST}`;
}

/**
 * `address_unproved`: no canary is sent until the owner proves that the conversation is theirs. `unproved`: no canary
 * has ever arrived on this Mac, or the last one was sent and has no copy, which alone proves nothing. `arriving`: the
 * last canary arrived, or may still arrive. `push_dead`: three canaries in a row did not arrive within ten minutes, and
 * no other message came in since the first of them. `not_sent`: the last
 * canary could not be sent. `unknown`: it is unknown whether the last canary was sent.
 */
export const CANARY_STATES = ['address_unproved', 'unproved', 'arriving', 'push_dead', 'not_sent', 'unknown'] as const;
export type CanaryState = (typeof CANARY_STATES)[number];

/**
 * The state of the canaries, the messages that Postern sends to its owner to see that messages still arrive (decision
 * AA4).
 */
export interface CanaryReport {
  readonly state: CanaryState;
  /** When the last canary was sent; null before the first. */
  readonly sent_at: string | null;
  /** When a canary last arrived; null before the first. */
  readonly arrived_at: string | null;
  /**
   * Milliseconds from the sending of the newest canary that arrived until its arrival; null if none has ever arrived,
   * or if Postern was restarted in between.
   */
  readonly delay_ms: number | null;
  /**
   * Since when canaries have been lost: the time at which the first of them was sent. Null while canaries arrive, and
   * as long as none has ever arrived.
   */
  readonly push_dead_since: string | null;
  /** Code of the problem that made the last send fail; null if that send did not fail. */
  readonly problem: string | null;
}
