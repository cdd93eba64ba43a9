import { pageOf } from './api.js';
import { shownName } from './conversations.js';
import { copyOf, element, personOf, say, timeOf } from './elements.js';
import { wantMessage } from './messages-view.js';
import { goTo, pathOfConversation } from './route.js';

/** All clients share the rate limit: nothing is requested while somebody types. */
const WAIT_MS = 400;
const MIN_CHARACTERS = 3;
const HITS_AT_ONCE = 30;
/** Length of the shown text, and of the part before the first match. */
const SHOWN_CHARACTERS = 240;
const SHOWN_BEFORE = 40;

const input = element('search');
const list = element('hit-list');
const more = element('more-hits');
let timer;
let running = new AbortController();
let isAsking = false;
/** The query of the shown hits. */
let asked = '';

/** The search box. Searches shortly after the last key, or at once with Enter. */
export function offerSearch() {
  input.addEventListener('input', ({ isComposing }) => {
    clearTimeout(timer);
    if (isAsking) abort();
    const text = input.value.trim();
    if (text === '') close();
    else if (!isComposing && [...text].length >= MIN_CHARACTERS) {
      timer = setTimeout(() => void search(unfinished(text)), WAIT_MS);
    }
  });
  input.addEventListener('compositionend', () => input.dispatchEvent(new Event('input')));
  input.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') close();
    else if (key === 'ArrowDown') list.querySelector('button')?.focus();
  });
  element('search-form').addEventListener('submit', (event) => {
    event.preventDefault();
    clearTimeout(timer);
    if (input.value.trim() !== '') void search(input.value.trim());
  });
}

/** While somebody types, the last word may be unfinished. */
function unfinished(text) {
  const isQuoted = text.split('"').length % 2 === 0;
  return !isQuoted && /(?:^|\s)[\p{L}\p{M}\p{N}]{3,}$/u.test(text) ? `${text}*` : text;
}

async function search(query) {
  if (query === asked) return;
  asked = query;
  await show(`search?limit=${HITS_AT_ONCE}&include=contacts,details&q=${encodeURIComponent(query)}`, (items) =>
    list.replaceChildren(...items),
  );
}

/** Cancels the request whose answer is no longer needed. */
function abort() {
  running.abort();
  isAsking = false;
  asked = '';
}

/** Requests a page of hits, and cancels the previous request. */
async function show(path, place) {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  isAsking = true;
  try {
    const { items, next, headers } = await pageOf(path, { signal });
    if (signal.aborted) return;
    isAsking = false;
    place(items.map(itemOf));
    list.hidden = false;
    element('conversation-list').hidden = true;
    more.hidden = next === undefined;
    more.onclick = () => void show(next, (added) => list.append(...added));
    say('search-state', [countOf(next), completeness(headers)].filter(Boolean).join(' '));
  } catch (error) {
    if (signal.aborted) return;
    isAsking = false;
    asked = '';
    say('search-state', error.message, true);
  }
}

/** Returns to the conversations. */
function close() {
  clearTimeout(timer);
  abort();
  input.value = '';
  list.replaceChildren();
  list.hidden = true;
  more.hidden = true;
  element('conversation-list').hidden = false;
  say('search-state', '');
}

function countOf(next) {
  const count = list.children.length;
  if (next !== undefined) return `The newest ${count} messages.`;
  return count === 0 ? 'No message found.' : `${count} ${count === 1 ? 'message' : 'messages'}.`;
}

function completeness(headers) {
  const [, from] = /^false(?:;\s*from=([\d-]+))?/.exec(headers.get('Postern-Search-Complete') ?? 'true') ?? [];
  return from && `The index is being built: it has the messages since ${from}.`;
}

function itemOf({ message, highlights }) {
  const item = copyOf('hit-item');
  const button = item.querySelector('button');
  const time = item.querySelector('time');
  item.querySelector('strong').textContent = message.is_from_me ? 'me' : personOf(message.sender, message.names);
  item.querySelector('.conversation').textContent = shownName(message.conversation_id);
  item.querySelector('.text').append(...textOf(message, highlights));
  time.textContent = timeOf(message.timestamp);
  time.dateTime = message.timestamp;
  button.disabled = message.conversation_id === '';
  button.addEventListener('click', () => {
    wantMessage(message);
    goTo(pathOfConversation(message.conversation_id, message.id));
  });
  return item;
}

/** The part of the text around the first match, with marks; file names for a message without text. */
function textOf({ body, attachments, details }, highlights) {
  // The match is not in a text, but for example in the title of a link.
  const files = attachments.map((path) => `[${path.split('/').at(-1)}]`);
  if (highlights.length === 0 && details?.sentence !== undefined) return [[details.sentence, ...files].join(' ')];
  if (body === '') return [files.join(' ')];
  const first = highlights[0]?.[0] ?? 0;
  let at = first < SHOWN_CHARACTERS / 2 ? 0 : first - SHOWN_BEFORE;
  if (/[\udc00-\udfff]/.test(body.charAt(at))) at -= 1;
  const parts = at === 0 ? [] : ['…'];
  const end = at + SHOWN_CHARACTERS;
  for (const [from, to] of highlights) {
    if (from >= end) break;
    const mark = document.createElement('mark');
    mark.textContent = body.slice(from, to);
    parts.push(body.slice(at, from), mark);
    at = to;
  }
  if (at < body.length) parts.push(at < end ? body.slice(at, end) : '', body.length > end ? '…' : '');
  return parts;
}
