import type { LogIdentity } from '../cursor.ts';
import type { ChangeName } from '../event.ts';
import type { Print, PrintArray } from '../fingerprint.ts';
import type { Offset } from '../offset.ts';
import { problem } from '../problems.ts';

/** A change as stored: what happened to which row, without text. */
export type Change =
  | { readonly kind: 'updated'; readonly rowId: number; readonly changes: readonly ChangeName[] }
  | { readonly kind: 'removed'; readonly rowId: number; readonly guid: string; readonly conversationId: string }
  /** A range of rows in which too many messages changed to list each one. */
  | { readonly kind: 'many'; readonly firstRowId: number; readonly lastRowId: number; readonly count: number };

export type LoggedChange = Change & {
  /** Ascending and never reused, even after the log is restarted. */
  readonly seq: number;
};

/** The stored changes, in the order in which they were detected. */
export interface ChangeLog {
  /**
   * Returns a number that increases at the first start, when detection is switched on or off, when chat.db is
   * replaced, and when a backup of state.db is restored.
   */
  generation(): number;
  /** Returns the `seq` of the newest change ever logged, even if it was deleted since; 0 before the first change. */
  newest(): number;
  /** Returns the highest `seq` that has been deleted; 0 if none has. All later changes are kept. */
  floor(): number;
  /** Returns at most `limit` changes whose `seq` is above `after` and at most `upTo`, in order. */
  changes(after: number, upTo: number, limit: number): readonly LoggedChange[];
}

/** The stored state of change detection. Postern resumes from it after a restart. */
export interface DetectionState {
  readonly isOn: boolean;
  /** Unix milliseconds at which a client last asked for changes. */
  readonly askedAtMs: number;
  /** When the last comparison of all rows (a sweep) was completed, Unix milliseconds; null before the first. */
  readonly sweptAtMs: number | null;
}

/** Number of rows whose prints are stored together. */
export const BLOCK_ROWS = 1024;

/** The change log with its prints. Every method that writes is one transaction. */
export interface ChangeStore extends ChangeLog {
  state(): DetectionState;
  /** Restarts the log: empty, with a new generation, and with these prints as the baseline. */
  begin(nowMs: number, prints: ReadonlyMap<number, Print>): void;
  /** Ends detection and deletes the log and the prints. */
  end(): void;
  noteAsked(nowMs: number): void;
  noteSwept(nowMs: number): void;
  /**
   * Returns the prints of a block; the print of a row is at index `rowId % BLOCK_ROWS`. Undefined if the block has no
   * prints.
   */
  prints(block: number): PrintArray | undefined;
  /** Returns the number of the first block with prints, from `block` on; undefined if there is none. */
  nextBlock(block: number): number | undefined;
  /** Stores changes, and the new prints of the changed rows, so that no change is detected twice. */
  record(changes: readonly Change[], prints: ReadonlyMap<number, Print>, nowMs: number): void;
}

/** The prints of some rows, all read at the same commit of chat.db. */
export interface PrintsRead {
  /** Identity of the database that was read: chat.db may have been replaced since the cursor was stored. */
  readonly identity: LogIdentity;
  /** The prints that were read. Key: the row id. If a row has no entry, the row does not exist in chat.db. */
  readonly prints: ReadonlyMap<number, Print>;
}

/**
 * Reads prints from chat.db. Methods with a parameter `at` also return the facts by which `isReplaced` recognises a
 * replaced chat.db. Every method throws `chat_db_unavailable` while chat.db is unreadable.
 */
export interface PrintReader {
  /** Reports whether a row is in a damaged part of chat.db. Such a row has no print, but is not known to be deleted. */
  isUnreadable?(rowId: number): boolean;
  /** Reads the prints of the newest `count` rows up to row id `upTo`. `from` is the lowest row id of these rows. */
  newest(at: Offset, upTo: number, count: number): PrintsRead & { readonly from: number };
  /**
   * Like `newest`, but first compares chat.db with the prints in `known`, and reads only the ranges in which something
   * differs. A deleted row counts as a difference. If the row ids have too many gaps for this comparison, reads the
   * whole range.
   */
  differing(at: Offset, upTo: number, count: number, known: KnownPrints): DifferingPrints;
  /** Reads the prints of these rows. */
  rows(at: Offset, rowIds: readonly number[]): PrintsRead;
  /**
   * Reads the prints of all rows from `from` to `to`. `next` is the first row id after `to`; undefined if there is
   * none.
   */
  range(at: Offset, from: number, to: number): PrintsRead & { readonly next: number | undefined };
  /**
   * Returns several sets of row ids that chat.db can list cheaply, such as the unread messages. A row that has joined
   * or left a set since the previous call has changed. The size of a set is limited, and an unchanged set is the same
   * array as in the previous call.
   */
  watched(): readonly (readonly number[])[];
  /** Returns a number that changes with every deleted row; always 0 if chat.db does not count deletions. */
  deletions(): number;
  /**
   * Returns the guid and conversation of each row from `from` to `to`. Both values are read before a row is removed,
   * because the event that reports the removal needs them.
   */
  origins(from: number, to: number): readonly RowOrigin[];
}

export interface DifferingPrints extends PrintsRead {
  /** Id of the lowest row that was compared with its known print. */
  readonly from: number;
  readonly ranges: readonly RowRange[];
}

export interface KnownPrints {
  /** Returns the stored print of a row; `NO_PRINT` if none is stored. */
  of(rowId: number): Print;
}

/** The first and the last row id. */
export type RowRange = readonly [first: number, last: number];

export interface RowOrigin {
  readonly rowId: number;
  readonly guid: string;
  readonly conversationId: string;
}

/** Reads prints like `PrintReader`, but in another thread. For ranges that take long to read. */
export interface BackgroundPrintReader {
  range(at: Offset, from: number, to: number): Promise<ReturnType<PrintReader['range']>>;
  origins(from: number, to: number): Promise<readonly RowOrigin[]>;
}

/** Starts change detection when a client asks for changes. */
export interface ChangeControl {
  /**
   * Records that a client asks for changes, and starts detection if it is off. Throws `changes_disabled` if changes are
   * not detected here.
   */
  noteAsked(): void;
}

/** Finds changes of published rows. */
export interface ChangeDetector extends ChangeControl {
  /** Called before publishing begins. */
  start(): void;
  /** Returns the prints of the newest rows up to `at`, to be stored as the baseline. Key: the row id. */
  printsUpTo(at: Offset): ReadonlyMap<number, Print>;
}

/** The detector that a feature provides. Without one, only new rows are events. */
export class Detecting implements ChangeDetector {
  #detector: ChangeDetector | undefined;
  /** True if some part of this service wants changes all the time. */
  isAlwaysWanted = false;

  doneBy(detector: ChangeDetector): void {
    this.#detector = detector;
  }

  get isPossible(): boolean {
    return this.#detector !== undefined;
  }

  start(): void {
    this.#detector?.start();
  }

  noteAsked(): void {
    if (this.#detector === undefined) throw problem('changes_disabled');
    this.#detector.noteAsked();
  }

  printsUpTo(at: Offset): ReadonlyMap<number, Print> {
    return this.#detector?.printsUpTo(at) ?? new Map();
  }
}
