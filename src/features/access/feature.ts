import { feature } from '../../core/feature.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import { declareAccessCommands } from './commands.ts';
import { ACCESS_PROBLEMS } from './problems.ts';
import { ACCESS_TABLES } from './tables.ts';

/** Limited keys: who else may use the service, and how far. Their sends may wait for the owner, and all is recorded. */
export const access = feature({
  name: 'access',
  // Held sends are decided there by tapback.
  needs: ['self-chat'],
  tables: ACCESS_TABLES,
  problems: ACCESS_PROBLEMS,
  routes: {
    listKeys: { method: 'GET', path: '/keys', key: 'header', access: 'owner' },
    addKey: { method: 'POST', path: '/keys', key: 'header', access: 'owner' },
    // Must precede `/keys/{id}`, which would match `/keys/me` too.
    getOwnKey: { method: 'GET', path: '/keys/me', key: 'header', access: 'key' },
    getKey: { method: 'GET', path: '/keys/{id}', key: 'header', access: 'owner' },
    checkKey: { method: 'GET', path: '/keys/{id}/check', key: 'header', access: 'owner' },
    changeKey: { method: 'PATCH', path: '/keys/{id}', key: 'header', access: 'owner' },
    rotateKey: { method: 'POST', path: '/keys/{id}/rotate', key: 'header', access: 'owner' },
    revokeKey: { method: 'DELETE', path: '/keys/{id}', key: 'header', access: 'owner' },
    listApprovals: { method: 'GET', path: '/approvals', key: 'header', access: ['approve'] },
    getApproval: { method: 'GET', path: '/approvals/{id}', key: 'header', access: ['send', 'approve'] },
    approveSend: { method: 'POST', path: '/approvals/{id}/approve', key: 'header', access: ['approve'] },
    denySend: { method: 'POST', path: '/approvals/{id}/deny', key: 'header', access: ['approve'] },
    withdrawSend: { method: 'DELETE', path: '/approvals/{id}', key: 'header', access: ['send'] },
    listAudit: { method: 'GET', path: '/audit', key: 'header', access: 'owner' },
  },
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  tools: async () => (await import('./tools.ts')).TOOLS,
  commands: declareAccessCommands,
  replaced: (state) => state.exec('UPDATE approval SET message_id = NULL'),
  backedUp: (copy) => endHeldSends(copy),
  restored: (state) => restoredKeys(state),
  open: async (core) => (await import('./open.ts')).openAccess(core),
});

/**
 * Ends held sends and erases their texts. The owner may approve and send them after the backup was made, and a restored
 * service must not send them again.
 */
function endHeldSends(backup: Sqlite): void {
  // A state database in which this feature never ran lacks its table.
  if (backup.prepare("SELECT 1 FROM sqlite_master WHERE name = 'approval'").get() === undefined) return;
  backup.exec(`PRAGMA secure_delete = ON;
    UPDATE approval SET state = 'void', text = NULL, problem = 'restored' WHERE state IN ('held', 'approved')`);
}

/** Says how many keys a restored backup has. Somebody else may have made the backup, and know them. */
function restoredKeys(state: Sqlite): readonly string[] {
  const keys = Number(state.prepare('SELECT count(*) FROM api_key WHERE revoked_at IS NULL').get()?.[0]);
  return keys === 0 ? [] : [`The backup has ${keys} limited ${keys === 1 ? 'key' : 'keys'}: \`postern keys list\``];
}
