import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Diagnostics, NewRow } from '../../../client/diagnostics-types.ts';
import { MESSAGE_STATUSES } from '../../../core/model/message.ts';
import type { Clock } from '../../../core/model/ports/host-ports.ts';
import { MAX_WATCH_SECONDS } from '../request.ts';
import { absent, found, type Observation, type ReportedValue } from './observation.ts';
import { oneOf } from './redact.ts';
import { observedRefusal, type ReportClient } from './report-client.ts';

/**
 * Test texts with characters that some programs lose in transit: emoji, both kinds of quotes, line endings, a line
 * separator.
 */
export const PARTS = {
  emoji: 'Postern \u{1f468}\u200d\u{1f469}\u200d\u{1f467} caf\u00e9',
  quotes: '"double" \'single\' \\back',
  line_ends: 'one\r\ntwo\nthree',
  line_separator: 'before\u2028after',
} as const;
const TEXT = Object.values(PARTS).join(' / ');

/** A PNG of one pixel. */
export const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export interface SendToMeParts {
  readonly client: ReportClient;
  readonly clock: Clock;
  readonly watch: (seconds: number) => Promise<Diagnostics | undefined>;
  /** Seconds to watch chat.db after the answer to the last send. */
  readonly watchSeconds: number;
  readonly wanted: string | true;
}

/**
 * Sends one text and one picture to the user's own address, and compares the stored text with the sent text. Never
 * reaches a stranger, because it uses only an address under which this Mac has sent or received.
 */
export async function sendToMe(parts: SendToMeParts): Promise<readonly [Diagnostics | undefined, Observation]> {
  const { client, clock, watch, watchSeconds, wanted } = parts;
  const own = (await watch(0))?.own_addresses ?? [];
  const recipient = wanted === true ? own[0] : own.find((address) => spelling(address) === spelling(wanted));
  if (recipient === undefined) {
    const reason = own.length === 0 ? 'no_own_address_known' : 'not_an_own_address';
    return [await watch(0), absent('failed', { reason })];
  }
  const startMs = clock.monotonic();
  void watch(MAX_WATCH_SECONDS);
  const text = await attempt(client, clock, startMs, { recipient, body: TEXT });
  const picture = await withPicture((path) => attempt(client, clock, startMs, { recipient, attachments: [path] }));
  // Joins the watch that is running, and ends it `watchSeconds` from now.
  const diagnostics = await watch(watchSeconds);
  const rows = diagnostics?.changes?.rows ?? [];
  return [
    diagnostics,
    found({
      kind: recipient.includes('@') ? 'email' : 'phone',
      text: { ...described(text, rows), ...(await comparison(client, text.id)) },
      picture: described(picture, rows),
      rows_seen: rows.length,
    }),
  ];
}

interface Attempt {
  readonly atMs: number;
  /** Row id; null if the send was refused or held, or if its row is not known yet. */
  readonly id: string | null;
  readonly answer: Observation;
}

async function attempt(
  client: ReportClient,
  clock: Clock,
  startMs: number,
  request: Parameters<ReportClient['send']>[0],
): Promise<Attempt> {
  const atMs = clock.monotonic() - startMs;
  try {
    const answer = await client.send(request);
    if ('approval' in answer) return { atMs, id: null, answer: found({ accepted: false, held: true }) };
    const { id, status } = answer;
    const tookMs = Math.round(clock.monotonic() - startMs - atMs);
    return {
      atMs,
      id: id === '' ? null : id,
      answer: found({ accepted: true, row_known: id !== '', status: oneOf(MESSAGE_STATUSES, status), took_ms: tookMs }),
    };
  } catch (error) {
    return { atMs, id: null, answer: observedRefusal(error) };
  }
}

function described({ atMs, id, answer }: Attempt, rows: readonly NewRow[]): { readonly [key: string]: ReportedValue } {
  const row = rows.find(({ row_id: rowId }) => String(rowId) === id);
  if (row === undefined) return { answer, row: null };
  return {
    answer,
    row: {
      row_delay_ms: Math.round(row.seen_ms - atMs),
      join_delay_ms: row.join_delay_ms,
      columns: row.columns,
      error: row.error,
      attachment: row.attachments,
    },
  };
}

/**
 * Compares the stored body with the sent text. Never shows the stored body, because it could belong to a different
 * message.
 */
async function comparison(client: ReportClient, id: string | null): Promise<{ readonly [key: string]: ReportedValue }> {
  if (id === null) return { body: null };
  const stored = await client.message(id).then(
    ({ body }) => body,
    () => undefined,
  );
  if (stored === undefined) return { body: null };
  const [sentBytes, storedBytes] = [Buffer.from(TEXT), Buffer.from(stored)];
  const firstDifference = sentBytes.findIndex((byte, index) => byte !== storedBytes[index]);
  return {
    body: {
      is_identical: stored === TEXT,
      is_identical_but_for_line_ends: oneLineEnd(stored) === oneLineEnd(TEXT),
      sent_bytes: sentBytes.length,
      stored_bytes: storedBytes.length,
      first_difference: firstDifference === -1 ? null : firstDifference,
      kept: Object.fromEntries(Object.entries(PARTS).map(([name, part]) => [name, stored.includes(part)])),
    },
  };
}

function oneLineEnd(text: string): string {
  return text.replace(/\r\n?/g, '\n');
}

async function withPicture<Result>(use: (path: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'postern-picture-'));
  try {
    const path = join(folder, 'postern.png');
    writeFileSync(path, PICTURE, { mode: 0o600 });
    return await use(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Normalizes an address: spaces, brackets and dashes in a telephone number have no meaning. */
function spelling(address: string): string {
  const trimmed = address.trim().toLowerCase();
  return trimmed.includes('@') ? trimmed : trimmed.replace(/[\s().-]/g, '');
}
