import { randomUUID } from 'node:crypto';
import { type Include, includeSet } from '../../domain/include.ts';
import type { Clock } from '../../domain/ports/host.ts';
import type { WebhookStep, WebhookStore } from '../../domain/ports/webhooks.ts';
import { problem } from '../../domain/problems.ts';
import {
  type DeliveryRecord,
  type FailureMode,
  type HeldDelivery,
  MAX_WEBHOOKS,
  type StoredWebhook,
  type WebhookEventType,
  type WebhookFilter,
  type WebhookWire,
} from '../../domain/webhook.ts';
import { newStoredWebhook } from '../../domain/webhook-settings.ts';
import type { Row, Sqlite } from '../../runtime/sqlite.ts';
import { auditStore } from './audit.ts';
import { droppedEvents } from './dropped.ts';

/** Records kept per webhook (decision H). Trimmed in steps, so there may briefly be a few more. */
const KEPT_RECORDS = 100;
const TRIM_EVERY = 50;

/** The columns written for a webhook, in the order of `toColumns`. */
const COLUMNS = [
  'url',
  'events',
  'secret',
  'include',
  'name',
  'is_enabled',
  'headers',
  'on_failure',
  'filter',
  'previous_secret',
  'previous_until_ms',
  'held',
] as const;
const FIXED = ['id', 'created_at', 'key_id', 'wire'] as const;
const SELECT = `SELECT ${[...COLUMNS, ...FIXED].map((column) => `webhook.${column}`).join()}, row_id, change
  FROM webhook JOIN consumer ON consumer.name = 'webhook/' || id`;
const INSERT = `INSERT INTO webhook (${[...COLUMNS, ...FIXED].join()})
  VALUES (${[...COLUMNS, ...FIXED].map(() => '?').join()})`;
const UPDATE = `UPDATE webhook SET ${COLUMNS.map((column) => `${column} = ?`).join()} WHERE id = ?`;

