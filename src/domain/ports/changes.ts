import type { LogIdentity } from '../cursor.ts';
import type { ChangeName } from '../event.ts';
import type { Print, PrintArray } from '../fingerprint.ts';
import type { Offset } from '../offset.ts';

/** One change as it is stored: what happened to which row, and no text of it. */
export type Change =
  | { readonly kind: 'updated'; readonly rowId: number; readonly changes: readonly ChangeName[] }
  | { readonly kind: 'removed'; readonly rowId: number; readonly guid: string; readonly conversationId: string }
  /** More changes at once than are listed (decision I3). */
  | { readonly kind: 'many'; readonly firstRowId: number; readonly lastRowId: number; readonly count: number };

export type LoggedChange = Change & {
  /** Given in order, never twice, also when the log was begun again. */
  readonly seq: number;
};

/** The stored changes, in order. */
export interface ChangeLog {
  /** Counts the times the log was begun again: first start, off and on again, chat.db replaced. */
  generation(): number;
  /** The number of the newest change there ever was, 0 before the first. */
  newest(): number;
  /** The changes after this number are kept; those up to it are forgotten. */
  floor(): number;
  /** At most `limit` changes after `after` and up to `upTo`. */
  changes(after: number, upTo: number, limit: number): readonly LoggedChange[];
}

/** Whether changes are detected, as it is kept over restarts. */
export interface DetectionState {
  readonly isOn: boolean;
  /** Unix milliseconds of the last time that somebody was known to ask. */
  readonly askedAtMs: number;
  /** Unix milliseconds when every row had last been looked at, null before the first time. */
  readonly sweptAtMs: number | null;
}

/** Rows whose prints are kept together. */
export const BLOCK_ROWS = 1024;

/** The change log with the prints that it goes with. Every writing method is one transaction. */
export interface ChangeStore extends ChangeLog {
  state(): DetectionState;
  /** Begins with an empty log, these prints and another generation. */
  begin(nowMs: number, prints: ReadonlyMap<number, Print>): void;
  /** Ends; log and prints are given up. */
  end(): void;
  noteAsked(nowMs: number): void;
  noteSwept(nowMs: number): void;
  /** The prints of a block, by `rowId % BLOCK_ROWS`; undefined when it has none. */
  prints(block: number): PrintArray | undefined;
  /** The first block from `block` on that has prints. */
  nextBlock(block: number): number | undefined;
  /** Stores changes together with the prints that show them. */
  record(changes: readonly Change[], prints: ReadonlyMap<number, Print>, nowMs: number): void;
}

/** What chat.db holds of some rows, at one commit. */
export interface PrintsRead {
  /** Of the database that was read: it may have been replaced since the cursor was stored. */
  readonly identity: LogIdentity;
  /** By row id; a row without a number is not there. */
  readonly prints: ReadonlyMap<number, Print>;
}

/** Reads prints from chat.db; `at` is the cursor that the identity is asked for. Throws `chat_db_unavailable`. */
export interface PrintReader {
  /** The newest `count` rows up to `upTo`, and the lowest row id that this covers. */
  newest(at: Offset, upTo: number, count: number): PrintsRead & { readonly from: number };
  /** The same for those ranges alone in which a row's print is another than the known one, or a row is gone. */
  differing(at: Offset, upTo: number, count: number, known: KnownPrints): DifferingPrints;
  /** These rows. */
  rows(at: Offset, rowIds: readonly number[]): PrintsRead;
  /** Every row of the range, and the first row behind it. */
  range(at: Offset, from: number, to: number): PrintsRead & { readonly next: number | undefined };
  /**
   * Rows in the sets that chat.db has an index of: a row that leaves or joins one has changed. Bounded; the same array
   * as before while a set is as it was.
   */
  watched(): readonly (readonly number[])[];
  /** Moves with every row that is deleted, where the database counts them. */
  deletions(): number;
  /** guid and conversation of the rows of a range, to be told when they are gone. */
  origins(from: number, to: number): readonly RowOrigin[];
}

export interface DifferingPrints extends PrintsRead {
  /** The lowest row id that was compared. */
  readonly from: number;
  readonly ranges: readonly RowRange[];
}

export interface KnownPrints {
  /** `NO_PRINT` of a row that is not known. */
  of(rowId: number): Print;
}

/** The first and the last row id. */
export type RowRange = readonly [first: number, last: number];

export interface RowOrigin {
  readonly rowId: number;
  readonly guid: string;
  readonly conversationId: string;
}

/** The same where it may take longer: in the background. */
export interface BackgroundPrintReader {
  range(at: Offset, from: number, to: number): Promise<ReturnType<PrintReader['range']>>;
  origins(from: number, to: number): Promise<readonly RowOrigin[]>;
}

/** What status and metrics show of the detection of changes. */
export interface ChangeStatus {
  /** `starting`: changes of old rows are not seen yet, because not every row has been looked at once. */
  readonly state: 'off' | 'starting' | 'on';
  /** Changes kept for readers that resume. */
  readonly logged: number;
  /** When every row had last been looked at, Unix milliseconds; null before the first time. */
  readonly sweptAtMs: number | null;
}

/** Who asks for changes begins their detection (decision I2). */
export interface ChangeControl {
  /** Throws 404 `changes_disabled` where the configuration has them off. */
  noteAsked(): void;
}
