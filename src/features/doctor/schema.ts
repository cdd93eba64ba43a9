import * as z from 'zod';
import { ATTACHMENT_LOCATIONS, type Diagnostics, GUID_PREFIXES } from '../../client/diagnostics-types.ts';
import { DELIVERY_ERRORS } from '../../core/model/delivery-error.ts';
import { ACCOUNT_SERVICES } from '../../core/model/messages-account.ts';
import { shapeOf } from '../../core/schema/shape.ts';

const prefixes = z.partialRecord(z.enum(GUID_PREFIXES), z.int()).readonly();
const failure = z.object({ error: z.union([z.enum(['not_asked', 'no_answer']), z.int()]) });
const milliseconds = z.number().min(0);
/**
 * The name of a column of chat.db. The pattern admits no personal data: apart from `own_addresses`, a report contains
 * only numbers, column names and words from fixed lists.
 */
const columnName = z.string().regex(/^\w{1,60}$/);

const newRow = z.object({
  row_id: z.int(),
  is_from_me: z.boolean(),
  seen_ms: milliseconds,
  join_delay_ms: milliseconds.nullable(),
  columns: z.array(columnName).readonly(),
  error: z.int(),
  age_s: z.int().nullable().optional(),
  flipped: z.boolean().optional(),
  had_handle: z.boolean().optional(),
  is_self: z.boolean().optional(),
  delivered: z.boolean().optional(),
  chat: z.int().nullable().optional(),
  handle: z.int().nullable().optional(),
  attachments: z.array(z.enum(ATTACHMENT_LOCATIONS)).readonly(),
});

const changes = z.object({
  seconds: z.int(),
  data_version_changes: z.int(),
  wal_events: z.object({ change: z.int(), rename: z.int() }).nullable(),
  event_to_row_ms: z.array(milliseconds).readonly(),
  rows: z.array(newRow).readonly(),
});

const count = z.int().min(0);
/** Key: a value of a column, written as a number or as a word from a fixed list. Value: the number of rows with it. */
const histogram = z
  .record(z.string().regex(/^(?:-?\d{1,5}|iMessage|SMS|RCS|iMessageLite|uuid|prefixed|other)$/), count)
  .nullable();

const tags = z
  .record(z.string().regex(/^(?:filtered|smsfp|smsft(?:_[a-z]{2})?|ft_[a-z]{2}|same|null|none|other)$/), count)
  .nullable();
const numbers = '(?:-?\\d{1,5}|other)';
const scheduleStates = z.record(z.string().regex(new RegExp(`^${numbers}/${numbers}/${numbers}$`)), count).nullable();

const chatShapes = z.object({
  chat_filters: histogram,
  chats_blackholed: count.nullable(),
  handle_tags: tags,
  tags_uncanonicalized: tags,
  schedule_states: scheduleStates,
  sms_guid_marks: z.array(count.max(999_999)).readonly(),
});

const dataShapes = z.object({
  rows: count,
  item_types: histogram,
  associated_types: histogram,
  schedule_types: histogram,
  services: histogram,
  guids: histogram,
  retracted: count.nullable(),
  edited_without_body: count.nullable(),
  without_parts: count.nullable(),
  text_null: count.nullable(),
  unjoined: count.nullable(),
  link_previews_hidden: count.nullable(),
  link_previews_shown: count.nullable(),
  link_rows_with_reply: count.nullable(),
  backfilled: count,
  columns: count,
  unknown_columns: count.optional(),
  chats: chatShapes.optional(),
});

const sqlite = z.object({
  library: z.enum(['better-sqlite3', 'bun:sqlite', 'node:sqlite', 'none']),
  version: z.string().regex(/^(?:\d{1,3}(?:\.\d{1,3}){2})?$/),
  journal_mode: z.enum(['wal', 'delete', 'other']),
  compile_options: z
    .array(z.string().regex(/^(?:ENABLE|OMIT|THREADSAFE|MAX|DEFAULT)_?[A-Z0-9_]{0,50}(?:=\d{1,12})?$/))
    .readonly(),
});

const failures = z.partialRecord(z.enum(DELIVERY_ERRORS), count).readonly();

/** Answer of `POST /diagnostics` (decision H). */
export const diagnosticsSchema = shapeOf<Diagnostics>()(
  z
    .object({
      accounts: z.union([
        z.array(z.object({ service: z.enum(ACCOUNT_SERVICES), enabled: z.boolean() })).readonly(),
        failure,
      ]),
      live_chats: z.union([
        z.object({ live: z.int(), prefixes, same_guid: z.int(), same_identifier: z.int() }),
        failure,
      ]),
      stored_prefixes: prefixes.nullable(),
      changes: changes.nullable(),
      data_shapes: dataShapes.nullable().optional(),
      sqlite: sqlite.nullable().optional(),
      sleep_gaps: z.object({ count, longest_s: count }).optional(),
      delivery_errors: z.object({ loopback: failures, private: failures, other: failures }).optional(),
      own_addresses: z.array(z.string()).readonly(),
    })
    .meta({ id: 'Diagnostics' }),
);
