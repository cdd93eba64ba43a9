// The overview's list of problems and decisions that need the user, each with a button.

import { h, icon } from '../../parts/old/dom.js';
import { countdown, empty, tag } from '../../parts/old/parts.js';
import { exactly } from '../../parts/old/visible.js';
import { recipientOf } from '../../service/directory.ts';
import { bytesOf, counted, listed } from '../../service/words.ts';

export const NEARLY_FULL = 0.9;

/** @param {any} overview */
export function needsCard({ status, approvals = [], webhooks = [], host }) {
  /** @type {HTMLElement[]} */
  const items = [];
  for (const { name, state, detail } of status.permissions) {
    if (state === 'denied')
      items.push(
        todo(
          'lock',
          'bad',
          name === 'full_disk_access' ? 'Grant Full Disk Access' : 'Allow automation of Messages',
          detail,
          h('a', { class: 'btn mini first', href: '#/settings' }, 'Show how'),
        ),
      );
  }
  const [first] = [...approvals].sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at));
  if (first !== undefined) {
    const names = new Set(approvals.map((/** @type {any} */ { key_name: name, key_id: id }) => name ?? id));
    const who = listed([...names]);
    const count = status.held_sends ?? approvals.length;
    items.push(
      todo(
        'hand',
        'accent',
        `${who} ${names.size === 1 ? 'asks' : 'ask'} to send ${count === 1 ? 'a message' : `${count} messages`}`,
        [
          h('span', null, 'To ', exactly(h('bdi'), recipientOf(first)), ': '),
          exactly(h('q', { class: 'cut2', dir: 'auto' }), first.text ?? ''),
        ],
        h('a', { class: 'btn mini first', href: '#/approvals' }, count === 1 ? 'Review' : 'Review all'),
        countdown(first.created_at, first.expires_at),
      ),
    );
  }
  for (const { id, name, origin, state, last_error: error, paused_by: pausedBy } of status.webhooks) {
    if (state !== 'failing' && state !== 'held' && pausedBy === undefined) continue;
    const known = webhooks.find((/** @type {any} */ one) => one.id === id);
    const behind = known?.behind ?? 0;
    const rest =
      pausedBy !== undefined
        ? `${counted(Math.max(1, behind), 'event')} kept until you resume it.`
        : state === 'held'
          ? `${counted(Math.max(1, behind), 'event')} kept until the receiver accepts ${behind > 1 ? 'them' : 'it'}.`
          : behind > 0
            ? `${counted(behind, 'event')} behind.`
            : '';
    items.push(
      todo(
        'alert',
        state === 'failing' ? 'bad' : 'warn',
        `${name ?? origin} ${pausedBy === undefined ? (state === 'held' ? 'holds its events' : 'fails') : 'was paused by its receiver'}`,
        `${error ?? ''} ${rest}`,
        h('a', { class: 'btn mini', href: `#/webhooks/${encodeURIComponent(id)}` }, 'See deliveries'),
      ),
    );
  }
  if (host !== undefined && host.disk_total > 0 && 1 - host.disk_free / host.disk_total > NEARLY_FULL) {
    items.push(
      todo(
        'db',
        'warn',
        'The disk is nearly full',
        `${bytesOf(host.disk_free)} are free. A full disk stops Messages, and Postern with it.`,
      ),
    );
  }
  return h(
    'section',
    'card c4 needs',
    h('header', null, h('h2', null, 'Needs you'), items.length > 0 && tag('warn', items.length)),
    items.length === 0
      ? empty('check', 'Nothing needs you', 'Sends to decide on and problems to solve appear here.')
      : h('ul', 'todo', items),
  );
}

/**
 * @param {string} name
 * @param {string} tone
 * @param {string} title
 * @param {import('../../parts/old/dom.js').Children} text
 * @param {...import('../../parts/old/dom.js').Children} actions
 */
const todo = (name, tone, title, text, ...actions) =>
  h(
    'li',
    null,
    h('span', tone, icon(name)),
    h(
      'div',
      'stack tight',
      exactly(h('b', { dir: 'auto' }), title),
      h('span', 'soft', text),
      actions.length > 0 && h('div', 'acts', actions),
    ),
  );
