// The audit log in words: who did what, with whom, and the outcome.

import { chip, searchBox } from '../../parts/old/choices.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { button, copy, empty, pageHead, tag } from '../../parts/old/parts.js';
import { WindowList } from '../../parts/old/window-list.js';
import { call, pageOf } from '../../service/api.ts';
import { nameIn, readDirectory, recipientOf } from '../../service/directory.ts';
import { keyName, namesOfKeys } from '../../service/service.ts';
import { addressIn, exactTimeOf, number, personOf } from '../../service/words.ts';
import { ACTIONS, outcomeIn } from './audit-words.js';

/** @import { AuditEntry } from '../../../../core/model/audit.ts' */
/** @import { Route } from '../../service/route.ts' */

/** @typedef {AuditEntry & { readonly names?: Readonly<Record<string, string>> }} Entry */

const AT_ONCE = 200;
const ROW_PX = 40;
const PHONE_ROW_PX = 64;
const NARROW = matchMedia('(max-width: 760px)');
/** Distance from the end, in pixels, at which the next page loads. */
const NEAR = 600;
const DAY_MS = 86_400_000;

const scroller = h('div', {
  class: 'scroll',
  id: 'audit-list',
  tabindex: 0,
  role: 'region',
  'aria-label': 'Audit log, newest first',
});
const box = h('section', 'card audit-box');
const keySelect = h('select', { class: 'input', 'aria-label': 'Key', id: 'audit-key' });
const actionSelect = h('select', { class: 'input', 'aria-label': 'What' });
const timeSelect = h('select', { class: 'input', 'aria-label': 'When' });

/** @type {WindowList<Entry> | undefined} */
let rows;
/** The loaded lines, newest first. @type {readonly Entry[]} */
let entries = [];
/** @type {ReadonlyMap<string, string>} */
let names = new Map();
/** Recipients of held sends, by the id of the approval. @type {ReadonlyMap<string, string>} */
let approvals = new Map();
let isRefusedOnly = false;
let text = '';
/** @type {string | undefined} */
let next;
let isLoading = false;
let asked = 0;

export function create() {
  scroller.replaceChildren();
  rows = new WindowList({
    scroller,
    height: () => (NARROW.matches ? PHONE_ROW_PX : ROW_PX),
    keyOf: ({ id }) => String(id),
    make: rowOf,
    label: 'Audit log',
  });
  fill(
    actionSelect,
    h('option', { value: '' }, 'Everything'),
    Object.entries({
      send: 'Sends',
      approval: 'Decisions',
      read: 'Reads',
      event: 'Events',
      refused: 'Refusals',
      schedule: 'Scheduled',
      key: 'Keys',
      webhook: 'Webhooks',
    }).map(([value, words]) => h('option', { value }, words)),
  );
  fill(
    timeSelect,
    [
      ['', 'Any time'],
      ['1', 'Today'],
      ['7', '7 days'],
      ['30', '30 days'],
    ].map(([value, words]) => h('option', { value }, words)),
  );
  for (const select of [keySelect, actionSelect, timeSelect]) select.onchange = () => void read();
  return {
    root: h(
      'section',
      { class: 'page audit-page fill', id: 'audit', 'data-view': 'audit', 'aria-label': 'Audit log' },
      pageHead('Audit log', {
        text: 'Who did what to whom. Kept for 90 days, without the text of any message.',
        actions: button('hide-s', [icon('copy'), 'Copy as CSV'], () => copy(csv())),
      }),
      h(
        'div',
        'filters',
        keySelect,
        actionSelect,
        timeSelect,
        searchBox('Person, group or id', (words) => {
          text = words.toLowerCase();
          show();
        }),
        chip('Only refused', false, (isOn) => {
          isRefusedOnly = isOn;
          void read();
        }),
      ),
      box,
    ),
    show: open,
  };
}

/** @param {Route} route */
async function open({ query }) {
  [names, approvals] = await Promise.all([namesOfKeys(), recipients(), readDirectory().catch(() => {})]);
  const before = query.get('key') ?? keySelect.value;
  fill(
    keySelect,
    h('option', { value: '' }, 'All keys'),
    h('option', { value: 'owner' }, 'You'),
    [...names].map(([id, name]) => h('option', { value: id }, name)),
  );
  keySelect.value = before;
  if (keySelect.value !== before) {
    keySelect.append(h('option', { value: before }, keyName(before, names)));
    keySelect.value = before;
  }
  await read();
}

async function recipients() {
  /** @type {{ id: string, to: string, members: readonly string[], names?: Readonly<Record<string, string>> }[]} */
  const held = await call('approvals?include=contacts').catch(() => []);
  return new Map(held.map((approval) => [approval.id, recipientOf(approval)]));
}

