import { CHANGE_NAMES, type ChangeName } from './event.ts';

/**
 * A print: the state of a row of chat.db as one whole number below 2^53. The number's fields, from the highest bit:
 * deletion, transcripts, attachments, seven flags, later additions by Messages, and a checksum of the content. The
 * difference between two prints of a row shows what happened to the row (decision U1).
 */
export type Print = number;

/** Prints of consecutive rows, in the stored form. */
export type PrintArray = Float64Array;

/**
 * Version of the way in which prints are computed. Stored prints of another version are replaced without reporting
 * changes (decision U1).
 */
export const PRINTS_VERSION = 1;

/** Stands for a row that has not been examined, or is gone. */
export const NO_PRINT: Print = 0;

export const CONTENT_BITS = 16;
export const ADDED_BITS = 12;
const KIND_AT = CONTENT_BITS + ADDED_BITS;
const KIND_BITS = 2;
const FLAGS_AT = KIND_AT + KIND_BITS;
const ATTACHMENTS_AT = FLAGS_AT + 7;
const ATTACHMENT_BITS = 6;
const TRANSCRIPTS_AT = ATTACHMENTS_AT + ATTACHMENT_BITS;
export const TRANSCRIPT_BITS = 9;

/** The print of every reaction: a reaction never causes an update or a removal. */
export const REACTION_PRINT: Print = 2 ** ATTACHMENTS_AT - 1;

export const FLAGS = {
  own: 2 ** FLAGS_AT,
  sent: 2 ** (FLAGS_AT + 1),
  delivered: 2 ** (FLAGS_AT + 2),
  read: 2 ** (FLAGS_AT + 3),
  failed: 2 ** (FLAGS_AT + 4),
  edited: 2 ** (FLAGS_AT + 5),
  unsent: 2 ** (FLAGS_AT + 6),
  deleted: 2 ** (TRANSCRIPTS_AT + TRANSCRIPT_BITS),
} as const;

/** Value of the lowest bit of the additions' checksum. Additions are what Messages added to the row later. */
export const ADDED = 2 ** CONTENT_BITS;

/**
 * The kinds of later additions, stored in the bits above the additions' checksum. Unsending a part also changes the
 * checksum, but has no kind.
 */
export const ADDED_KINDS = { preview: 2 ** KIND_AT, transcript: 2 * 2 ** KIND_AT, poll: 3 * 2 ** KIND_AT } as const;
/**
 * The change to report if the checksum of a row's later additions has changed. Index: the number of the row's kind in
 * `ADDED_KINDS`; 0 for a row without a kind, whose checksum changes only if a part is unsent.
 */
const KIND_NAMES = ['unsent', 'preview', 'transcript', 'poll'] as const;

/** The parts of a print that the row's own columns do not determine. */
export interface Additions {
  /**
   * A sum over the attachments. The print keeps only the lowest 6 bits of the sum. A change of one attachment changes
   * the sum by less than 64, so these bits always differ.
   */
  readonly attachments: number;
  /**
   * A number that changes with the attachments' transcripts; 0 without transcripts. The print keeps the lowest 9 bits.
   */
  readonly transcripts?: number;
  readonly isDeleted: boolean;
}

/**
 * Returns the number that attachments, transcripts and deletion add to a row's print. The rest is the sum of the fields
 * that the row's own columns determine: the flags, later additions and the content checksum.
 */
export function additionOf({ attachments, transcripts = 0, isDeleted }: Additions): number {
  return (
    (attachments % 2 ** ATTACHMENT_BITS) * 2 ** ATTACHMENTS_AT +
    (transcripts % 2 ** TRANSCRIPT_BITS) * 2 ** TRANSCRIPTS_AT +
    (isDeleted ? FLAGS.deleted : 0)
  );
}

/** Returns what happened to a row between two prints, in the order of `CHANGE_NAMES`; empty for a reaction. */
export function changesBetween(old: Print, now: Print): readonly ChangeName[] {
  if (old === now || old === REACTION_PRINT || now === REACTION_PRINT) return [];
  const names = new Set<ChangeName>();
  for (const [name, bit] of Object.entries(FLAGS)) {
    const is = hasFlag(now, bit);
    if (hasFlag(old, bit) === is) continue;
    if (name === 'deleted') names.add(is ? 'deleted' : 'restored');
    // A row that turned from incoming to outgoing, or back, has another sender now (decision U1).
    else if (name === 'own') names.add('sent');
    // A cleared flag is named too: the message is no longer read, or no longer failed.
    else names.add(name as Exclude<keyof typeof FLAGS, 'own' | 'deleted'>);
  }
  const differs = (from: number, bits: number): boolean => part(old, from, bits) !== part(now, from, bits);
  if (differs(ATTACHMENTS_AT, ATTACHMENT_BITS)) names.add('attachment');
  if (differs(TRANSCRIPTS_AT, TRANSCRIPT_BITS)) names.add('transcript');
  const kind = KIND_NAMES[part(now, KIND_AT, KIND_BITS) || part(old, KIND_AT, KIND_BITS)];
  if (kind !== undefined && differs(CONTENT_BITS, ADDED_BITS + KIND_BITS)) names.add(kind);
  // Undo Send also sets the edit date and removes the text. A message that was unsent must not count as edited too.
  if (names.has('unsent')) names.delete('edited');
  else if (differs(0, CONTENT_BITS)) names.add('edited');
  return CHANGE_NAMES.filter((name) => names.has(name));
}

function hasFlag(print: Print, bit: number): boolean {
  return Math.floor(print / bit) % 2 === 1;
}

function part(print: Print, from: number, bits: number): number {
  return Math.floor(print / 2 ** from) % 2 ** bits;
}
