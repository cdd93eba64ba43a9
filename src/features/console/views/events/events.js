// Events in columns as they happen, and one event as JSON beside them.

import { chip, searchBox } from '../../parts/old/choices.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { button, codeLine, copy, empty, pageHead } from '../../parts/old/parts.js';
import { WindowList } from '../../parts/old/window-list.js';
import { curlOf } from '../../service/api.ts';
import { nameIn, readDirectory } from '../../service/directory.ts';
import { liveState, messageTaken, onEvent, onLiveState, readEarlier, takenEvents } from '../../service/live.ts';
import { may, partsToInclude } from '../../service/service.ts';
import { number } from '../../service/words.ts';
import { eventDetail, timeIn } from './event-detail.js';
import { rate, showRate } from './event-rate.js';
import { conversationIn, GROUPS, groupOf, sentenceOf } from './event-words.js';

/** @typedef {Omit<import('../../service/live.ts').Taken, 'event'> & { readonly event: any }} Taken */

const ROW_PX = 36;
const PHONE_ROW_PX = 60;
const NARROW = matchMedia('(max-width: 760px)');

/** The groups shown; empty for all. @type {Set<string>} */
const groups = new Set();
let text = '';
let conversation = '';
/** Key of the newest event at the time of pausing; undefined unless paused. @type {string | undefined} */
let pausedAt;
/** @type {readonly Taken[]} */
let shown = [];
/** @type {Taken | undefined} */
let open;
/** @type {WindowList<Taken> | undefined} */
let rows;
let isListening = false;

const scroller = h('div', {
  class: 'scroll',
  id: 'events',
  tabindex: 0,
  role: 'region',
  'aria-label': 'Events, newest first',
});
const none = h('div');
const drawer = h('aside', { class: 'drawer', 'aria-label': 'Event', hidden: true });
const panes = h('div', 'panes', h('div', 'event-room', none, scroller), drawer);
const stateTag = h('span', { class: 'tag good', id: 'live-state', role: 'status' });
const pauseButton = button('', [icon('pause'), 'Pause'], () => pause(), { id: 'pause', 'aria-pressed': 'false' });
const chips = h('div', { class: 'filters', role: 'group', 'aria-label': 'Which events are shown', id: 'live-form' });
const chooser = h('select', { class: 'input', 'aria-label': 'Conversation' });

export function create() {
  scroller.replaceChildren(
    h(
      'div',
      'ev headrow',
      ['Time', 'Type', 'Conversation', 'What happened', 'Offset'].map((name) =>
        h('span', name === 'Offset' ? 'off' : '', name),
      ),
    ),
  );
  rows = new WindowList({
    scroller,
    height: () => (NARROW.matches ? PHONE_ROW_PX : ROW_PX),
    keyOf: ({ key }) => key,
    make: rowOf,
    label: 'Events',
  });
  chooser.onchange = () => {
    conversation = chooser.value;
    show();
  };
  const root = h(
    'section',
    { class: 'stream fill', 'data-view': 'events', 'aria-label': 'Events' },
    h(
      'div',
      'bar',
      pageHead('Events', {
        beside: stateTag,
        actions: [
          rate,
          pauseButton,
          button('hide-s', [icon('copy'), 'Copy as curl'], () =>
            copy(curlOf(`events?include=${partsToInclude()}`, '-N -H "Accept: application/x-ndjson" ')),
          ),
        ],
      }),
      h('div', 'filters', chips, chooser, searchBox('Filter by text', filterBy)),
    ),
    panes,
  );
  if (!isListening) {
    isListening = true;
    onEvent(() => root.isConnected && !root.hidden && show(1));
    onLiveState(showState);
    NARROW.addEventListener('change', () => rows?.renew());
  }
  return {
    root,
    async show() {
      showState(liveState());
      void showRate().catch(() => {});
      await Promise.all([readEarlier(), may('read') && readDirectory().catch(() => {})]);
      rows?.renew();
      show();
    },
  };
}

/** @param {string} words */
function filterBy(words) {
  text = words.toLowerCase();
  show();
}

function pause() {
  pausedAt = pausedAt === undefined ? (takenEvents()[0]?.key ?? '') : undefined;
  pauseButton.setAttribute('aria-pressed', String(pausedAt !== undefined));
  fill(pauseButton, pausedAt === undefined ? [icon('pause'), 'Pause'] : [icon('play'), 'Continue']);
  show();
}

/** Counts the events that have arrived since the view was paused. */
function waiting() {
  if (pausedAt === undefined) return 0;
  const at = takenEvents().findIndex(({ key }) => key === pausedAt);
  return at < 0 ? takenEvents().length : at;
}

/** @param {string} state */
function showState(state) {
  const count = waiting();
  const isOpen = state === 'open';
  const words = !isOpen
    ? `Not listening: ${state}`
    : pausedAt === undefined
      ? 'Live'
      : `Paused${count > 0 ? ` · ${number(count)} new` : ''}`;
  stateTag.className = `tag ${isOpen && pausedAt === undefined ? 'good' : 'warn'}`;
  if (stateTag.textContent !== words)
    fill(stateTag, h('span', `dot ${isOpen && pausedAt === undefined ? 'live' : 'warn'}`), words);
}

