// Keys, approvals and the audit log: what the owner lets others do, and what they did.

import { showApprovals, watchApprovals } from './approvals.js';
import { auditLines, showAudit } from './audit.js';
import { element, say } from './elements.js';
import { nameOfKey, showKeys } from './keys.js';

/** Offers the view behind a button of the header, which also counts what waits. */
export function offerAccess() {
  const toggle = element('access-button');
  toggle.addEventListener('click', () => {
    const isOpen = toggle.getAttribute('aria-pressed') !== 'true';
    toggle.setAttribute('aria-pressed', String(isOpen));
    element('workspace').hidden = isOpen;
    element('access').hidden = !isOpen;
    if (isOpen) void showAccess();
  });
  toggle.addEventListener('refresh', () => void showAccess());
}

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
