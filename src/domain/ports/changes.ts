import type { LogIdentity } from '../cursor.ts';
import type { ChangeName } from '../event.ts';
import type { Print, PrintArray } from '../fingerprint.ts';
import type { Offset } from '../offset.ts';

/** A change as stored: what happened to which row, without text. */
export type Change =
  | { readonly kind: 'updated'; readonly rowId: number; readonly changes: readonly ChangeName[] }
  | { readonly kind: 'removed'; readonly rowId: number; readonly guid: string; readonly conversationId: string }
  /** More changes at once than are listed (decision I3). */
  | { readonly kind: 'many'; readonly firstRowId: number; readonly lastRowId: number; readonly count: number };

export type LoggedChange = Change & {
  /** Ascending and never reused, even after the log was restarted. */
  readonly seq: number;
};

/** The stored changes, in order. */
export interface ChangeLog {
  /** Counts how often the log was restarted: first start, off and on again, chat.db replaced. */
  generation(): number;
  /** The number of the newest change ever; 0 before the first. */
  newest(): number;
  /** Changes after this number are kept; earlier ones are deleted. */
  floor(): number;
  /** At most `limit` changes after `after` and up to `upTo`. */
  changes(after: number, upTo: number, limit: number): readonly LoggedChange[];
}

/** The switch of change detection. Survives restarts. */
export interface DetectionState {
  readonly isOn: boolean;
  /** Unix milliseconds of the last time somebody asked for changes. */
  readonly askedAtMs: number;
  /** Unix milliseconds of the last complete sweep; null before the first. */
  readonly sweptAtMs: number | null;
}

/** Number of rows whose prints are stored together. */
export const BLOCK_ROWS = 1024;

/** The change log together with its prints. Every writing method is one transaction. */
export interface ChangeStore extends ChangeLog {
  state(): DetectionState;
  /** Starts with an empty log, these prints and a new generation. */
  begin(nowMs: number, prints: ReadonlyMap<number, Print>): void;
  /** Ends detection and deletes log and prints. */
  end(): void;
  noteAsked(nowMs: number): void;
  noteSwept(nowMs: number): void;
  /** The prints of a block, by `rowId % BLOCK_ROWS`; undefined if there are none. */
  prints(block: number): PrintArray | undefined;
  /** The first block with prints, starting at `block`. */
  nextBlock(block: number): number | undefined;
  /** Stores changes together with the prints that reveal them. */
  record(changes: readonly Change[], prints: ReadonlyMap<number, Print>, nowMs: number): void;
}

/** Prints of some rows of chat.db at one commit. */
export interface PrintsRead {
  /** Identity of the database that was read: it may have been replaced since the cursor was stored. */
  readonly identity: LogIdentity;
  /** By row id. A row without a print does not exist. */
  readonly prints: ReadonlyMap<number, Print>;
}

/** Reads prints from chat.db. `at` is the cursor whose identity is returned. Throws `chat_db_unavailable`. */
export interface PrintReader {
  /** The newest `count` rows up to `upTo`, and the lowest row id among them. */
  newest(at: Offset, upTo: number, count: number): PrintsRead & { readonly from: number };
  /** Like `newest`, but only for ranges in which a row is gone or its print differs from the known one. */
  differing(at: Offset, upTo: number, count: number, known: KnownPrints): DifferingPrints;
  /** Prints of these rows. */
  rows(at: Offset, rowIds: readonly number[]): PrintsRead;
  /** Every row of the range, and the first row after it. */
  range(at: Offset, from: number, to: number): PrintsRead & { readonly next: number | undefined };
  /**
   * Rows in the sets that chat.db indexes: a row that leaves or joins one has changed. Bounded. Returns the same
   * array for a set that has not changed.
   */
  watched(): readonly (readonly number[])[];
  /** Changes with every deleted row, if the database counts deletions. */
  deletions(): number;
  /** guid and conversation of the rows of a range, needed to report their removal. */
  origins(from: number, to: number): readonly RowOrigin[];
}

export interface DifferingPrints extends PrintsRead {
  /** The lowest row id that was compared. */
  readonly from: number;
  readonly ranges: readonly RowRange[];
}

export interface KnownPrints {
  /** `NO_PRINT` for an unknown row. */
  of(rowId: number): Print;
}

/** The first and the last row id. */
export type RowRange = readonly [first: number, last: number];

export interface RowOrigin {
  readonly rowId: number;
  readonly guid: string;
  readonly conversationId: string;
}

/** A PrintReader for long reads in the background. */
export interface BackgroundPrintReader {
  range(at: Offset, from: number, to: number): Promise<ReturnType<PrintReader['range']>>;
  origins(from: number, to: number): Promise<readonly RowOrigin[]>;
}

/** The status of change detection, for status and metrics. */
export interface ChangeStatus {
  /** `starting`: changes of old rows are not seen yet, because the first sweep is incomplete. */
  readonly state: 'off' | 'starting' | 'on';
  /** Changes kept for readers that resume. */
  readonly logged: number;
  /** Unix milliseconds of the last complete sweep; null before the first. */
  readonly sweptAtMs: number | null;
}

/** Starts change detection when somebody asks for changes (decision I2). */
export interface ChangeControl {
  /** Throws `changes_disabled` if the configuration disables changes. */
  noteAsked(): void;
}
