import type { Clock } from '../../../core/model/ports/host-ports.ts';
import type { Sqlite } from '../../../core/runtime/sqlite.ts';
import { auditStore } from './audit-store.ts';

/**
 * Removes user names and passwords from the webhook URLs of limited keys, and writes a line in the audit log for each.
 * Such URLs are refused (decision M1), but earlier versions accepted them. Runs at every startup, because a backup may
 * contain such a URL.
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
