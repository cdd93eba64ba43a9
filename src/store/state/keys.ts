import type { AccessList, ApprovalMode, Caps, Scope } from '../../domain/key.ts';
import type { KeyStore, StoredKey } from '../../domain/ports/access.ts';
import type { Row, Sqlite, SqlValue } from '../../runtime/sqlite.ts';

const SETTINGS = 'read, send, approval, caps, dry_run, expires_at, callback_hosts';
const COLUMNS = `id, name, scopes, created_at, hash, previous_hash, previous_until_ms, last_used_at, ${SETTINGS}`;

/** Stores limited keys by the hashes of their secrets. */
export function keyStore(database: Sqlite): KeyStore {
  const select = database.prepare(`SELECT ${COLUMNS} FROM api_key WHERE revoked_at IS NULL ORDER BY number`);
  const insert = database.prepare(`INSERT INTO api_key (${COLUMNS}) VALUES (${COLUMNS.replaceAll(/\w+/g, '?')})`);
  const update = database.prepare(
    `UPDATE api_key SET hash = ?, previous_hash = ?, previous_until_ms = ?, read = ?, send = ?, approval = ?, caps = ?,
       dry_run = ?, expires_at = ?, callback_hosts = ? WHERE id = ?`,
  );
  const use = database.prepare('UPDATE api_key SET last_used_at = ? WHERE id = ?');
  const revoke = database.prepare('UPDATE api_key SET revoked_at = ? WHERE id = ?');
  const secret = database.prepare('SELECT value FROM secret WHERE name = ?');
  const makeSecret = database.prepare('INSERT INTO secret (name, value) VALUES (?, ?)');
  return {
    list: () => select.all().map(toKey),
    add(key) {
      const { id, name, scopes, created_at, last_used_at } = key;
      const [hash, previous, untilMs, ...settings] = changeable(key);
      insert.run(id, name, JSON.stringify(scopes), created_at, hash, previous, untilMs, last_used_at, ...settings);
    },
    update: (key) => void update.run(...changeable(key), key.id),
    noteUse: (id, at) => void use.run(at, id),
    revoke: (id, at) => void revoke.run(at, id),
    secret: (name, make) =>
      database.transaction(() => {
        const known = secret.get(name)?.[0];
        if (typeof known === 'string') return known;
        const made = make();
        makeSecret.run(name, made);
        return made;
      }),
    hasAny: () => hasKeys(database),
  };
}

/** Reports whether there was ever a limited key. */
export function hasKeys(database: Sqlite): boolean {
  return database.prepare('SELECT 1 FROM api_key LIMIT 1').get() !== undefined;
}

function changeable(key: StoredKey) {
  return [
    key.hash,
    key.previous?.hash ?? null,
    key.previous?.untilMs ?? null,
    JSON.stringify(key.read),
    JSON.stringify(key.send),
    key.approval,
    JSON.stringify(key.caps),
    key.dry_run ? 1 : 0,
    key.expires_at,
    JSON.stringify(key.callback_hosts),
  ] as const satisfies readonly SqlValue[];
}

function toKey(row: Row): StoredKey {
  const textAt = (at: number): string | null => (typeof row[at] === 'string' ? row[at] : null);
  const previous = textAt(5);
  return {
    id: String(row[0]),
    name: String(row[1]),
    scopes: JSON.parse(String(row[2])) as Scope[],
    created_at: String(row[3]),
    hash: String(row[4]),
    previous: previous === null ? null : { hash: previous, untilMs: Number(row[6]) },
    last_used_at: textAt(7),
    read: JSON.parse(String(row[8])) as AccessList,
    send: JSON.parse(String(row[9])) as AccessList,
    approval: String(row[10]) as ApprovalMode,
    caps: JSON.parse(String(row[11])) as Caps,
    dry_run: row[12] === 1,
    expires_at: textAt(13),
    callback_hosts: JSON.parse(String(row[14])) as string[],
  };
}
