import type { ApprovalMode, Caps } from '../../../client/key-types.ts';
import type { AccessList, Scope } from '../../../core/model/key.ts';
import type { Row, Sqlite, SqlValue } from '../../../core/runtime/sqlite.ts';
import { columnTypes, recordOf } from '../../../core/state/record.ts';
import type { KeyStore, StoredKey } from '../ports.ts';

const KEY = recordOf({
  id: columnTypes.text(),
  name: columnTypes.text(),
  scopes: columnTypes.json<readonly Scope[]>(),
  created_at: columnTypes.text(),
  hash: columnTypes.text(),
  previousHash: columnTypes.orNull(columnTypes.text()),
  previousUntilMs: columnTypes.orNull(columnTypes.number()),
  last_used_at: columnTypes.orNull(columnTypes.text()),
  read: columnTypes.json<AccessList>(),
  send: columnTypes.json<AccessList>(),
  approval: columnTypes.text<ApprovalMode>(),
  caps: columnTypes.json<Caps>(),
  dry_run: columnTypes.flag(),
  expires_at: columnTypes.orNull(columnTypes.text()),
  callback_hosts: columnTypes.json<readonly string[]>(),
  max_wait_s: columnTypes.number(),
});

const MAX_REVOKED = 1000;

/** Stores limited keys, with hashes of their secrets in place of the secrets. */
export function keyStore(database: Sqlite): KeyStore {
  const select = database.prepare(`SELECT ${KEY.columns} FROM api_key WHERE revoked_at IS NULL ORDER BY number`);
  const revoked = database.prepare(
    `SELECT ${KEY.columns}, revoked_at FROM api_key WHERE revoked_at IS NOT NULL ORDER BY number DESC LIMIT ?`,
  );
  const insert = database.prepare(`INSERT ${KEY.insert('api_key')}`);
  const update = database.prepare(`${KEY.update('api_key')} WHERE id = ?`);
  const use = database.prepare('UPDATE api_key SET last_used_at = ? WHERE id = ?');
  const revoke = database.prepare('UPDATE api_key SET revoked_at = ? WHERE id = ?');
  const secret = database.prepare('SELECT value FROM secret WHERE name = ?');
  const makeSecret = database.prepare('INSERT INTO secret (name, value) VALUES (?, ?)');
  const any = database.prepare('SELECT 1 FROM api_key LIMIT 1');
  return {
    list: () => select.all().map(toKey),
    add: (key) => void insert.run(...valuesOf(key)),
    update: (key) => void update.run(...valuesOf(key), key.id),
    noteUse: (id, at) => void use.run(at, id),
    revoke: (id, at) => void revoke.run(at, id),
    revoked: () => revoked.all(MAX_REVOKED).map((row) => ({ ...toKey(row), revoked_at: String(row.at(-1)) })),
    secret: (name, make) =>
      database.transaction(() => {
        const known = secret.get(name)?.[0];
        if (typeof known === 'string') return known;
        const made = make();
        makeSecret.run(name, made);
        return made;
      }),
    hasAny: () => any.get() !== undefined,
  };
}

function valuesOf({ previous, ...key }: StoredKey): readonly SqlValue[] {
  return KEY.values({ ...key, previousHash: previous?.hash ?? null, previousUntilMs: previous?.untilMs ?? null });
}

function toKey(row: Row): StoredKey {
  const { previousHash: hash, previousUntilMs: untilMs, ...key } = KEY.read(row);
  return { ...key, previous: hash === null || untilMs === null ? null : { hash, untilMs } };
}
