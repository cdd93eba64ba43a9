import type { ResourceDocument } from '../../core/http/resource.ts';
import { diagnosticsQuery } from './request.ts';
import { diagnosticsSchema } from './schema.ts';

/** The answer, as the simulated Mac produces it. */
export const diagnosticsExample = {
  accounts: [{ service: 'iMessage', enabled: true }],
  live_chats: { live: 200, prefixes: { 'any;-;': 200 }, same_guid: 180, same_identifier: 195 },
  stored_prefixes: { 'any;-;': 310, 'any;+;': 24 },
  changes: {
    seconds: 30,
    data_version_changes: 1,
    wal_events: { change: 0, rename: 2 },
    event_to_row_ms: [1.4],
    rows: [
      {
        row_id: 1207,
        is_from_me: false,
        seen_ms: 9120.5,
        join_delay_ms: 0,
        columns: ['guid', 'attributedBody', 'handle_id', 'date'],
        error: 0,
        age_s: 1,
        flipped: false,
        had_handle: true,
        is_self: false,
        delivered: false,
        chat: 1,
        handle: 1,
        attachments: [],
      },
    ],
  },
  data_shapes: {
    rows: 1206,
    item_types: { 0: 1200, 1: 6 },
    associated_types: { 0: 1100, 2000: 106 },
    schedule_types: { 0: 1206 },
    services: { iMessage: 1180, SMS: 26 },
    guids: { uuid: 1206 },
    retracted: 0,
    edited_without_body: 2,
    without_parts: 2,
    text_null: 640,
    unjoined: 0,
    link_previews_hidden: 80,
    link_previews_shown: 1,
    link_rows_with_reply: 3,
    backfilled: 4,
    columns: 95,
    unknown_columns: 0,
    chats: {
      chat_filters: { 0: 120, 1: 14, 2: 3, 52: 9 },
      chats_blackholed: 0,
      handle_tags: { none: 130, smsft: 4 },
      tags_uncanonicalized: { same: 4 },
      schedule_states: { '2/3/1': 1 },
      sms_guid_marks: [481_516, 234_200],
    },
  },
  sqlite: {
    library: 'node:sqlite',
    version: '3.50.4',
    journal_mode: 'wal',
    compile_options: ['ENABLE_FTS5', 'THREADSAFE=1'],
  },
  sleep_gaps: { count: 2, longest_s: 25_200 },
  delivery_errors: { loopback: { ECONNREFUSED: 3 }, private: { EHOSTUNREACH: 6 }, other: { '5xx': 1 } },
  own_addresses: ['me@example.org'],
} as const;

/** The diagnostics in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    runDiagnostics: {
      tag: 'Service',
      summary: 'Collect facts about chat.db and Messages for a bug report',
      description:
        'Watches chat.db for changes, and with `ask=messages` also asks Messages for its accounts and chats. ' +
        '`postern doctor --mac-report` builds its report from the answer, which contains no text, and no address but your own. ' +
        'A second request while one runs gets the same answer; chat.db is then watched for `seconds` from the second request on.',
      query: diagnosticsQuery,
      answers: {
        200: { description: 'What was found.', schema: 'Diagnostics', example: diagnosticsExample },
      },
      mistakes: [{ pointer: '?ask', message: 'The parameter `ask` must be "messages".' }],
    },
  },
  schemas: { Diagnostics: diagnosticsSchema },
};
