import { randomUUID } from 'node:crypto';
import { type Include, includeSet } from '../model/include.ts';
import type { Offset } from '../model/offset.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import type { DroppedEvent, WebhookStep, WebhookStore } from '../model/ports/webhooks-ports.ts';
import { problem } from '../model/problems.ts';
import {
  type DeliveryRecord,
  type FailureMode,
  type HeldDelivery,
  MAX_WEBHOOKS,
  type StoredWebhook,
  type WebhookEventType,
  type WebhookFilter,
  type WebhookWire,
} from '../model/webhook.ts';
import { newStoredWebhook } from '../model/webhook-settings.ts';
import type { Row, Sqlite, SqlValue } from '../runtime/sqlite.ts';
import { consumerPositions } from './consumer-positions.ts';
import { columnTypes, recordOf } from './record.ts';

/**
 * Number of delivery records kept per webhook (decision H). The records are trimmed every 50 deliveries, so a webhook
 * may have more for a while.
 */
const KEPT_RECORDS = 100;
const TRIM_EVERY = 50;

const WEBHOOK = recordOf({
  id: columnTypes.text(),
  created_at: columnTypes.text(),
  keyId: columnTypes.orNull(columnTypes.text()),
  wire: columnTypes.orNull(columnTypes.json<WebhookWire>()),
  url: columnTypes.text(),
  events: columnTypes.json<readonly WebhookEventType[]>(),
  secret: columnTypes.orNull(columnTypes.text()),
  include: columnTypes.json<readonly Include[]>(),
  name: columnTypes.orNull(columnTypes.text()),
  enabled: { ...columnTypes.flag(), column: 'is_enabled' },
  headers: columnTypes.json<Readonly<Record<string, string>>>(),
  on_failure: columnTypes.text<FailureMode>(),
  filter: columnTypes.orNull(columnTypes.json<WebhookFilter>()),
  previousSecret: columnTypes.orNull(columnTypes.text()),
  previousUntilMs: columnTypes.orNull(columnTypes.number()),
  held: columnTypes.orNull(columnTypes.json<HeldDelivery>()),
});
const SELECT = `SELECT ${WEBHOOK.columns.replaceAll(/\w+/g, 'webhook.$&')}, row_id, change
  FROM webhook JOIN consumer ON consumer.name = 'webhook/' || id`;

const RECORD = recordOf<DeliveryRecord>({
  id: columnTypes.text(),
  at: columnTypes.text(),
  event: columnTypes.text<DeliveryRecord['event']>(),
  row_id: columnTypes.number(),
  outcome: columnTypes.text<DeliveryRecord['outcome']>(),
  attempts: columnTypes.number(),
  status: columnTypes.orNull(columnTypes.number()),
  error: columnTypes.orNull(columnTypes.text()),
  duration_ms: columnTypes.number(),
});

/**
 * Stores registered webhooks, their positions in the event log (decision F4), and their most recent delivery records.
 */
