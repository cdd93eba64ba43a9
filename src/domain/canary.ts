/** The beginning of every canary, by which lists and events recognise it. */
export const CANARY_START = 'Postern canary ';
const REST = ': a test that messages still reach this Mac';
/** Characters of the number between the two. */
const NUMBER_LENGTH = 8;
/** All canaries are equally long. ASCII alone, so that this is their length in bytes too. */
export const CANARY_LENGTH = CANARY_START.length + NUMBER_LENGTH + REST.length;

/** Returns the text of the canary with this number: eight hexadecimal digits. */
export function canaryText(number: string): string {
  return `${CANARY_START}${number}${REST}`;
}

/**
 * `address_unproved`: nothing is sent before the conversation is proved. `unproved`: no canary has arrived on this Mac
 * yet, so none can be missed. `arriving`: the last one arrived. `push_dead`: the last one was sent and did not arrive
 * within ten minutes. `not_sent`: it could not be sent. `unknown`: nobody knows whether it was sent.
 */
export const CANARY_STATES = ['address_unproved', 'unproved', 'arriving', 'push_dead', 'not_sent', 'unknown'] as const;
export type CanaryState = (typeof CANARY_STATES)[number];

/** The state of the canary (decision AA4). */
export interface CanaryReport {
  readonly state: CanaryState;
  /** When the last one was sent; null before the first. */
  readonly sent_at: string | null;
  /** When one last arrived. */
  readonly arrived_at: string | null;
  /** Milliseconds that it took. */
  readonly delay_ms: number | null;
  /** When the first canary that did not arrive was sent; null while they arrive. */
  readonly push_dead_since: string | null;
  /** Code of the problem with which the last send failed; null if it did not. */
  readonly problem: string | null;
}
