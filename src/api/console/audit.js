import { call } from './api.js';
import { element, timeOf } from './elements.js';
import { nameOfKey } from './keys.js';
import { showExactly } from './visible.js';

const LIMIT = 1000;
const SHOWN = 200;

/** The newest lines of the audit log, oldest first. */
export const auditLines = () => call(`audit?limit=${LIMIT}`);

/** Shows them newest first: who did what, and the outcome. */
export function showAudit(lines) {
  element('audit-list').replaceChildren(...lines.slice(-SHOWN).reverse().map(rowOf));
  element('audit-none').hidden = lines.length > 0;
}

function rowOf({ at, key_id: id, action, outcome, target, count }) {
  const row = document.createElement('tr');
  const times = count === 1 ? '' : ` × ${count}`;
  for (const text of [timeOf(at), nameOfKey(id), action, `${outcome}${times}`, target ?? '']) {
    showExactly(row.insertCell(), text);
  }
  return row;
}
