// Keys, approvals and the audit log: the rights the owner grants, and their use.

import { showApprovals, watchApprovals } from './approvals.js';
import { auditLines, showAudit } from './audit.js';
import { say } from './elements.js';
import { nameOfKey, showKeys } from './keys.js';

export async function showAccess() {
  try {
    const lines = await auditLines();
    await showKeys(lines);
    showAudit(lines);
    await showApprovals(nameOfKey);
    watchApprovals(nameOfKey);
  } catch (error) {
    say('approval-result', error.message, true);
  }
}
