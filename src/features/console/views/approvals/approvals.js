// Sends that wait for a decision, as cards: exactly what would be sent, to whom, and the time left.

import { noteHeld, onHeld } from '../../parts/held-watch.ts';
import { fill, h } from '../../parts/old/dom.js';
import { codeLine, empty, pageHead, tag, toast } from '../../parts/old/parts.js';
import { call, statusOf } from '../../service/api.ts';
import { readDirectory, recipientOf } from '../../service/directory.ts';
import { commandOf, keyName, may, namesOfKeys } from '../../service/service.ts';
import { reasonOf, timeOf } from '../../service/words.ts';
import { cardOf, showLeft } from './approval-card.js';

/** @import { Approval } from '../../../../core/model/approval.ts' */

/** @typedef {Approval & { readonly names?: Readonly<Record<string, string>>, readonly new_contact?: boolean }} Shown */

const DECIDED = 12;
/**
 * Maximum length of the API's list of approvals. A list of this length may lack older sends that still wait, so those
 * are requested separately.
 */
const MOST = 200;
const MINUTE_MS = 60_000;
const list = h('div', { class: 'c8 stack loose', id: 'approval-list' });
const decided = h('ul', { class: 'decided', id: 'decided-list' });
const none = h('section', 'card c12');
const besides = h('section', { class: 'card c4 top' });
const root = h('div', { class: 'page', id: 'approvals', 'data-view': 'approvals' });

/** The card of each approval, by the approval's id. @type {Map<string, HTMLElement>} */
const cards = new Map();
/** @type {ReadonlyMap<string, string>} */
let names = new Map();
let isListening = false;

export function create() {
  fill(
    root,
    pageHead('Approvals', {
      text: 'Messages from limited keys that need your approval. They go out exactly as shown here, or not at all.',
    }),
    h('div', 'cols', none, list, besides),
  );
  if (!isListening) {
    isListening = true;
    onHeld((held) => {
      const isKnown = held.length === openCards().length && held.every(({ id }) => cards.has(id));
      if (root.isConnected && !root.hidden && !isKnown) void read().catch(() => {});
    });
    setInterval(() => {
      if (!root.hidden && root.isConnected) for (const card of openCards()) showLeft(card);
    }, MINUTE_MS);
  }
  return {
    root,
    async show() {
      // Removes the cards of ended sends, which stayed in the list until the view was opened again.
      for (const [id, card] of cards) if (card.dataset.ended !== undefined) drop(id);
      if (may('read')) await readDirectory().catch(() => {});
      await read();
    },
  };
}

const openCards = () => [...cards.values()].filter((card) => card.dataset.ended === undefined);

/** @param {string} id */
function drop(id) {
  cards.get(id)?.remove();
  cards.delete(id);
}

async function read() {
  /** @type {readonly Shown[]} */
  const all = await call('approvals?include=contacts');
  names = await namesOfKeys(all.map(({ key_id: id }) => id));
  /** @type {Shown[]} */
  const held =
    all.length < MOST
      ? all.filter(({ state }) => state === 'held')
      : await call('approvals?state=held&include=contacts');
  noteHeld(held.length);
  const ids = new Set(held.map(({ id }) => id));
  for (const [id, card] of cards) {
    // Leaves an ended card in the list, so that the card under the pointer or with the focus does not move.
    if (!ids.has(id)) end(card, 'It was decided elsewhere, or nobody decided in time.');
  }
  for (const approval of held.sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at))) {
    if (cards.has(approval.id)) continue;
    const card = cardOf(approval, names, decide);
    cards.set(approval.id, card);
    list.append(card);
  }
  showNone();
  showDecided(all.filter(({ state }) => state !== 'held').slice(0, DECIDED));
}

function showNone() {
  const isEmpty = cards.size === 0;
  none.hidden = !isEmpty;
  list.hidden = isEmpty;
  if (isEmpty) {
    fill(
      none,
      empty(
        'hand',
        'No messages are waiting for approval',
        'Sends that need your decision appear here and in the menu bar. To try it, give an agent a key:',
        codeLine(commandOf('keys add agent --preset assistant --send "Ana Silva"')),
      ),
    );
  }
}

