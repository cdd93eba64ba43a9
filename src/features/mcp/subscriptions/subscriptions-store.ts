import type { Row, Sqlite } from '../../../core/runtime/sqlite.ts';
import { consumerPositions } from '../../../core/state/consumer-positions.ts';
import type { SubscriptionStore } from './ports.ts';
import type { StoredSubscription, SubscriptionArguments, SubscriptionHealth } from './subscription.ts';

const FIXED = 'id, key_id, name, arguments, url';
const HEALTH = 'last_delivery_ms, last_error, failed_since_ms, has_skipped, has_gap';
const CHANGEABLE = `secret, previous_secret, previous_until_ms, expires_ms, ${HEALTH}`;
const SELECT = `SELECT ${`${FIXED}, ${CHANGEABLE}`.replaceAll(/\w+/g, 'subscription.$&')}, row_id, change
  FROM subscription JOIN consumer ON consumer.name = 'subscription/' || id`;

/**
 * Stores the subscriptions of MCP Events. For each subscription, also stores the offset up to which its events have
 * been posted.
 */
export function subscriptionStore(database: Sqlite): SubscriptionStore {
  const selectAll = database.prepare(`${SELECT} ORDER BY number`);
  const select = database.prepare(`${SELECT} WHERE id = ?`);
  const columns = `${FIXED}, ${CHANGEABLE}`;
  const insert = database.prepare(`INSERT INTO subscription (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')})`);
  const positions = consumerPositions(database);
  const update = database.prepare(`UPDATE subscription SET ${CHANGEABLE.replaceAll(/\w+/g, '$& = ?')} WHERE id = ?`);
  const updateHealth = database.prepare(`UPDATE subscription SET ${HEALTH.replaceAll(/\w+/g, '$& = ?')} WHERE id = ?`);
  const remove = database.prepare('DELETE FROM subscription WHERE id = ?');
  return {
    list: () => selectAll.all().map(toSubscription),
    get(id) {
      const row = select.get(id);
      return row === undefined ? undefined : toSubscription(row);
    },
    add(subscription) {
      const { id, keyId, name, arguments: asked, url, offset } = subscription;
      database.transaction(() => {
        remove.run(id);
        insert.run(id, keyId, name, JSON.stringify(asked), url, ...changeable(subscription));
        positions.set(consumerName(id), offset);
      });
    },
    update: (subscription) => void update.run(...changeable(subscription), subscription.id),
    advance: (id, offset, health) =>
      database.transaction(() => {
        positions.move(consumerName(id), offset);
        updateHealth.run(...healthColumns(health), id);
      }),
    remove: (id) =>
      database.transaction(() => {
        remove.run(id);
        positions.remove(consumerName(id));
      }),
  };
}

/** Reports whether there are subscriptions. If there are none, the code that runs them is not loaded. */
export function hasSubscriptions(database: Sqlite): boolean {
  return database.prepare('SELECT 1 FROM subscription LIMIT 1').get() !== undefined;
}

function consumerName(id: string): string {
  return `subscription/${id}`;
}

function changeable({ secret, previousSecret, expiresMs, health }: StoredSubscription) {
  const previous = [previousSecret?.secret ?? null, previousSecret?.untilMs ?? null] as const;
  return [secret, ...previous, expiresMs, ...healthColumns(health)] as const;
}

function healthColumns({ lastDeliveryMs, lastError, failedSinceMs, hasSkipped, hasGap }: SubscriptionHealth) {
  return [lastDeliveryMs, lastError, failedSinceMs, hasSkipped ? 1 : 0, hasGap ? 1 : 0] as const;
}

function toSubscription(row: Row): StoredSubscription {
  const [id, keyId, name, asked, url, secret, previous, previousUntilMs, expiresMs, ...others] = row;
  const [lastDeliveryMs = null, lastError, failedSinceMs = null, hasSkipped, hasGap, rowId, change] = others;
  return {
    id: String(id),
    keyId: String(keyId),
    name: String(name) as StoredSubscription['name'],
    arguments: JSON.parse(String(asked)) as SubscriptionArguments,
    url: String(url),
    secret: String(secret),
    previousSecret: previous === null ? null : { secret: String(previous), untilMs: Number(previousUntilMs) },
    expiresMs: Number(expiresMs),
    health: {
      lastDeliveryMs: lastDeliveryMs === null ? null : Number(lastDeliveryMs),
      lastError: lastError === null ? null : (String(lastError) as SubscriptionHealth['lastError']),
      failedSinceMs: failedSinceMs === null ? null : Number(failedSinceMs),
      hasSkipped: hasSkipped === 1,
      hasGap: hasGap === 1,
    },
    offset: { rowId: Number(rowId), change: Number(change) },
  };
}
