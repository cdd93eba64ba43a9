import { randomUUID } from 'node:crypto';
import { type Include, includeSet } from '../domain/include.ts';
import type { Clock } from '../domain/ports/host.ts';
import type { WebhookStep, WebhookStore } from '../domain/ports/webhooks.ts';
import { problem } from '../domain/problems.ts';
import type { DeliveryRecord, StoredWebhook, WebhookEventType } from '../domain/webhook.ts';
import type { Row, Sqlite } from '../runtime/sqlite.ts';

/** Decision F1. */
const MAX_WEBHOOKS = 64;
/** Section H: records kept for each webhook. Trimmed in steps, so there may be a few more for a while. */
const KEPT_RECORDS = 100;
const TRIM_EVERY = 50;

const COLUMNS = 'id, url, events, secret, include, created_at, key_id';
const SELECT = `SELECT ${COLUMNS}, row_id, change FROM webhook JOIN consumer ON name = 'webhook/' || id`;

/** Registered webhooks, how far each is done (decision F4), and what became of its last deliveries. */
export function webhookStore(database: Sqlite, clock: Clock): WebhookStore {
  const selectAll = database.prepare(`${SELECT} ORDER BY number`);
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const count = database.prepare('SELECT count(*) FROM webhook');
  const insert = database.prepare(`INSERT INTO webhook (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
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
  const selectHealth = database.prepare('SELECT consecutive_failures, last_success_at FROM webhook WHERE id = ?');
  let recordsSinceTrim = 0;

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
    for (const [webhook] of selectAll.all()) trim.run(String(webhook), String(webhook));
  };

  const advanceMany = (steps: readonly WebhookStep[]): void =>
    database.transaction(() => {
      for (const { id, offset, records } of steps) {
        move.run(offset.rowId, offset.change, consumerName(id));
        for (const record of records) {
          if (record.outcome === 'delivered') noteSuccess.run(record.at, id);
          else if (record.outcome === 'dropped') noteFailure.run(id);
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
      const stored: StoredWebhook = {
        id: randomUUID(),
        url: webhook.url,
        events: webhook.events,
        created_at: `${new Date(clock.now()).toISOString().slice(0, 19)}Z`,
        secret: webhook.secret,
        include: webhook.include,
        keyId: webhook.keyId ?? null,
        offset: start,
      };
      database.transaction(() => {
        if (Number(count.get()?.[0]) >= MAX_WEBHOOKS) throw problem('too_many_webhooks', { max: MAX_WEBHOOKS });
        insert.run(
          stored.id,
          stored.url,
          JSON.stringify(stored.events),
          stored.secret,
          JSON.stringify([...stored.include]),
          stored.created_at,
          stored.keyId,
        );
        insertConsumer.run(consumerName(stored.id), start.rowId, start.change);
      });
      return stored;
    },
    remove: (id) =>
      database.transaction(() => {
        removeConsumer.run(consumerName(id));
        return remove.run(id) > 0;
      }),
    advance: (id, offset, record) => advanceMany([{ id, offset, records: record === undefined ? [] : [record] }]),
    advanceMany,
    deliveries: (id) => selectRecords.all(id, KEPT_RECORDS).map(toRecord),
    lastDelivery: (id) => selectRecords.all(id, 1).map(toRecord)[0],
    health(id) {
      const row = selectHealth.get(id);
      const failures = Number(row?.[0] ?? 0);
      return {
        state: failures > 0 ? 'failing' : 'healthy',
        consecutive_failures: failures,
        last_success_at: typeof row?.[1] === 'string' ? row[1] : null,
      };
    },
  };
}

function consumerName(id: string): string {
  return `webhook/${id}`;
}

function toWebhook(row: Row): StoredWebhook {
  return {
    id: String(row[0]),
    url: String(row[1]),
    events: JSON.parse(String(row[2])) as WebhookEventType[],
    created_at: String(row[5]),
    secret: row[3] === null ? null : String(row[3]),
    include: includeSet(JSON.parse(String(row[4])) as Include[]),
    keyId: row[6] === null ? null : String(row[6]),
    offset: { rowId: Number(row[7]), change: Number(row[8]) },
  };
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