/** @param {readonly Shown[]} approvals */
function showDecided(approvals) {
  besides.hidden = approvals.length === 0;
  fill(
    besides,
    h('header', null, h('h2', null, 'Decided lately'), h('a', { class: 'small', href: '#/audit' }, 'Audit log')),
    fill(decided, approvals.map(decidedRow)),
  );
}

/** @type {Readonly<Record<string, readonly [kind: string, word: string]>>} */
const ENDS = {
  sent: ['good', 'Sent'],
  scheduled: ['good', 'Scheduled'],
  approved: ['accent', 'Approved'],
  pending: ['accent', 'Handed over'],
  failed: ['bad', 'Failed'],
  unknown: ['warn', 'Unknown'],
  denied: ['bad', 'Denied'],
  void: ['warn', 'Void'],
  expired: ['', 'Expired'],
  withdrawn: ['', 'Withdrawn'],
};

/** @param {Shown} approval */
function decidedRow(approval) {
  const { state, key_id: key, decided_by: by, decided_at: at, problem } = approval;
  const [kind, word] = ENDS[state] ?? ['', state];
  return h(
    'li',
    null,
    tag(kind, word),
    h('span', { class: 'cut', dir: 'auto' }, recipientOf(approval)),
    h('span', 'quiet small num', at === null ? '' : timeOf(at)),
    h(
      'span',
      { class: 'quiet small cut', title: problem ?? undefined },
      `${keyName(key, names)} · ${by === null ? (problem ?? 'nobody') : keyName(by, names)}`,
    ),
  );
}

/**
 * @param {HTMLElement} card
 * @param {Shown} approval
 * @param {'approve' | 'deny'} action
 */
async function decide(card, { id, shown }, action) {
  const buttons = [...card.querySelectorAll('button')];
  // Looks for the focus before the buttons are disabled, because a disabled button loses the focus.
  const hadFocus = card.contains(document.activeElement);
  for (const one of buttons) one.disabled = true;
  try {
    await call(`approvals/${encodeURIComponent(id)}/${action}`, {
      method: 'POST',
      body: action === 'approve' ? { shown } : {},
    });
    const { state, problem } = await call(`approvals/${encodeURIComponent(id)}?wait=30`);
    const isBad = ['failed', 'unknown', 'void'].includes(state);
    const [, word = state] = ENDS[state] ?? [];
    end(card, `${word}${problem === null ? '' : ` (${problem})`}`, { isBad, hadFocus });
    toast(
      action === 'deny' ? 'Denied: nothing is sent' : isBad ? `${word}: ${problem ?? 'see Messages'}` : `${word}`,
      isBad,
    );
    void read().catch(() => {});
  } catch (error) {
    for (const one of buttons) one.disabled = false;
    toast(reasonOf(error), true);
    // 409: somebody has joined the group, or the send was decided elsewhere. Makes the card again from the current
    // state.
    if (statusOf(error) === 409) {
      drop(id);
      await read().catch(() => {});
    }
  }
}

/**
 * Shows the outcome on a card and removes its buttons. The card stays until the view is opened again.
 * @param {HTMLElement} card
 * @param {string} sentence
 */
function end(card, sentence, { isBad = false, hadFocus = card.contains(document.activeElement) } = {}) {
  if (card.dataset.ended !== undefined) return;
  card.dataset.ended = '';
  const line = /** @type {HTMLElement} */ (card.querySelector('.outcome'));
  line.hidden = false;
  fill(line, h('span', `state ${isBad ? 'bad' : 'off'}`, sentence));
  card.querySelector('.acts')?.remove();
  card.querySelector('.time-left')?.replaceChildren();
  if (!hadFocus) return;
  line.tabIndex = -1;
  line.focus();
}
