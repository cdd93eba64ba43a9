// The list of conversations. Only the items near the visible ones are in the document.

import { setBadge } from '../../parts/frame.ts';
import { fill, h } from '../../parts/old/dom.js';
import { codeLine, empty, face } from '../../parts/old/parts.js';
import { pageOf } from '../../service/api.ts';
import { isGroup, nameOf, newestConversations, noteConversations, peopleIn } from '../../service/directory.ts';
import { currentRoute, pathOfConversation } from '../../service/route.ts';
import { commandOf, isHub } from '../../service/service.ts';
import { counted, personOf, shortTimeOf, timeOf } from '../../service/words.ts';
import { isOfChosenMac, macTag } from './macs.js';
import { noteSeen, unseenIn } from './seen.js';

/** @import { Conversation } from '../../../../core/model/conversation.ts' */

/** @typedef {{ conversation: Conversation, readonly item: HTMLElement, readonly link: HTMLAnchorElement }} Entry */

/** The next page loads if the visible items are closer than this to the end of the list, in pixels. */
const NEAR = 400;
/** Number of items in the document at once, with at least `MARGIN` before and after the visible ones. */
const SHOWN = 90;
const MARGIN = 15;

export const list = h('ul', { id: 'conversation-list', class: 'scroll', 'aria-label': 'Conversations' });
export const none = h('div', { id: 'conversation-none', hidden: true });
export const partial = h('p', { id: 'partial', class: 'hint', role: 'status', hidden: true });

/** @type {Map<string, Entry>} */
const known = new Map();
/** All items in order. The document has only some, because browsers lay out every element. @type {HTMLElement[]} */
let items = [];
let shownFrom = 0;
/** Height of each item in pixels. */
let height = 0;
/** @type {string | undefined} */
let next;
let isLoading = false;
let isUnreadOnly = false;
/** Time of the request whose answer is shown. A newer request may be answered before an older one. */
let askedAt = 0;

/** @param {string} id */
export const shownConversation = (id) => known.get(id)?.conversation;

/** @param {{ readonly isByItself?: boolean, readonly isFresh?: boolean }} [options] */
export async function showConversations({ isByItself, isFresh = true } = {}) {
  const now = performance.now();
  const page = await newestConversations({ isByItself, isFresh });
  if (now < askedAt) return;
  askedAt = now;
  const missing = page.headers.get('Postern-Partial');
  partial.hidden = missing === null;
  partial.textContent = missing === null ? '' : `${missing} cannot be reached, so conversations there are missing.`;
  const focused = list.contains(document.activeElement)
    ? /** @type {HTMLElement} */ (document.activeElement).dataset.id
    : undefined;
  known.clear();
  items = chosenIn(page.items).map(itemOf);
  next = page.next;
  showRows();
  showNone();
  noteOpen();
  markCurrent();
  if (focused !== undefined) known.get(focused)?.link.focus();
  fillList();
}

/** Shows all conversations, or only those with unread messages. @param {boolean} isOn */
export function showUnreadOnly(isOn) {
  isUnreadOnly = isOn;
  showRows();
  showNone();
}

function showNone() {
  const isEmpty = wantedItems().length === 0;
  none.hidden = !isEmpty;
  list.hidden = isEmpty;
  if (!isEmpty) return;
  fill(
    none,
    isUnreadOnly
      ? empty('check', 'Nothing new', 'You have opened every conversation.')
      : empty(
          'chat',
          'No conversations yet',
          'They appear here as soon as Messages has some. Or write the first message:',
          codeLine(commandOf('send +15550100 "Hello"')),
        ),
  );
}

async function showMore() {
  if (next === undefined || isLoading) return;
  isLoading = true;
  try {
    const page = await pageOf(next);
    next = page.next;
    noteConversations(page.items);
    items.push(...chosenIn(page.items).map(itemOf));
    showRows();
  } catch {
    // The next scroll tries again to load this page.
    return;
  } finally {
    isLoading = false;
  }
  fillList();
}

/**
 * Returns the conversations that belong to the chosen Mac and are not yet in the list. A conversation is on two pages
 * if a message arrived in it between the two requests.
 * @param {readonly Conversation[]} conversations
 */
const chosenIn = (conversations) => conversations.filter(({ id }) => isOfChosenMac(id) && !known.has(id));

/** Loads pages until the list can scroll, because the filters may hide most of a page's conversations. */
function fillList() {
  const isShort = list.clientHeight > 0 && list.scrollHeight <= list.clientHeight;
  if ((isHub() || isUnreadOnly) && next !== undefined && isShort) void showMore();
}

/** Highlights the open conversation in the list. */
export function markCurrent() {
  const { id } = currentRoute();
  for (const [other, { link }] of known) {
    if (other === id) link.setAttribute('aria-current', 'true');
    else link.removeAttribute('aria-current');
  }
}

/** Notes that the user has seen the newest message of the open conversation. */
export function noteOpen() {
  const { view, id } = currentRoute();
  const entry = view === 'messages' && id !== undefined ? known.get(id) : undefined;
  if (entry !== undefined && document.visibilityState === 'visible') {
    noteSeen(entry.conversation);
    describe(entry);
  }
  showUnread();
}

/**
 * Shows a new message in the list. Reloads the list if the message's conversation is missing.
 * @param {any} message
 */
