import { feature } from '../../core/feature.ts';
import { declareAccessCommands } from './commands.ts';
import { endHeldSends, restoredKeys } from './ended.ts';
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
  async open(core) {
    const { openAccess } = await import('./open.ts');
    return openAccess(core);
  },
});
