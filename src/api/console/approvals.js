import { call } from './api.js';
import { copyOf, element, say, timeOf } from './elements.js';
import { showExactly } from './visible.js';

const EVERY_MS = 15_000;
const items = new Map();
let isAsking = false;
let isWatching = false;

/** Shows the sends that wait for a decision, the oldest first. An item keeps its place while the list changes. */
export async function showApprovals(nameOfKey) {
  const held = (await call('approvals?state=held')).reverse();
  const ids = new Set(held.map(({ id }) => id));
  for (const [id, item] of items) {
    // An item that somebody is about to decide must not move away under the pointer or the focus.
    if (!ids.has(id)) close(item, 'It was decided elsewhere, or nobody decided in time.');
  }
  for (const approval of held) {
    if (items.has(approval.id)) continue;
    const item = itemOf(approval, nameOfKey(approval.key_id));
    items.set(approval.id, item);
    element('approval-list').append(item);
  }
  element('approval-none').hidden = element('approval-list').children.length > 0;
  const count = document.querySelector('#access-button .count');
  count.textContent = held.length === 0 ? '' : ` (${held.length} waiting)`;
}

/** Checks regularly, so that a request appears while the page is open. */
export function watchApprovals(nameOfKey) {
  if (isWatching) return;
  isWatching = true;
  setInterval(async () => {
    if (isAsking || document.hidden || element('workspace').hidden) return;
    isAsking = true;
    await showApprovals(nameOfKey).catch((error) => say('approval-result', error.message, true));
    isAsking = false;
  }, EVERY_MS);
}

function itemOf(approval, keyName) {
  const { to, members, text, attachments, created_at: at, expires_at: expires } = approval;
  const item = copyOf('approval-item');
  const part = (name) => item.querySelector(`.${name}`);
  showExactly(part('address'), to);
  const isOnePerson = members.length === 1 && to.endsWith(members[0]);
  part('readers').hidden = isOnePerson;
  showExactly(part('readers').querySelector('span'), members.join(', '));
  showExactly(part('text'), text ?? '');
  for (const { name, bytes, sha256 } of attachments) {
    const line = document.createElement('li');
    showExactly(line, `${name}, ${bytes} bytes, sha256 ${sha256}`);
    part('files').append(line);
  }
  showExactly(part('asker'), `Asked by “${keyName}” ${timeOf(at)}; until ${timeOf(expires)}`);
  if (isOnePerson) void showName(part('name'), members[0]);
  for (const action of ['approve', 'deny']) {
    const button = item.querySelector(`[data-do="${action}"]`);
    button.setAttribute('aria-label', `${button.textContent}: to ${to}`);
    button.addEventListener('click', () => void decide(item, approval, action));
  }
  return item;
}

/** After the address, never instead: a name proves nothing. */
async function showName(line, address) {
  const people = await call(`contacts?q=${encodeURIComponent(address)}&limit=5`).catch(() => []);
  const names = people.filter(({ addresses }) => addresses.includes(address)).map(({ name }) => name);
  if (names.length > 0) showExactly(line, `in your contacts: ${names.join(', ')}`);
}

async function decide(item, { id, shown }, action) {
  const buttons = [...item.querySelectorAll('button')];
  // A disabled button loses the focus.
  const hadFocus = item.contains(document.activeElement);
  for (const button of buttons) button.disabled = true;
  try {
    const body = action === 'approve' ? { shown } : {};
    await call(`approvals/${encodeURIComponent(id)}/${action}`, { method: 'POST', body });
    const { state, problem } = await call(`approvals/${encodeURIComponent(id)}?wait=30`);
    const isBad = ['failed', 'unknown', 'void'].includes(state);
    close(item, `It is ${state}${problem === null ? '' : ` (${problem})`}.`, { isBad, hadFocus });
    say('approval-result', action === 'approve' ? `Approved: it is ${state}.` : 'Denied: nothing is sent.', isBad);
  } catch (error) {
    for (const button of buttons) button.disabled = false;
    say('approval-result', error.message, true);
  }
}

/** The item stays as a line about its outcome until the page is reloaded. */
function close(item, sentence, { isBad = false, hadFocus = item.contains(document.activeElement) } = {}) {
  if (item.dataset.ended !== undefined) return;
  item.dataset.ended = '';
  const line = item.querySelector('.end');
  line.textContent = sentence;
  line.dataset.tone = isBad ? 'bad' : 'good';
  if (hadFocus) {
    line.tabIndex = -1;
    line.focus();
  }
  item.querySelector('.buttons').remove();
}