/** @param {number} [added] */
function show(added = 0) {
  showState(liveState());
  const all = takenEvents().slice(waiting());
  showChips(all);
  showConversationChoice(all);
  const before = shown.length;
  shown = all.filter(isWanted);
  const isEmpty = shown.length === 0;
  scroller.hidden = isEmpty;
  none.hidden = !isEmpty;
  if (isEmpty) {
    fill(
      none,
      all.length > 0
        ? empty('search', 'No event matches', 'Choose other types, or another conversation.')
        : empty(
            'pulse',
            'Listening',
            'Events appear here the moment something happens in Messages. To watch from a terminal:',
            codeLine(curlOf('events', '-N -H "Accept: application/x-ndjson" ')),
          ),
    );
  }
  rows?.show(shown, added > 0 ? Math.max(0, shown.length - before) : 0);
}

/** @param {Taken} taken */
function isWanted({ event }) {
  const { type, data } = event;
  if (groups.size > 0 && !groups.has(groupOf(type))) return false;
  if (conversation !== '' && data.conversation_id !== conversation) return false;
  if (text === '') return true;
  const words = [type, conversationIn(data, nameIn), ...sentenceOf(event, messageTaken)];
  return words.join(' ').toLowerCase().includes(text);
}

/** @param {readonly Taken[]} all */
function showChips(all) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { event } of all) counts.set(groupOf(event.type), (counts.get(groupOf(event.type)) ?? 0) + 1);
  counts.set('', all.length);
  if (chips.childElementCount === 0) {
    for (const [name, label] of /** @type {const} */ ([['', 'All'], ...GROUPS])) {
      const sign = name !== '' && h('span', `type ${name}`, h('i'));
      const one = chip([sign, label, h('span', 'num small')], false, (isOn) => {
        if (name === '') groups.clear();
        else if (isOn) groups.add(name);
        else groups.delete(name);
        show();
      });
      one.dataset.group = name;
      chips.append(one);
    }
  }
  for (const one of chips.children) {
    const { group = '' } = /** @type {HTMLElement} */ (one).dataset;
    const count = counts.get(group) ?? 0;
    one.setAttribute('aria-pressed', String(group === '' ? groups.size === 0 : groups.has(group)));
    const box = one.querySelector('.num');
    if (box !== null) box.textContent = count === 0 ? '' : number(count);
  }
}

/** @param {readonly Taken[]} all */
function showConversationChoice(all) {
  if (document.activeElement === chooser) return;
  /** @type {Map<string, string>} */
  const names = new Map();
  for (const { event } of all) {
    const { conversation_id: id } = event.data;
    if (id) names.set(id, conversationIn(event.data, nameIn));
  }
  if (names.size + 1 === chooser.options.length) return;
  fill(
    chooser,
    h('option', { value: '' }, 'All conversations'),
    [...names].map(([id, name]) => h('option', { value: id }, name)),
  );
  chooser.value = names.has(conversation) ? conversation : '';
}

/** @param {Taken} taken */
function rowOf(taken) {
  const { event, key } = taken;
  const { type, data, offset } = event;
  const [who, words] = sentenceOf(event, messageTaken);
  return h(
    'button',
    {
      type: 'button',
      class: 'ev',
      'data-type': type,
      'data-key': key,
      'aria-pressed': String(open?.key === key),
      onclick: () => openEvent(taken),
    },
    timeIn(taken),
    h('span', `type ${groupOf(type)}`, h('i'), type),
    h('span', { class: 'cut where', dir: 'auto' }, conversationIn(data, nameIn)),
    h(
      'span',
      { class: 'cut sum' },
      who !== '' && h('b', { dir: 'auto', title: data.sender || undefined }, who),
      ' ',
      h('bdi', 'soft', words),
    ),
    h('span', { class: 'off cut', title: offset ?? data.id }, data.id ?? ''),
  );
}

/** @param {Taken} taken */
function openEvent(taken) {
  open = taken;
  panes.classList.add('open');
  drawer.hidden = false;
  mark();
  fill(drawer, eventDetail(taken, step, close));
}

function mark() {
  for (const row of scroller.querySelectorAll('.ev[data-key]')) {
    row.setAttribute('aria-pressed', String(/** @type {HTMLElement} */ (row).dataset.key === open?.key));
  }
}

function close() {
  const key = open?.key;
  open = undefined;
  panes.classList.remove('open');
  drawer.hidden = true;
  mark();
  /** @type {HTMLElement | null} */ (scroller.querySelector(`[data-key="${key}"]`))?.focus();
}

/** @param {number} by */
function step(by) {
  const at = shown.findIndex(({ key }) => key === open?.key) + by;
  const next = shown[at];
  if (next === undefined) return;
  const row = rows?.reveal(at);
  openEvent(next);
  row?.focus({ preventScroll: true });
}

panes.addEventListener('keydown', (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === 'Escape' && open !== undefined) close();
  else if (by !== undefined && open !== undefined) step(by);
  else if (by !== undefined && document.activeElement?.classList.contains('ev')) {
    const key = /** @type {HTMLElement} */ (document.activeElement).dataset.key;
    rows?.reveal(Math.max(0, shown.findIndex((one) => one.key === key) + by))?.focus({ preventScroll: true });
  } else return;
  event.preventDefault();
});