export async function noteMessage(message) {
  if (!isOfChosenMac(message.conversation_id)) return;
  const entry = known.get(message.conversation_id);
  if (entry === undefined) {
    if (message.conversation_id !== '') await showConversations({ isByItself: true }).catch(() => {});
    return;
  }
  const { details } = entry.conversation;
  entry.conversation = {
    ...entry.conversation,
    last_message_at: message.timestamp,
    ...(details !== undefined && {
      details: {
        ...details,
        last_message: { ...message, sentence: message.details?.sentence },
        ...(!message.is_from_me && { unread_count: unseenIn(entry.conversation) + 1 }),
      },
    }),
  };
  noteConversations([entry.conversation]);
  describe(entry);
  noteOpen();
  // Moves nothing while the list has the focus, because the user is choosing a conversation.
  if (items[0] === entry.item || list.contains(document.activeElement)) return;
  items = [entry.item, ...items.filter((other) => other !== entry.item)];
  showRows();
}

const wantedItems = () =>
  isUnreadOnly
    ? items.filter(
        (item) =>
          item.querySelector('.unread')?.hasAttribute('hidden') === false ||
          item.querySelector('[aria-current]') !== null,
      )
    : items;

/** Puts the items near the visible ones into the document, and leaves empty room for the others. */
function showRows() {
  const all = wantedItems();
  height = all[0]?.offsetHeight || /** @type {HTMLElement | null} */ (list.firstElementChild)?.offsetHeight || height;
  const first = height === 0 ? 0 : Math.floor(list.scrollTop / height);
  shownFrom = Math.max(0, Math.min(first - SHOWN / 3, all.length - SHOWN));
  const wanted = new Set(all.slice(shownFrom, shownFrom + SHOWN));
  for (const item of [...list.children]) if (!wanted.has(/** @type {HTMLElement} */ (item))) item.remove();
  // Items that stay are left alone, so that they keep the focus and are not laid out again.
  let at = list.firstElementChild;
  let position = shownFrom;
  for (const item of wanted) {
    position += 1;
    item.setAttribute('aria-posinset', String(position));
    item.setAttribute('aria-setsize', String(next === undefined ? all.length : -1));
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
  list.style.paddingTop = `${shownFrom * height}px`;
  list.style.paddingBottom = `${Math.max(0, all.length - shownFrom - SHOWN) * height}px`;
}

function showNearRows() {
  const first = list.scrollTop / height;
  const last = first + list.clientHeight / height;
  const isNearTop = shownFrom > 0 && first < shownFrom + MARGIN;
  const isNearEnd = shownFrom + SHOWN < wantedItems().length && last > shownFrom + SHOWN - MARGIN;
  if (isNearTop || isNearEnd) showRows();
}

/** Shows that a message was read on another device. @param {any} message */
export function noteRead({ conversation_id: id, is_from_me: isOwn }) {
  const entry = known.get(id);
  const details = entry?.conversation.details;
  if (entry === undefined || details === undefined || isOwn || !details.unread_count) return;
  entry.conversation = { ...entry.conversation, details: { ...details, unread_count: details.unread_count - 1 } };
  describe(entry);
  showUnread();
}

function showUnread() {
  let count = 0;
  for (const { conversation } of known.values()) count += unseenIn(conversation);
  setBadge('messages', count, 'unread');
}

/** @param {Conversation} conversation */
function itemOf(conversation) {
  const { id } = conversation;
  const name = nameOf(conversation);
  const link = h(
    'a',
    { class: 'conv', href: pathOfConversation(id), title: name, 'data-id': id },
    h('span', { class: 'unread', hidden: true }),
    face(peopleIn(conversation)),
    h(
      'span',
      'stack tight',
      h('span', 'head-line', macTag(id), h('b', { class: 'cut', dir: 'auto' }, name), h('time')),
      h('span', { class: 'last', dir: 'auto' }),
    ),
  );
  const item = h('li', null, link);
  const entry = { conversation, item, link };
  known.set(id, entry);
  describe(entry);
  return item;
}

/** Updates what changes with each message: the time, the last message, the unread count. @param {Entry} entry */
function describe({ conversation, link }) {
  const { last_message_at: at } = conversation;
  const time = link.querySelector('time');
  if (time !== null) {
    time.textContent = shortTimeOf(at);
    time.title = timeOf(at);
    time.dateTime = at;
  }
  const last = link.querySelector('.last');
  if (last !== null) last.textContent = lastWords(conversation);
  const unread = /** @type {HTMLElement} */ (link.querySelector('.unread'));
  const count = unseenIn(conversation);
  unread.hidden = count === 0;
  fill(unread, count > 0 && h('span', 'unseen', counted(count, 'unread message', 'unread messages')));
}

/** @param {Conversation} conversation */
function lastWords(conversation) {
  const { details, names } = conversation;
  const last = /** @type {any} */ (details?.last_message);
  if (!last) return '';
  const says = last.sentence ?? last.details?.sentence ?? last.body;
  const text = says === '' ? 'Attachment' : says;
  const who = last.is_from_me ? 'You' : isGroup(conversation) ? personOf(last.sender, names) : undefined;
  // Puts no name before the sentence of a group event, because that sentence begins with the name.
  return who === undefined || (last.body === '' && text.startsWith(`${who} `)) ? text : `${who}: ${text}`;
}

list.addEventListener(
  'scroll',
  () => {
    showNearRows();
    if (list.scrollHeight - list.scrollTop - list.clientHeight < NEAR) void showMore();
  },
  { passive: true },
);
list.addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const item = /** @type {Element} */ (event.target).closest('li');
  const other = event.key === 'ArrowDown' ? item?.nextElementSibling : item?.previousElementSibling;
  const link = other?.querySelector('a');
  if (!link) return;
  event.preventDefault();
  link.focus();
});
document.addEventListener('visibilitychange', noteOpen);