/** Stores registered webhooks, their positions (decision F4), and the outcomes of their last deliveries. */
export function webhookStore(database: Sqlite, clock: Clock): WebhookStore {
  const selectAll = database.prepare(`${SELECT} ORDER BY number`);
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const selectIds = database.prepare('SELECT id FROM webhook');
  const count = database.prepare('SELECT count(*) FROM webhook');
  const insert = database.prepare(INSERT);
  const update = database.prepare(UPDATE);
  const updateHeld = database.prepare('UPDATE webhook SET held = ? WHERE id = ?');
  const remove = database.prepare('DELETE FROM webhook WHERE id = ?');
  const insertConsumer = database.prepare('INSERT INTO consumer (name, row_id, change) VALUES (?, ?, ?)');
  const removeConsumer = database.prepare('DELETE FROM consumer WHERE name = ?');
  const move = database.prepare('UPDATE consumer SET row_id = ?, change = ? WHERE name = ?');
  const noteSuccess = database.prepare('UPDATE webhook SET consecutive_failures = 0, last_success_at = ? WHERE id = ?');
  const noteFailure = database.prepare(
    'UPDATE webhook SET consecutive_failures = consecutive_failures + 1 WHERE id = ?',
  );
  const insertRecord = database.prepare(
    `INSERT INTO delivery (webhook, id, at, event, row_id, outcome, attempts, status, error, duration_ms)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM webhook WHERE id = ?)`,
  );
  const trim = database.prepare(
    `DELETE FROM delivery WHERE webhook = ? AND number <=
       (SELECT number FROM delivery WHERE webhook = ? ORDER BY number DESC LIMIT 1 OFFSET ${KEPT_RECORDS})`,
  );
  const selectRecords = database.prepare(
    `SELECT id, at, event, row_id, outcome, attempts, status, error, duration_ms FROM delivery
      WHERE webhook = ? ORDER BY number DESC LIMIT ?`,
  );
  const selectHealth = database.prepare(
    'SELECT consecutive_failures, last_success_at, is_enabled, held IS NOT NULL FROM webhook WHERE id = ?',
  );
  const dropped = droppedEvents(database);
  let recordsSinceTrim = 0;
  removeUserInfoOfKeys(database, clock);
  database
    .prepare('UPDATE webhook SET previous_secret = NULL, previous_until_ms = NULL WHERE previous_until_ms <= ?')
    .run(clock.now());

  const insertWhole = (webhook: StoredWebhook): void => {
    const { id, created_at, keyId, wire, offset } = webhook;
    insert.run(...toColumns(webhook), id, created_at, keyId, wire === undefined ? null : JSON.stringify(wire));
    insertConsumer.run(consumerName(id), offset.rowId, offset.change);
  };
  const updateWhole = (webhook: StoredWebhook): void => {
    const { id, offset } = webhook;
    update.run(...toColumns(webhook), id);
    move.run(offset.rowId, offset.change, consumerName(id));
  };
  const removeWhole = (id: string): boolean => {
    removeConsumer.run(consumerName(id));
    return remove.run(id) > 0;
  };

  const keep = (id: string, record: DeliveryRecord): void => {
    insertRecord.run(
      id,
      record.id,
      record.at,
      record.event,
      record.row_id,
      record.outcome,
      record.attempts,
      record.status,
      record.error,
      record.duration_ms,
      id,
    );
    recordsSinceTrim += 1;
    if (recordsSinceTrim < TRIM_EVERY) return;
    recordsSinceTrim = 0;
    for (const [webhook] of selectIds.all()) {
      trim.run(String(webhook), String(webhook));
      dropped.trim(String(webhook));
    }
  };

  const advanceMany = (steps: readonly WebhookStep[]): void =>
    database.transaction(() => {
      for (const { id, offset, records } of steps) {
        move.run(offset.rowId, offset.change, consumerName(id));
        for (const record of records) {
          if (record.outcome === 'delivered') noteSuccess.run(record.at, id);
          else if (record.outcome === 'dropped') noteFailure.run(id);
          if (record.place !== undefined) dropped.add(id, record.place);
          keep(id, record);
        }
      }
    });

  return {
    list: () => selectAll.all().map(toWebhook),
    get(id) {
      const row = select.get(id);
      return row === undefined ? undefined : toWebhook(row);
    },
    add(webhook, start) {
      const stored = newStoredWebhook(randomUUID(), webhook, start, clock.now());
      database.transaction(() => {
        if (Number(count.get()?.[0]) >= MAX_WEBHOOKS) throw problem('too_many_webhooks', { max: MAX_WEBHOOKS });
        insertWhole(stored);
      });
      return stored;
    },
    adopt: (webhook, keepsHistory) =>
      database.transaction(() => {
        if (!keepsHistory) removeWhole(webhook.id);
        if (select.get(webhook.id) === undefined) insertWhole(webhook);
        else updateWhole(webhook);
      }),
    update: (webhook) => database.transaction(() => updateWhole(webhook)),
    remove: (id) => database.transaction(() => removeWhole(id)),
    advance: (id, offset, record) => advanceMany([{ id, offset, records: record === undefined ? [] : [record] }]),
    advanceMany,
    seek: (id, offset) =>
      database.transaction(() => {
        move.run(offset.rowId, offset.change, consumerName(id));
        updateHeld.run(null, id);
        dropped.forgetAfter(id, offset);
        dropped.markAll(id, false);
      }),
    hold: (id, held) => void updateHeld.run(held === null ? null : JSON.stringify(held), id),
    droppedCount: (id) => dropped.count(id),
    replayDropped: (id) => dropped.markAll(id, true),
    nextReplayed: (id) => dropped.next(id),
    endReplayed: (id, event, isDropped) => dropped.end(id, event, isDropped),
    deliveries: (id) => selectRecords.all(id, KEPT_RECORDS).map(toRecord),
    lastDelivery: (id) => selectRecords.all(id, 1).map(toRecord)[0],
    health(id) {
      const row = selectHealth.get(id);
      const failures = Number(row?.[0] ?? 0);
      const [isEnabled, isHeld] = [Number(row?.[2]) !== 0, Number(row?.[3]) === 1];
      return {
        state: isEnabled ? (isHeld ? 'held' : failures > 0 ? 'failing' : 'healthy') : 'paused',
        consecutive_failures: failures,
        last_success_at: typeof row?.[1] === 'string' ? row[1] : null,
      };
    },
  };
}

