import type { LogIdentity } from '../cursor.ts';
import type { ChangeName } from '../event.ts';
import type { Print, PrintArray } from '../fingerprint.ts';
import type { Offset } from '../offset.ts';

/** A change as stored: what happened to which row, without text. */
export type Change =
  | { readonly kind: 'updated'; readonly rowId: number; readonly changes: readonly ChangeName[] }
  | { readonly kind: 'removed'; readonly rowId: number; readonly guid: string; readonly conversationId: string }
  /** A range of rows in which too many messages changed to list each one (decision I3). */
  | { readonly kind: 'many'; readonly firstRowId: number; readonly lastRowId: number; readonly count: number };

export type LoggedChange = Change & {
  /** Ascending and never reused, even after the log is restarted. */
  readonly seq: number;
};

/** The stored changes, in order. */
export interface ChangeLog {
  /**
   * Counts the restarts of the log: at first start, when detection is switched off and on again, and when chat.db is
   * replaced.
   */
  generation(): number;
  /** The number of the newest change ever logged; 0 before the first. */
  newest(): number;
  /** Changes up to this number have been deleted. Later changes are kept. */
  floor(): number;
  /** Returns at most `limit` changes after `after` and up to `upTo`. */
  changes(after: number, upTo: number, limit: number): readonly LoggedChange[];
}

/** The switch of change detection. Survives restarts. */
export interface DetectionState {
  readonly isOn: boolean;
  /** Unix milliseconds at which a client last asked for changes. */
  readonly askedAtMs: number;
  /** Unix milliseconds of the last complete sweep; null before the first. */
  readonly sweptAtMs: number | null;
}

/** Number of rows whose prints are stored together. */
export const BLOCK_ROWS = 1024;

/** The change log with its prints. Every method that writes is one transaction. */
export interface ChangeStore extends ChangeLog {
  state(): DetectionState;
  /** Starts with an empty log, these prints and a new generation. */
  begin(nowMs: number, prints: ReadonlyMap<number, Print>): void;
  /** Ends detection and deletes the log and the prints. */
  end(): void;
  noteAsked(nowMs: number): void;
  noteSwept(nowMs: number): void;
  /** The prints of a block, by `rowId % BLOCK_ROWS`; undefined if there are none. */
  prints(block: number): PrintArray | undefined;
  /** Returns the first block that has prints, at or after `block`. */
  nextBlock(block: number): number | undefined;
  /** Stores changes together with the prints that revealed them. */
  record(changes: readonly Change[], prints: ReadonlyMap<number, Print>, nowMs: number): void;
}

/** The prints of some rows, all read at the same commit of chat.db. */
export interface PrintsRead {
  /** Identity of the database that was read: chat.db may have been replaced since the cursor was stored. */
  readonly identity: LogIdentity;
  /** Maps row ids to prints. A row without a print does not exist. */
  readonly prints: ReadonlyMap<number, Print>;
}

/**
 * Reads prints from chat.db. Each result contains the database's identity at the cursor `at`. Throws
 * `chat_db_unavailable`.
 */
export interface PrintReader {
  /** Reads the prints of the newest `count` rows up to `upTo`. `from` is the lowest row id among them. */
  newest(at: Offset, upTo: number, count: number): PrintsRead & { readonly from: number };
  /**
   * Like `newest`, but returns only the ranges with a row that is gone or whose print differs from the known one. If
   * the row ids have too many gaps, returns the whole range.
   */
  differing(at: Offset, upTo: number, count: number, known: KnownPrints): DifferingPrints;
  /** Reads the prints of these rows. */
  rows(at: Offset, rowIds: readonly number[]): PrintsRead;
  /** Reads the prints of all rows of the range. `next` is the first row after it. */
  range(at: Offset, from: number, to: number): PrintsRead & { readonly next: number | undefined };
  /**
   * Returns the row ids in each set that chat.db has an index for; their number is bounded. A row that joins or leaves
   * a set has changed. A set without changes is returned as the array of the previous call.
   */
  watched(): readonly (readonly number[])[];
  /** A number that changes with every deleted row, if the database counts deletions. */
  deletions(): number;
  /** Returns guid and conversation of the rows in a range, which the report of their removal needs. */
  origins(from: number, to: number): readonly RowOrigin[];
}

export interface DifferingPrints extends PrintsRead {
  /** The lowest row id that was compared. */
  readonly from: number;
  readonly ranges: readonly RowRange[];
}

export interface KnownPrints {
  /** The known print of a row; `NO_PRINT` if unknown. */
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
  /** `starting`: the first sweep is incomplete, so changes of old rows are not seen yet. */
  readonly state: 'off' | 'starting' | 'on';
  /** Changes kept for readers that resume. */
  readonly logged: number;
  /** Unix milliseconds of the last complete sweep; null before the first. */
  readonly sweptAtMs: number | null;
}

/** Starts change detection when a client asks for changes (decision I2). */
export interface ChangeControl {
  /** Throws `changes_disabled` if the configuration disables changes. */
  noteAsked(): void;
}
