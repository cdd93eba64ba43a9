import type { HostClass } from './local-network.ts';

/** What a chat guid begins with: service or `any`, and the style (`-` one person, `+` a group). `other` is none of them. */
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

export const ACCOUNT_SERVICES = ['iMessage', 'SMS', 'RCS', 'other'] as const;

/** Why Messages said nothing: `not_asked` because macOS might have asked the person, else the number of the AppleScript error. */
export type ScriptFailure = { readonly error: 'not_asked' | 'no_answer' | number };

export interface AccountDiagnostics {
  readonly service: (typeof ACCOUNT_SERVICES)[number];
  readonly enabled: boolean;
}

/** Messages' own list of chats beside the one in chat.db. */
export interface LiveChatDiagnostics {
  readonly live: number;
  readonly prefixes: PrefixCounts;
  /** Live ids that are a chat guid in chat.db letter by letter. */
  readonly same_guid: number;
  /** Live ids whose style and identifier some chat in chat.db has, under whatever prefix. */
  readonly same_identifier: number;
}

/** One row that appeared while chat.db was watched. No value of it, only which columns have one. */
export interface NewRow {
  readonly row_id: number;
  readonly is_from_me: boolean;
  /** Milliseconds from the beginning of the watch until the row could be read. */
  readonly seen_ms: number;
  /** Milliseconds from then until it belonged to a chat; null when it did not while it was watched. */
  readonly join_delay_ms: number | null;
  /** Columns of the message table that are neither NULL, 0 nor empty, at the end of the watch. */
  readonly columns: readonly string[];
  readonly error: number;
  /** Seconds from its date to its first sight; null for a row dated later. Left out by older services. */
  readonly age_s?: number | null | undefined;
  /** Whether `is_from_me` and the handle were other values at the end of the watch than at first sight. */
  readonly flipped?: boolean | undefined;
  readonly had_handle?: boolean | undefined;
  /** Where the files of its attachments are, at the end of the watch. */
  readonly attachments: readonly AttachmentPlace[];
}

/** `staged`: the copy that Postern made for sending; `messages`: another place in Messages' own folder. */
export const ATTACHMENT_PLACES = ['staged', 'messages', 'elsewhere', 'none'] as const;
export type AttachmentPlace = (typeof ATTACHMENT_PLACES)[number];

/** How changes of chat.db were noticed over some seconds. */
export interface ChangeDiagnostics {
  readonly seconds: number;
  /** How often `PRAGMA data_version` was another one. */
  readonly data_version_changes: number;
  /** Events of a watch on the -wal by kind; null when it could not be watched. */
  readonly wal_events: { readonly change: number; readonly rename: number } | null;
  /** For each event that a commit followed: milliseconds until the commit could be read. */
  readonly event_to_row_ms: readonly number[];
  readonly rows: readonly NewRow[];
}

/** How many rows have each value; null where the database has no such column. Keys are numbers or words of closed sets. */
type Histogram = Readonly<Record<string, number>> | null;

/** How the newest 20,000 rows of chat.db are shaped: counts alone, null where the database cannot say. */
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
  /** Without a conversation a minute after their date. */
  readonly unjoined: number | null;
  readonly link_previews_hidden: number | null;
  readonly link_previews_shown: number | null;
  readonly link_rows_with_reply: number | null;
  /** Dated more than an hour before the row before. */
  readonly backfilled: number;
  readonly columns: number;
  /** Columns of the tables that are read which no macOS up to 27 is known to have. Left out by older services. */
  readonly unknown_columns?: number | undefined;
}

export interface SqliteDiagnostics {
  readonly library: 'better-sqlite3' | 'bun:sqlite' | 'node:sqlite' | 'none';
  readonly version: string;
  readonly journal_mode: 'wal' | 'delete' | 'other';
  readonly compile_options: readonly string[];
}

/** Gaps in a one-second timer since the service started: sleep of the Mac, or the process was stopped. */
export interface SleepGaps {
  readonly count: number;
  /** Seconds; 0 without a gap. */
  readonly longest_s: number;
}

/** `no_answer`: our own limit of time ended the attempt; `http`: the answer is not HTTP. */
export const DELIVERY_ERRORS = [
  'EACCES',
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'EAI_NONAME',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENODATA',
  'ENOTFOUND',
  'EPERM',
  'EPIPE',
  'ETIMEDOUT',
  '3xx',
  '4xx',
  '5xx',
  'http',
  'tls',
  'no_answer',
  'other',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];
export type DeliveryErrorCounts = Readonly<Record<HostClass, Readonly<Partial<Record<DeliveryError, number>>>>>;

/** Answer of `POST /api/v1/diagnostics`: what only the program with the permissions can find out. */
export interface Diagnostics {
  readonly accounts: readonly AccountDiagnostics[] | ScriptFailure;
  readonly live_chats: LiveChatDiagnostics | ScriptFailure;
  /** Chat guids in chat.db by prefix; null when it cannot be read. */
  readonly stored_prefixes: PrefixCounts | null;
  readonly changes: ChangeDiagnostics | null;
  /** Left out by older services; null when chat.db cannot be read. */
  readonly data_shapes?: DataShapes | null | undefined;
  readonly sqlite?: SqliteDiagnostics | null | undefined;
  /** Left out by older services. */
  readonly sleep_gaps?: SleepGaps | undefined;
  /** Failed attempts of webhooks since the service started. Left out by older services. */
  readonly delivery_errors?: DeliveryErrorCounts | undefined;
  /** Addresses under which this Mac has sent or received, most recent first. */
  readonly own_addresses: readonly string[];
}