function pathOfFirst() {
  const query = new URLSearchParams({ order: 'desc', limit: String(AT_ONCE), include: 'contacts' });
  if (keySelect.value !== '') query.set('key', keySelect.value);
  if (isRefusedOnly) query.set('action', 'refused');
  else if (actionSelect.value !== '') query.set('action', actionSelect.value);
  if (timeSelect.value !== '') {
    const midnight = new Date().setHours(0, 0, 0, 0);
    query.set('since', new Date(midnight - (Number(timeSelect.value) - 1) * DAY_MS).toISOString());
  }
  return `audit?${query}`;
}

/** Reads the newest lines that match the filters. */
async function read() {
  asked += 1;
  const own = asked;
  const page = await pageOf(pathOfFirst());
  names = await namesOfKeys(page.items.map(({ key_id: id }) => id));
  if (own !== asked) return;
  entries = page.items;
  next = page.next;
  rows?.renew();
  show();
}

async function readMore() {
  if (next === undefined || isLoading) return;
  isLoading = true;
  const own = asked;
  try {
    const page = await pageOf(next);
    if (own !== asked) return;
    entries = [...entries, ...page.items];
    next = page.next;
    show();
  } catch {
    // The next scroll event sends the request again.
  } finally {
    isLoading = false;
  }
}

function show() {
  const shown =
    text === ''
      ? entries
      : entries.filter((entry) =>
          `${withWhom(entry)} ${entry.target ?? ''} ${keyName(entry.key_id, names)}`.toLowerCase().includes(text),
        );
  if (shown.length === 0) {
    const isFiltered =
      entries.length > 0 ||
      keySelect.value !== '' ||
      actionSelect.value !== '' ||
      timeSelect.value !== '' ||
      isRefusedOnly;
    fill(
      box,
      isFiltered
        ? empty('search', 'No line matches', 'Choose another key, or a longer time.')
        : empty(
            'log',
            'Nothing recorded yet',
            'Recording starts with your first limited key. What you read with your own key is not recorded.',
            h('a', { class: 'btn first', href: '#/keys/new' }, 'Create a key'),
          ),
    );
    return;
  }
  if (!scroller.isConnected) {
    fill(
      box,
      h(
        'div',
        'aud headrow',
        ['Time', 'Key', 'Did', 'Outcome', 'With', 'Times'].map((name) =>
          h('span', name === 'Times' ? 'end' : '', name),
        ),
      ),
      scroller,
    );
  }
  rows?.show(shown);
  if (next !== undefined && scroller.scrollHeight <= scroller.clientHeight) void readMore();
}

/** @param {Entry} entry */
function withWhom({ target, action, names: known }) {
  if (target === null) return '';
  if (action === 'key') return keyName(target, names);
  if (action === 'approval') return approvals.get(target) ?? target;
  return nameIn(target) ?? nameIn(`any;-;${target}`) ?? personOf(addressIn(target), known);
}

/** @param {Entry} entry */
function rowOf(entry) {
  const { at, key_id: key, action, outcome, target, count } = entry;
  const [kind, word] = outcomeIn(outcome);
  return h(
    'div',
    'aud',
    h('time', { class: 'small quiet cut', datetime: at, title: new Date(at).toLocaleString() }, exactTimeOf(at)),
    h(
      'span',
      'duo',
      h('span', { class: 'cut', dir: 'auto', title: key }, keyName(key, names)),
      h('span', { class: 'soft', title: action }, outcome === 'held' ? ACTIONS.send : (ACTIONS[action] ?? action)),
    ),
    h(
      'span',
      'duo',
      h('span', 'cut', tag(kind, h('span', { title: outcome }, word))),
      h('span', { class: 'cut', dir: 'auto', title: target ?? undefined }, withWhom(entry)),
    ),
    h('span', 'num quiet end', count > 1 ? `× ${number(count)}` : ''),
  );
}

/**
 * Returns a CSV cell. Puts an apostrophe before a value that begins like a formula, so that a spreadsheet shows it as
 * text.
 * @param {string | number} value
 */
function cell(value) {
  const plain = String(value);
  const safe = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csv = () =>
  [
    ['at', 'key', 'action', 'outcome', 'with', 'count'],
    ...entries.map((entry) => [
      entry.at,
      keyName(entry.key_id, names),
      entry.action,
      entry.outcome,
      entry.target ?? '',
      entry.count,
    ]),
  ]
    .map((line) => line.map(cell).join(','))
    .join('\n');

NARROW.addEventListener('change', () => rows?.renew());
scroller.addEventListener(
  'scroll',
  () => {
    if (scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR) void readMore();
  },
  { passive: true },
);
