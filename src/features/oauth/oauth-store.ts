import { isoSecond } from '../../core/model/iso-second.ts';
import type { Row, Sqlite } from '../../core/runtime/sqlite.ts';
import type { OAuthGrant, OAuthStore } from './ports.ts';

const GRANT = 'key_id, client_id, scope, access_hash, access_until_ms, refresh_hash, family_hash';

/** Stores the OAuth clients that registered themselves, and the grants, which are found by hashes of their tokens. */
export function oauthStore(database: Sqlite): OAuthStore {
  const select = database.prepare('SELECT id, name, redirect_uris FROM oauth_client WHERE id = ?');
  const count = database.prepare('SELECT count(*) FROM oauth_client');
  const forgetOldest = database.prepare(
    `DELETE FROM oauth_client WHERE number = (SELECT min(number) FROM oauth_client
      WHERE id NOT IN (SELECT client_id FROM oauth_grant))`,
  );
  const removeEnded = database.prepare(
    `DELETE FROM oauth_grant
      WHERE key_id IN (SELECT id FROM api_key WHERE revoked_at IS NOT NULL OR expires_at <= ?)`,
  );
  const insert = database.prepare('INSERT INTO oauth_client (id, name, redirect_uris, created_ms) VALUES (?, ?, ?, ?)');
  const save = database.prepare(`INSERT OR REPLACE INTO oauth_grant (${GRANT}) VALUES (?, ?, ?, ?, ?, ?, ?)`);
  const grantBy = (column: string) => database.prepare(`SELECT ${GRANT} FROM oauth_grant WHERE ${column} = ?`);
  const [byAccess, byRefresh, byFamily] = ['access_hash', 'refresh_hash', 'family_hash'].map(grantBy);
  const unredeemed = database.prepare(
    "SELECT key_id FROM oauth_grant WHERE refresh_hash = '' AND access_until_ms <= ?",
  );
  const remove = database.prepare('DELETE FROM oauth_grant WHERE key_id = ?');
  return {
    client(id) {
      const [known, name, uris] = select.get(id) ?? [];
      if (known === undefined) return undefined;
      return { id, name: String(name), redirectUris: JSON.parse(String(uris)) as string[] };
    },
    addClient: ({ id, name, redirectUris }, nowMs, max) =>
      database.transaction(() => {
        removeEnded.run(isoSecond(nowMs));
        if (Number(count.get()?.[0]) >= max && forgetOldest.run() === 0) return false;
        insert.run(id, name, JSON.stringify(redirectUris), nowMs);
        return true;
      }),
    saveGrant({ keyId, clientId, scope, accessHash, accessUntilMs, refreshHash, familyHash }) {
      save.run(keyId, clientId, scope, accessHash, accessUntilMs, refreshHash, familyHash);
    },
    grantOfAccess: (hash) => toGrant(byAccess?.get(hash)),
    grantOfRefresh: (hash) => toGrant(byRefresh?.get(hash)),
    grantOfFamily: (hash) => toGrant(byFamily?.get(hash)),
    unredeemed: (nowMs) => unredeemed.all(nowMs).map(([keyId]) => String(keyId)),
    removeGrant: (keyId) => void remove.run(keyId),
  };
}

function toGrant(row: Row | undefined): OAuthGrant | undefined {
  if (row === undefined) return undefined;
  const [keyId, clientId, scope, accessHash, accessUntilMs, refreshHash, familyHash] = row;
  return {
    keyId: String(keyId),
    clientId: String(clientId),
    scope: String(scope),
    accessHash: String(accessHash),
    accessUntilMs: Number(accessUntilMs),
    refreshHash: String(refreshHash),
    familyHash: String(familyHash),
  };
}
