// The search box above the conversations: finds people and groups by name, then messages.

import { chip } from '../../parts/old/choices.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { avatar } from '../../parts/old/parts.js';
import { pageOf, statusOf } from '../../service/api.ts';
import { nameIn, suggestions } from '../../service/directory.ts';
import { goTo, pathOfConversation } from '../../service/route.ts';
import { isHub } from '../../service/service.ts';
import { number, personOf, reasonOf, shortTimeOf, timeOf } from '../../service/words.ts';

/**
 * A search begins when the user has not typed for this long, in milliseconds. A request for every letter would use up
 * the rate limit, which all clients share.
 */
const WAIT_MS = 400;
const MIN_CHARACTERS = 3;
const HITS_AT_ONCE = 30;
/**
 * Maximum length of a hit's text, in UTF-16 code units. If the first match is far from the start, the text begins
 * `SHOWN_BEFORE` code units before the match.
 */
const SHOWN_CHARACTERS = 240;
const SHOWN_BEFORE = 40;

export const input = h('input', {
  id: 'search',
  class: 'input',
  type: 'search',
  autocomplete: 'off',
  spellcheck: 'false',
  placeholder: 'Search messages',
  'aria-label': 'Search messages',
  'aria-describedby': 'search-state',
});
const state = h('p', { id: 'search-state', class: 'hint', role: 'status' });
const people = h('ul', { id: 'people-list', 'aria-label': 'People and groups', hidden: true });
const hits = h('ul', { id: 'hit-list', 'aria-label': 'Messages found, newest first' });
const more = h('button', { id: 'more-hits', type: 'button', class: 'btn', hidden: true }, 'More');
/** The results, shown in place of the conversations. */
export const found = h('div', { class: 'scroll', id: 'found', hidden: true }, people, hits, more);

/** Filters offered as buttons: the label, and the search syntax that a click adds to the search box. */
const OFFERS = /** @type {const} */ ([
  ['From', 'from:'],
  ['In', 'in:'],
  ['Files', 'has:attachment '],
  ['After', 'after:'],
]);
const offers = h(
  'div',
  { class: 'filters', role: 'group', 'aria-label': 'Narrow the search', hidden: true },
  OFFERS.map(([text, words]) =>
    chip([text === 'Files' && icon('clip'), text], false, () => {
      input.value = `${input.value.trimEnd()} ${words}`.trimStart();
      input.focus();
      if (words.endsWith(' ')) void search(input.value.trim());
    }),
  ),
);
for (const one of offers.children) one.removeAttribute('aria-pressed');

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let running = new AbortController();
let isAsking = false;
/** The query whose hits are shown or requested. */
let asked = '';
/** The chosen hit, kept so that its conversation need not load the message again. @type {any} */
let wanted;

/**
 * Returns the message of the chosen hit if it has this id, otherwise undefined. Forgets the hit in both cases.
 * @param {string} id
 */
export function takeWanted(id) {
  const message = wanted?.id === id ? wanted : undefined;
  wanted = undefined;
  return message;
}

export const searchForm = () =>
  h(
    'search',
    { hidden: isHub() },
    h(
      'form',
      {
        id: 'search-form',
        class: 'stack',
        onsubmit: (/** @type {Event} */ event) => {
          event.preventDefault();
          clearTimeout(timer);
          if (input.value.trim() !== '') void search(input.value.trim());
        },
      },
      h('div', 'searchbox', icon('search'), input),
      offers,
      state,
    ),
  );

/** Returns the query with `*` after the last word, which the user may not have finished. @param {string} text */
function unfinished(text) {
  const isQuoted = text.split('"').length % 2 === 0;
  return !isQuoted && /(?:^|\s)[\p{L}\p{M}\p{N}]{3,}$/u.test(text) ? `${text}*` : text;
}

/** @param {string} query */
async function search(query) {
  if (query === asked) return;
  asked = query;
  void showPeople(query);
  // Dates in the query are days of the zone in which the console shows times.
  const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone);
  const path = `search?limit=${HITS_AT_ONCE}&include=contacts,details&time_zone=${zone}&q=${encodeURIComponent(query)}`;
  await show(path, (items) => fill(hits, items));
}

