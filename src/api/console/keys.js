import { call } from './api.js';
import { copyOf, element, say, timeOf } from './elements.js';
import { goTo } from './route.js';
import { showExactly } from './visible.js';

const SCOPES = {
  read: 'read messages',
  events: 'be told what happens',
  send: 'send',
  webhooks: 'register webhooks on this machine',
  approve: 'decide on sends that wait',
};
const APPROVAL = {
  always: 'each message waits for your decision',
  new: 'a first message to somebody waits for your decision',
  never: 'messages go out without asking you',
};
const OWNER = 'owner';
let names = new Map();

/** The owner's name for a key; its id if no longer known. */
export const nameOfKey = (id) => (id === OWNER ? 'your own key' : (names.get(id) ?? `revoked key ${id}`));

/** Shows every limited key with its rights in words, and its use today. */
export async function showKeys(lines) {
  const keys = await call('keys');
  names = new Map(keys.map(({ id, name }) => [id, name]));
  element('key-list').replaceChildren(...keys.map((key) => itemOf(key, lines)));
  element('key-none').hidden = keys.length > 0;
}

function itemOf(key, lines) {
  const { id, name, scopes, read, send, approval, dry_run: dryRun, expires_at: expires, closed } = key;
  const item = copyOf('key-item');
  const add = (text, tone) => {
    const line = document.createElement('li');
    showExactly(line, text);
    if (tone !== undefined) line.dataset.tone = tone;
    item.querySelector('.rights').append(line);
    return line;
  };
  const has = (scope) => scopes.includes(scope);
  showExactly(item.querySelector('b'), name);
  item.querySelector('.state').textContent = id;
  add(`May ${scopes.map((scope) => SCOPES[scope]).join(', ')}.`);
  if (has('read') || has('events')) add(`Reads: ${listed(read)}.`);
  if (has('send')) add(`Writes to: ${listed(send)}; ${dryRun ? 'every send is a dry run' : APPROVAL[approval]}.`);
  for (const { conversation_id: group, joined } of closed) {
    const line = add(`Closed for sending: ${group}, because ${joined.join(', ')} joined.`, 'bad');
    line.append(button(`Open it again with ${joined.length === 1 ? 'them' : 'all of them'}`, () => openAgain(key)));
  }
  add(`Today: ${today(lines.filter(({ key_id: by }) => by === id))}.`);
  add(expires === null ? 'Never expires.' : `Expires ${timeOf(expires)}.`);
  const revoke = item.querySelector('[data-do="revoke"]');
  revoke.setAttribute('aria-label', `Revoke ${name}`);
  revoke.addEventListener('click', () => void confirmed(revoke, () => end(key, item)));
  return item;
}

const listed = (list) => (list === '*' ? 'everybody' : list.join(', ') || 'nobody');

/** Totals of the audit log's lines since midnight. */
function today(lines) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const counts = { asked: 0, sent: 0, read: 0, refused: 0 };
  for (const { at, action, outcome, count } of lines) {
    if (Date.parse(at) < midnight) continue;
    if (action === 'send' && outcome === 'asked') counts.asked += count;
    else if (outcome === 'sent') counts.sent += count;
    else if (action === 'refused') counts.refused += count;
    else if (action === 'read' || action === 'event') counts.read += count;
  }
  const parts = [
    [counts.read, 'read'],
    [counts.asked, 'asked to send'],
    [counts.sent, 'sent'],
    [counts.refused, 'refused'],
  ].filter(([count]) => count > 0);
  return parts.map(([count, what]) => `${what} ${count === 1 ? 'once' : `${count} times`}`).join(', ') || 'nothing';
}

function button(text, run) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.addEventListener('click', () => void run().catch((error) => say('key-result', error.message, true)));
  return made;
}

/** Listing a group again records its current members. */
async function openAgain({ id, name, send }) {
  await call(`keys/${id}`, { method: 'PATCH', body: { send } });
  say('key-result', `“${name}” may write to the group again.`);
  goTo('#/access');
}

/** Requires a second press within a moment, because the action cannot be undone. */
async function confirmed(control, run) {
  if (control.dataset.asked === undefined) {
    control.dataset.asked = '';
    control.textContent = 'Revoke it for good?';
    control.addEventListener('blur', () => {
      delete control.dataset.asked;
      control.textContent = 'Revoke';
    });
    return;
  }
  await run().catch((error) => say('key-result', error.message, true));
}

async function end({ id, name }, item) {
  await call(`keys/${id}`, { method: 'DELETE' });
  say('key-result', `“${name}” is revoked: it opens nothing any more.`);
  item.remove();
  element('key-none').hidden = element('key-list').children.length > 0;
  element('keys-title').focus();
}
