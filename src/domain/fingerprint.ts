import { CHANGE_NAMES, type ChangeName } from './event.ts';

/**
 * One number of 32 bits for a row of chat.db: seven flags, then six bits of its attachments, then 19 bits mixed from its
 * content. Two that differ say what happened to the row (decision I4).
 */
export type Print = number;

/** The row has not been looked at, or is gone. */
export const NO_PRINT: Print = 0;
/** Of every reaction: it never gives an update or a removal. */
export const REACTION_PRINT: Print = 0xffff_ffff;

export const CONTENT_BITS = 19;
const ATTACHMENT_BITS = 6;

/** What each flag stands for, and its value. */
export const FLAGS = {
  read: flag(6),
  delivered: flag(5),
  sent: flag(4),
  failed: flag(3),
  edited: flag(2),
  unsent: flag(1),
  deleted: flag(0),
} as const;

function flag(at: number): number {
  return 2 ** (CONTENT_BITS + ATTACHMENT_BITS + at);
}

/** `attachments` is any number that another state of the attachments changes, best by little. */
export function printOf(flagsAndContent: number, attachments: number, isDeleted: boolean): Print {
  return flagsAndContent + additionOf(attachments, isDeleted) || 1;
}

/** What attachments and a deletion add to the print of a row. */
export function additionOf(attachments: number, isDeleted: boolean): number {
  return (attachments % 2 ** ATTACHMENT_BITS) * 2 ** CONTENT_BITS + (isDeleted ? FLAGS.deleted : 0);
}

/** What happened to a row between two prints, in the order of `CHANGE_NAMES`; nothing to a reaction. */
export function changesBetween(old: Print, now: Print): readonly ChangeName[] {
  if (old === now || old === REACTION_PRINT || now === REACTION_PRINT) return [];
  const names = new Set<ChangeName>();
  for (const [name, bit] of Object.entries(FLAGS)) {
    const was = hasFlag(old, bit);
    const is = hasFlag(now, bit);
    if (was === is) continue;
    if (name === 'deleted') names.add(is ? 'deleted' : 'restored');
    // A flag that was taken back is named too: the message is no longer read, or no longer failed.
    else names.add(name as keyof typeof FLAGS);
  }
  if (part(old, CONTENT_BITS, ATTACHMENT_BITS) !== part(now, CONTENT_BITS, ATTACHMENT_BITS)) names.add('attachment');
  const isOtherContent = part(old, 0, CONTENT_BITS) !== part(now, 0, CONTENT_BITS);
  if (isOtherContent && !names.has('unsent')) names.add('edited');
  return CHANGE_NAMES.filter((name) => names.has(name));
}

function hasFlag(print: Print, bit: number): boolean {
  return Math.floor(print / bit) % 2 === 1;
}

function part(print: Print, from: number, bits: number): number {
  return Math.floor(print / 2 ** from) % 2 ** bits;
}
