import type { Reaction } from '../model/reaction.ts';

const TARGET = /^(?:p:(-?\d{1,9})\/|(bp:))/;

/**
 * Returns what a stored `associated_message_guid` refers to (decision AB2). It is the guid of a message after `p:N/`
 * for the part N, `bp:` for the balloon of a link or an app, or nothing. `p:-1/` is the message as a whole.
 */
export function targetOf(stored: string): Pick<Reaction, 'message_guid' | 'part' | 'balloon'> {
  const [prefix = '', part, balloon] = TARGET.exec(stored) ?? [];
  return {
    message_guid: stored.slice(prefix.length),
    ...(part !== undefined && Number(part) >= 0 && { part: Number(part) }),
    ...(balloon !== undefined && { balloon: true }),
  };
}

/** Number of values that `reactionTargets` returns. */
export const TARGETS_AT_ONCE = 24;

/**
 * Returns the values of `associated_message_guid` that refer to a message: its guid, its balloon, the message as a
 * whole, and its first parts. With `from`, returns those of the parts from that one on.
 */
export function reactionTargets(guid: string, from?: number): readonly string[] {
  const first = from ?? -1;
  const others = from === undefined ? [guid, `bp:${guid}`] : [];
  return [...others, ...Array.from({ length: TARGETS_AT_ONCE - others.length }, (_, at) => `p:${first + at}/${guid}`)];
}
