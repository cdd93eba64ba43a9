import type { DeliveryErrorCounts } from '../core/model/delivery-error.ts';
import type { ListedAccount, ScriptFailure } from '../core/model/messages-account.ts';
import type { SleepGaps } from '../core/runtime/awake-clock.ts';

/**
 * The prefix of a chat guid: a service or `any`, and the style (`-` one person, `+` a group). `other`: anything else.
 */
export const GUID_PREFIXES = [
  'any;-;',
  'any;+;',
  'iMessage;-;',
  'iMessage;+;',
  'SMS;-;',
  'SMS;+;',
  'RCS;-;',
  'RCS;+;',
  'other',
] as const;
export type GuidPrefix = (typeof GUID_PREFIXES)[number];
export type PrefixCounts = Readonly<Partial<Record<GuidPrefix, number>>>;

/** The chats that Messages lists to AppleScript (`live`), compared with those in chat.db. */
export interface LiveChatDiagnostics {
  readonly live: number;
  readonly prefixes: PrefixCounts;
  /** Number of chat ids from Messages that equal a chat guid in chat.db exactly. */
  readonly same_guid: number;
  /**
   * Number of chat ids from Messages whose style and identifier match a chat in chat.db, even if the service differs.
   */
  readonly same_identifier: number;
}

/** A row that appeared while chat.db was watched. Tells which columns have a value, never the values. */
export interface NewRow {
  readonly row_id: number;
  readonly is_from_me: boolean;
  /** Milliseconds from the start of the watch until the row was readable. */
  readonly seen_ms: number;
  /** Milliseconds from `seen_ms` until the row belonged to a chat; null if it did not during the watch. */
  readonly join_delay_ms: number | null;
  /** Columns of the message table in which the row has a value other than NULL, 0 or empty at the end of the watch. */
  readonly columns: readonly string[];
  readonly error: number;
  /** Seconds from the row's date until it was first seen; null for a future date. Older services omit it. */
  readonly age_s?: number | null | undefined;
  /** True if `is_from_me` changed between first sight of the row and the end of the watch. */
  readonly flipped?: boolean | undefined;
  readonly had_handle?: boolean | undefined;
  /** True if the row's chat is with one of the owner's addresses. Older services omit this and the next three. */
  readonly is_self?: boolean | undefined;
  /** True if `date_delivered` is set. */
  readonly delivered?: boolean | undefined;
  /** Numbers of the row's chat and handle: 1 for the first of this watch, 2 for the second, and so on. */
  readonly chat?: number | null | undefined;
  readonly handle?: number | null | undefined;
  /** Locations of the files of the row's attachments at the end of the watch. */
  readonly attachments: readonly AttachmentLocation[];
}

/**
 * `staged`: the copy that Postern made for sending. `messages`: another file in Messages' own folder. `elsewhere`: any
 * other path. `none`: the attachment has no path.
 */
export const ATTACHMENT_LOCATIONS = ['staged', 'messages', 'elsewhere', 'none'] as const;
export type AttachmentLocation = (typeof ATTACHMENT_LOCATIONS)[number];

/** How changes of chat.db were noticed during a watch. */
export interface ChangeDiagnostics {
  readonly seconds: number;
  /** How often `PRAGMA data_version` changed. */
  readonly data_version_changes: number;
  /** File system events of chat.db's -wal file, counted by kind; null if the file could not be watched. */
  readonly wal_events: { readonly change: number; readonly rename: number } | null;
  /** Milliseconds from an event of the -wal file until the next commit was readable. At most one number per commit. */
  readonly event_to_row_ms: readonly number[];
  readonly rows: readonly NewRow[];
}

/**
 * A count of rows for each value of a column; null if the database has no such column. Key: the value, as a number or
 * as a word from a fixed list.
 */
type Histogram = Readonly<Record<string, number>> | null;

/** Counts over all chats, addresses and scheduled rows. Older services omit them. */
export interface ChatShapes {
  /** Number of chats for each value of `is_filtered`. */
  readonly chat_filters: Histogram;
  readonly chats_blackholed: number | null;
  /**
   * Number of addresses for each of Apple's tags in parentheses at their end. `other`: something else in parentheses.
   */
  readonly handle_tags: Histogram;
  /**
   * For addresses with a tag: whether `uncanonicalized_id` has the same (`same`), another or none (`other`), or is
   * `null`.
   */
  readonly tags_uncanonicalized: Histogram;
  /** Number of rows for each `schedule_type/schedule_state/is_sent`, without rows of type 0. */
  readonly schedule_states: Histogram;
  /** A number for the guid of each of the newest 20 SMS: two Macs of one account show whether they share guids. */
  readonly sms_guid_marks: readonly number[];
}

/**
 * The shapes of the newest 20,000 rows of chat.db, as counts only. A member is null if the database lacks the column or
 * table that the count needs.
 */
export interface DataShapes {
  readonly rows: number;
  readonly item_types: Histogram;
  readonly associated_types: Histogram;
  readonly schedule_types: Histogram;
  readonly services: Histogram;
  readonly guids: Histogram;
  readonly retracted: number | null;
  readonly edited_without_body: number | null;
  readonly without_parts: number | null;
  readonly text_null: number | null;
  /** Number of rows that are older than a minute and have no conversation. */
  readonly unjoined: number | null;
  readonly link_previews_hidden: number | null;
  readonly link_previews_shown: number | null;
  readonly link_rows_with_reply: number | null;
  /** Number of rows whose date is more than an hour earlier than the date of the previous row in row id order. */
  readonly backfilled: number;
  readonly columns: number;
  /**
   * Number of unknown columns in the tables that Postern reads: no macOS up to 27 is known to have them. Older services
   * omit this member.
   */
  readonly unknown_columns?: number | undefined;
  readonly chats?: ChatShapes | undefined;
}

export interface SqliteDiagnostics {
  readonly library: 'better-sqlite3' | 'bun:sqlite' | 'node:sqlite' | 'none';
  readonly version: string;
  readonly journal_mode: 'wal' | 'delete' | 'other';
  readonly compile_options: readonly string[];
}

/** Answer of `POST /api/v1/diagnostics`: facts that only the program with the macOS permissions can find out. */
export interface Diagnostics {
  readonly accounts: readonly ListedAccount[] | ScriptFailure;
  readonly live_chats: LiveChatDiagnostics | ScriptFailure;
  /** Number of chat guids in chat.db for each prefix; null if chat.db is unreadable. */
  readonly stored_prefixes: PrefixCounts | null;
  readonly changes: ChangeDiagnostics | null;
  /** The shapes of the newest rows; null if chat.db is unreadable. Older services omit this member. */
  readonly data_shapes?: DataShapes | null | undefined;
  readonly sqlite?: SqliteDiagnostics | null | undefined;
  /** Pauses of the service while the Mac slept or the process was stopped. Older services omit this member. */
  readonly sleep_gaps?: SleepGaps | undefined;
  /** Number of failed attempts to deliver to webhooks since the service started. Older services omit it. */
  readonly delivery_errors?: DeliveryErrorCounts | undefined;
  /** Addresses under which this Mac has sent or received, most recent first. */
  readonly own_addresses: readonly string[];
}