export function webhookStore(database: Sqlite, clock: Clock): WebhookStore {
  const selectAll = database.prepare(`${SELECT} ORDER BY number`);
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const count = database.prepare('SELECT count(*) FROM webhook');
  const updateHeld = database.prepare('UPDATE webhook SET held = ?, is_enabled = min(is_enabled, ?) WHERE id = ?');
  const rows = webhookRows(database);
  const dropped = droppedEvents(database);
  const records = deliveryRecords(database, dropped);
  database
    .prepare('UPDATE webhook SET previous_secret = NULL, previous_until_ms = NULL WHERE previous_until_ms <= ?')
    .run(clock.now());
  return {
    list: () => selectAll.all().map(toWebhook),
    get: (id) => select.all(id).map(toWebhook)[0],
    add(webhook, start) {
      const stored = newStoredWebhook(randomUUID(), webhook, start, clock.now());
      database.transaction(() => {
        if (Number(count.get()?.[0]) >= MAX_WEBHOOKS) throw problem('too_many_webhooks', { max: MAX_WEBHOOKS });
        rows.insert(stored);
      });
      return stored;
    },
    update: (webhook) => database.transaction(() => rows.update(webhook)),
    remove: (id) => database.transaction(() => rows.remove(id)),
    advance: (steps) =>
      database.transaction(() => {
        for (const { id, offset, records: made } of steps) {
          rows.move(id, offset);
          for (const record of made) records.add(id, record);
        }
      }),
    seek: (id, offset) =>
      database.transaction(() => {
        rows.move(id, offset);
        updateHeld.run(null, 1, id);
        dropped.forgetAfter(id, offset);
        dropped.markAll(id, false);
      }),
    setHeld: (id, held) => void updateHeld.run(held && JSON.stringify(held), held?.gone === true ? 0 : 1, id),
    droppedCount: (id) => dropped.count(id),
    replayDropped: (id) => dropped.markAll(id, true),
    nextReplayed: (id) => dropped.next(id),
    endReplayed: (id, event, isDropped) => dropped.end(id, event, isDropped),
    deliveries: (id) => records.newest(id, KEPT_RECORDS),
    lastDelivery: (id) => records.newest(id, 1)[0],
    health: (id) => records.health(id),
  };
}

/** Stores webhooks with their positions: each is a row of `webhook` and one of `consumer`. */
function webhookRows(database: Sqlite) {
  const insert = database.prepare(`INSERT ${WEBHOOK.insert('webhook')}`);
  const update = database.prepare(`${WEBHOOK.update('webhook')} WHERE id = ?`);
  const remove = database.prepare('DELETE FROM webhook WHERE id = ?');
  const positions = consumerPositions(database);
  const move = (id: string, offset: Offset): void => positions.move(consumerName(id), offset);
  return {
    insert(webhook: StoredWebhook): void {
      const { id, offset } = webhook;
      insert.run(...valuesOf(webhook));
      positions.set(consumerName(id), offset);
    },
    update(webhook: StoredWebhook): void {
      update.run(...valuesOf(webhook), webhook.id);
      move(webhook.id, webhook.offset);
    },
    remove(id: string): boolean {
      positions.remove(consumerName(id));
      return remove.run(id) > 0;
    },
    move,
  };
}

