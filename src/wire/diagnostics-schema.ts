import * as z from 'zod';
import { ACCOUNT_SERVICES, ATTACHMENT_PLACES, type Diagnostics, GUID_PREFIXES } from '../domain/diagnostics.ts';
import { shapeOf } from './shape.ts';

const prefixes = z.partialRecord(z.enum(GUID_PREFIXES), z.int()).readonly();
const failure = z.object({ error: z.union([z.enum(['not_asked', 'no_answer']), z.int()]) });
const milliseconds = z.number().min(0);
/** Closed sets and numbers alone, so that a report made of it cannot hold anything of the person's. */
const columnName = z.string().regex(/^\w{1,60}$/);

const newRow = z.object({
  row_id: z.int(),
  is_from_me: z.boolean(),
  seen_ms: milliseconds,
  join_delay_ms: milliseconds.nullable(),
  columns: z.array(columnName).readonly(),
  error: z.int(),
  attachments: z.array(z.enum(ATTACHMENT_PLACES)).readonly(),
});

const changes = z.object({
  seconds: z.int(),
  data_version_changes: z.int(),
  wal_events: z.object({ change: z.int(), rename: z.int() }).nullable(),
  event_to_row_ms: z.array(milliseconds).readonly(),
  rows: z.array(newRow).readonly(),
});

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
      own_addresses: z.array(z.string()).readonly(),
    })
    .meta({ id: 'Diagnostics' }),
);