/** Shows people and groups above the hits, because most searches are for them. @param {string} query */
async function showPeople(query) {
  const words = query.replace(/[*"]/g, '').trim();
  const entries = /\w:/.test(words) ? [] : (await suggestions(words)).slice(0, 4);
  if (query !== asked) return;
  people.hidden = entries.length === 0;
  fill(
    people,
    entries.map(({ id, name, detail, conversation = `any;-;${id}` }) =>
      h(
        'li',
        null,
        h(
          'button',
          { type: 'button', class: 'hit row', onclick: () => goTo(pathOfConversation(conversation)) },
          avatar(name, id, 's'),
          h(
            'span',
            'stack tight grow',
            h('span', { class: 'strong cut', dir: 'auto' }, name),
            h('bdi', 'quiet small cut', detail),
          ),
        ),
      ),
    ),
  );
}

/** Cancels the running search request and forgets its query. */
function abort() {
  running.abort();
  isAsking = false;
  asked = '';
}

/**
 * Requests a page of hits, and cancels the previous request.
 * @param {string} path
 * @param {(items: readonly HTMLElement[]) => void} display
 */
async function show(path, display) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  isAsking = true;
  try {
    const { items, next, headers } = await pageOf(path, { signal });
    if (signal.aborted) return;
    isAsking = false;
    display(items.map(itemOf));
    found.hidden = false;
    more.hidden = next === undefined;
    more.onclick = () => void show(next ?? '', (added) => hits.append(...added));
    say([countOf(next), completeness(headers)].filter(Boolean).join(' '));
  } catch (error) {
    if (signal.aborted) return;
    isAsking = false;
    // The service would refuse an invalid query again.
    if (statusOf(error) !== 400) asked = '';
    say(reasonOf(error), true);
  }
}

/** @param {string} text */
function say(text, isBad = false) {
  state.textContent = text;
  state.className = isBad ? 'err' : 'hint';
}

/** Empties the search box and shows the conversations again. */
export function closeSearch() {
  clearTimeout(timer);
  abort();
  input.value = '';
  fill(hits);
  people.hidden = true;
  found.hidden = true;
  more.hidden = true;
  offers.hidden = true;
  say('');
}

/** @param {string | undefined} next */
function countOf(next) {
  const count = hits.children.length;
  if (next !== undefined) return `The newest ${count} messages.`;
  if (count < 2) return count === 0 ? 'No message found.' : '1 message.';
  return `${number(count)} messages, newest first.`;
}

/** @param {Headers} headers */
function completeness(headers) {
  const [, from] = /^false(?:;\s*from=([\d-]+))?/.exec(headers.get('Postern-Search-Complete') ?? 'true') ?? [];
  return from && `The search index is still being built. So far it contains messages since ${from}.`;
}

/** @param {{ message: any, highlights: readonly (readonly [number, number])[] }} hit */
function itemOf({ message, highlights }) {
  const who = message.is_from_me ? 'You' : personOf(message.sender, message.names);
  const where = nameIn(message.conversation_id) ?? message.conversation_id;
  return h(
    'li',
    null,
    h(
      'button',
      {
        type: 'button',
        class: 'hit',
        disabled: message.conversation_id === '',
        onclick: () => {
          wanted = message;
          goTo(pathOfConversation(message.conversation_id, message.id));
        },
      },
      h(
        'span',
        'head-line',
        h('b', { class: 'cut', dir: 'auto' }, who),
        where !== who && h('span', { class: 'quiet small cut', dir: 'auto' }, `in ${where}`),
        h(
          'time',
          { class: 'quiet small', datetime: message.timestamp, title: timeOf(message.timestamp) },
          shortTimeOf(message.timestamp),
        ),
      ),
      h('span', { class: 'text', dir: 'auto' }, textOf(message, highlights)),
    ),
  );
}

/**
 * Returns the part of the text around the first match, with the matches marked. Returns the file names if there is no
 * text.
 * @param {any} message
 * @param {readonly (readonly [number, number])[]} highlights
 */
function textOf({ body, attachments, details }, highlights) {
  const files = attachments.map((/** @type {string} */ path) => `[${path.split('/').at(-1)}]`);
  // Without highlights, the match is outside the body, for example in the title of a link.
  if (highlights.length === 0 && details?.sentence !== undefined) return [[details.sentence, ...files].join(' ')];
  if (body === '') return [files.join(' ')];
  const first = highlights[0]?.[0] ?? 0;
  let at = first < SHOWN_CHARACTERS / 2 ? 0 : first - SHOWN_BEFORE;
  if (/[\udc00-\udfff]/.test(body.charAt(at))) at -= 1;
  /** @type {(string | Node)[]} */
  const parts = at === 0 ? [] : ['…'];
  const end = at + SHOWN_CHARACTERS;
  for (const [from, to] of highlights) {
    if (from >= end) break;
    parts.push(body.slice(at, from), h('mark', null, body.slice(from, to)));
    at = to;
  }
  if (at < body.length) parts.push(at < end ? body.slice(at, end) : '', body.length > end ? '…' : '');
  return parts;
}

input.addEventListener('input', (event) => {
  clearTimeout(timer);
  if (isAsking) abort();
  const text = input.value.trim();
  offers.hidden = text === '';
  if (text === '') closeSearch();
  else if (!(/** @type {InputEvent} */ (event).isComposing) && [...text].length >= MIN_CHARACTERS) {
    timer = setTimeout(() => void search(unfinished(text)), WAIT_MS);
  }
});
input.addEventListener('compositionend', () => input.dispatchEvent(new Event('input')));
input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') closeSearch();
  else if (event.key === 'ArrowDown') found.querySelector('button')?.focus();
});
found.addEventListener('keydown', (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const all = [...found.querySelectorAll('button')];
  const at = all.indexOf(/** @type {HTMLButtonElement} */ (event.target));
  if (step === undefined || at < 0) return;
  event.preventDefault();
  (all[at + step] ?? (at === 0 ? input : all[at]))?.focus();
});