/** Stores the most recent delivery records of webhooks, and what they say about each webhook's health. */
function deliveryRecords(database: Sqlite, dropped: ReturnType<typeof droppedEvents>) {
  const selectIds = database.prepare('SELECT id FROM webhook');
  const noteSuccess = database.prepare('UPDATE webhook SET consecutive_failures = 0, last_success_at = ? WHERE id = ?');
  const noteFailure = database.prepare(
    'UPDATE webhook SET consecutive_failures = consecutive_failures + 1 WHERE id = ?',
  );
  const insert = database.prepare(
    `INSERT INTO delivery (${RECORD.columns}, webhook)
     SELECT ${RECORD.columns.replaceAll(/\w+/g, '?')}, id FROM webhook WHERE id = ?`,
  );
  const trim = database.prepare(
    `DELETE FROM delivery WHERE webhook = ? AND number <=
       (SELECT number FROM delivery WHERE webhook = ? ORDER BY number DESC LIMIT 1 OFFSET ${KEPT_RECORDS})`,
  );
  const select = database.prepare(
    `SELECT ${RECORD.columns} FROM delivery WHERE webhook = ? ORDER BY number DESC LIMIT ?`,
  );
  const selectHealth = database.prepare(
    'SELECT consecutive_failures, last_success_at, is_enabled, held IS NOT NULL FROM webhook WHERE id = ?',
  );
  let addedSinceTrim = 0;
  const trimAll = (): void => {
    addedSinceTrim = 0;
    for (const [webhook] of selectIds.all()) {
      trim.run(String(webhook), String(webhook));
      dropped.trim(String(webhook));
    }
  };
  return {
    add(id: string, record: WebhookStep['records'][number]): void {
      if (record.outcome === 'delivered') noteSuccess.run(record.at, id);
      else if (record.outcome === 'dropped') noteFailure.run(id);
      if (record.position !== undefined) dropped.add(id, record.position);
      insert.run(...RECORD.values(record), id);
      addedSinceTrim += 1;
      if (addedSinceTrim >= TRIM_EVERY) trimAll();
    },
    newest: (id: string, limit: number): readonly DeliveryRecord[] => select.all(id, limit).map(RECORD.read),
    health(id: string): ReturnType<WebhookStore['health']> {
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

function valuesOf({ include, previousSecret: previous, wire, ...webhook }: StoredWebhook): readonly SqlValue[] {
  const [previousSecret, previousUntilMs] = [previous?.secret ?? null, previous?.untilMs ?? null];
  const nullable = { wire: wire ?? null, previousSecret, previousUntilMs };
  return WEBHOOK.values({ ...webhook, ...nullable, include: [...include] });
}

function toWebhook(row: Row): StoredWebhook {
  const { include, wire, previousSecret: secret, previousUntilMs: untilMs, ...webhook } = WEBHOOK.read(row);
  const [rowId, change] = row.slice(-2).map(Number);
  return {
    ...webhook,
    ...(wire !== null && { wire }),
    include: includeSet(include),
    previousSecret: secret === null || untilMs === null ? null : { secret, untilMs },
    offset: { rowId: rowId ?? 0, change: change ?? 0 },
  };
}

/** Maximum number of dropped events that are remembered for each webhook (decision P6). */
const KEPT = 10_000;

/** Stores the log positions of events that webhooks dropped, and which of them will be redelivered. */
function droppedEvents(database: Sqlite) {
  const insert = database.prepare(
    `INSERT INTO dropped (webhook, row_id, change) SELECT id, ?, ? FROM webhook WHERE id = ?
     ON CONFLICT DO UPDATE SET is_replayed = 0`,
  );
  const count = database.prepare('SELECT count(*) FROM dropped WHERE webhook = ?');
  const trim = database.prepare(
    `DELETE FROM dropped WHERE webhook = ? AND (row_id, change) <=
       (SELECT row_id, change FROM dropped WHERE webhook = ? ORDER BY row_id DESC, change DESC LIMIT 1 OFFSET ${KEPT})`,
  );
  const forget = database.prepare('DELETE FROM dropped WHERE webhook = ? AND row_id > ? AND change = 0');
  const forgetChanges = database.prepare('DELETE FROM dropped WHERE webhook = ? AND change > ?');
  const mark = database.prepare('UPDATE dropped SET is_replayed = ? WHERE webhook = ?');
  const next = database.prepare(
    `SELECT row_id, change FROM dropped WHERE webhook = ? AND is_replayed <> 0 ORDER BY row_id, change LIMIT 1`,
  );
  const remove = database.prepare('DELETE FROM dropped WHERE webhook = ? AND row_id = ? AND change = ?');
  const unmark = database.prepare('UPDATE dropped SET is_replayed = 0 WHERE webhook = ? AND row_id = ? AND change = ?');
  return {
    add: (id: string, { rowId, change }: DroppedEvent): void => void insert.run(rowId, change, id),
    trim: (id: string): void => void trim.run(id, id),
    count: (id: string): number => Math.min(KEPT, Number(count.get(id)?.[0])),
    /**
     * Forgets dropped events after the offset, because the webhook continues at that offset and delivers these events
     * anyway.
     */
    forgetAfter(id: string, { rowId, change }: Offset): void {
      forget.run(id, rowId);
      forgetChanges.run(id, change);
    },
    markAll: (id: string, isReplayed: boolean): void => void mark.run(isReplayed ? 1 : 0, id),
    next: (id: string): DroppedEvent | undefined => next.all(id).map(toEvent)[0],
    end(id: string, { rowId, change }: DroppedEvent, isDropped: boolean): void {
      (isDropped ? unmark : remove).run(id, rowId, change);
    },
  };
}

function toEvent([rowId, change]: Row): DroppedEvent {
  return { rowId: Number(rowId), change: Number(change) };
}
