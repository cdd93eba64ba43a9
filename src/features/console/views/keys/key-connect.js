// The last step of a new key: its secret, the lines for clients, and the wait for its first request.

import { segments } from '../../parts/old/choices.js';
import { fill, h } from '../../parts/old/dom.js';
import { codeLine, note } from '../../parts/old/parts.js';
import { call } from '../../service/api.ts';

const LOOK_MS = 5000;

/** @type {ReturnType<typeof setInterval> | undefined} */
let looking;

export function stopLooking() {
  clearInterval(looking);
}

/**
 * Shows the secret and the lines for clients, and watches for the first request. @param {any} made the key, with its
 * secret
 */
export function connectStep(made) {
  const waiting = h(
    'p',
    { class: 'row quiet', role: 'status', id: 'first-request' },
    h('span', 'dot live'),
    'Waiting for its first request …',
  );
  const { id, clients = [] } = made;
  const lines = h('div', { class: 'stack', id: 'client-lines' });
  /** @param {string} name */
  const showClient = (name) => {
    const { where, lines: text } = clients.find((/** @type {any} */ { client }) => client === name);
    fill(
      lines,
      h('p', 'hint', `${where.charAt(0).toUpperCase()}${where.slice(1)}:`),
      codeLine(text.join('\n'), `Copy the lines for ${name}`),
    );
  };
  const names = clients.map((/** @type {any} */ { client }) => /** @type {const} */ ([client, client]));
  if (clients.length > 0) showClient(clients[0].client);
  looking = setInterval(async () => {
    if (!waiting.isConnected || document.hidden) return;
    const { last_used_at: used } = await call(`keys/${id}`, { isByItself: true }).catch(() => ({ last_used_at: null }));
    if (used === null) return;
    clearInterval(looking);
    fill(waiting, h('span', 'dot good'), 'Its first request has arrived: it works.');
  }, LOOK_MS);
  return h(
    'fieldset',
    'stack loose',
    h('legend', null, 'Connect it'),
    note(
      'accent',
      h(
        'p',
        null,
        h('strong', null, 'The key is shown only once.'),
        ' Copy it now. If you lose it, make a new secret.',
      ),
    ),
    h('div', 'field', h('span', 'label', 'Key'), codeLine(made.key, 'Copy the key')),
    clients.length > 0 && [segments('For which client?', names, clients[0].client, showClient), lines],
    waiting,
  );
}