function consumerName(id: string): string {
  return `webhook/${id}`;
}

function toColumns(webhook: StoredWebhook) {
  const { url, events, secret, include, name, enabled, headers, on_failure, filter, previousSecret, held } = webhook;
  return [
    url,
    JSON.stringify(events),
    secret,
    JSON.stringify([...include]),
    name,
    enabled ? 1 : 0,
    JSON.stringify(headers),
    on_failure,
    filter === null ? null : JSON.stringify(filter),
    previousSecret?.secret ?? null,
    previousSecret?.untilMs ?? null,
    held === null ? null : JSON.stringify(held),
  ] as const;
}

function toWebhook(row: Row): StoredWebhook {
  const [url, events, secret, include, name, isEnabled, headers, onFailure, filter, previous, untilMs, held] = row;
  const [id, createdAt, keyId, wire, rowId, change] = row.slice(COLUMNS.length);
  return {
    id: String(id),
    url: String(url),
    events: JSON.parse(String(events)) as WebhookEventType[],
    created_at: String(createdAt),
    secret: textOrNull(secret),
    include: includeSet(JSON.parse(String(include)) as Include[]),
    name: textOrNull(name),
    enabled: Number(isEnabled) !== 0,
    headers: JSON.parse(String(headers)) as Record<string, string>,
    on_failure: onFailure as FailureMode,
    filter: filter === null ? null : (JSON.parse(String(filter)) as WebhookFilter),
    previousSecret: previous === null ? null : { secret: String(previous), untilMs: Number(untilMs) },
    held: held === null ? null : (JSON.parse(String(held)) as HeldDelivery),
    keyId: textOrNull(keyId),
    ...(typeof wire === 'string' && { wire: JSON.parse(wire) as WebhookWire }),
    offset: { rowId: Number(rowId), change: Number(change) },
  };
}

function textOrNull(value: Row[number] | undefined): string | null {
  return value === null ? null : String(value);
}

function toRecord(row: Row): DeliveryRecord {
  return {
    id: String(row[0]),
    at: String(row[1]),
    event: String(row[2]) as DeliveryRecord['event'],
    row_id: Number(row[3]),
    outcome: String(row[4]) as DeliveryRecord['outcome'],
    attempts: Number(row[5]),
    status: row[6] === null ? null : Number(row[6]),
    error: row[7] === null ? null : String(row[7]),
    duration_ms: Number(row[8]),
  };
}

/**
 * Removes user names and passwords from URLs that limited keys registered before these were refused (decision M1),
 * with a line in the audit log for each. Runs at each start, because a backup may contain one.
 */
function removeUserInfoOfKeys(database: Sqlite, clock: Clock): void {
  const found = database.prepare("SELECT id, url, key_id FROM webhook WHERE key_id IS NOT NULL AND url LIKE '%@%'");
  const update = database.prepare('UPDATE webhook SET url = ? WHERE id = ?');
  const audit = auditStore(database);
  database.transaction(() => {
    for (const [id, url, keyId] of found.all()) {
      const address = new URL(String(url));
      if (address.username === '' && address.password === '') continue;
      address.username = '';
      address.password = '';
      update.run(address.href, String(id));
      const line = { keyId: String(keyId), target: String(id), outcome: 'user_info_removed' };
      audit.add({ ...line, action: 'webhook' }, clock.now());
    }
  });
}
