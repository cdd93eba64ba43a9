import type { Clock } from '../../domain/ports/host.ts';
import type { Sqlite } from '../../runtime/sqlite.ts';
import { auditStore } from './audit.ts';

/**
 * Removes user names and passwords from the addresses of webhooks that limited keys registered before these were
 * refused (decision M1), with a line in the audit log for each. Called at each start, because a backup may hold one.
 */
export function removeUserInfoOfKeys(database: Sqlite, clock: Clock): void {
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
