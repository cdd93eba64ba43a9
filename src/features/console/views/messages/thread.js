// The messages of the open conversation: a window of bounded size that moves as the user scrolls.

import { fill, h } from '../../parts/old/dom.js';
import { empty, toast } from '../../parts/old/parts.js';
import { pageOf } from '../../service/api.ts';
import { isOfPoll } from '../../service/content.ts';
import { reasonOf } from '../../service/words.ts';
import { arrange, messageItem, noteReactions, reactionMark } from './message-item.js';
import { around, cursorIn, pathOf } from './thread-pages.js';

/** @typedef {{ items: HTMLElement[], readonly cursor?: string | undefined }} Page */

/** Messages per request. The answer can repeat messages already shown, because a page has only one cursor. */
const MORE = 100;
const MAX_SHOWN = 400;
/** Distance from an end, in pixels, at which the next page loads. */
const NEAR = 600;
/** Changes that are noted below a message. */
const MARKS = new Set(['edited', 'unsent']);

export const list = h('ol', {
  id: 'message-list',
  class: 'log scroll',
  tabindex: 0,
  'aria-label': 'Messages, oldest first',
});
export const none = h('div', { id: 'message-none' });
export const toNewest = h(
  'button',
  { type: 'button', id: 'newest-messages', class: 'btn', hidden: true },
  'Show the newest messages',
);
let openId = '';
/** Counts openings and closings. If the count changes during a request, the answer is dropped. */
let openings = 0;
/** The pages shown, oldest first. Each has its list items and a cursor that marks one of its messages. */
let pages = /** @type {Page[]} */ ([]);
let hasOlder = false;
let hasNewer = false;
let isLoading = false;
let wasAtEnd = true;
let lastTop = 0;
/** Keeps the newest message visible when a picture loads and when the text box below grows. */
const sizes = new ResizeObserver(() => {
  if (wasAtEnd) list.scrollTop = list.scrollHeight;
});

export const openedConversation = () => openId;

/** Returns the id of the last message shown. */
export const lastShown = () => messages().at(-1)?.dataset.id;

/** @param {any} message */
function itemOf(message) {
  const item = messageItem(message);
  if (message.attachments.length > 0) sizes.observe(item);
  return item;
}

/**
 * Shows the newest messages of a conversation. If `wanted` is older, shows the messages from `wanted` on.
 * @param {string} id
 * @param {any} [wanted]
 */
export async function openConversation(id, wanted) {
  closeConversation();
  openId = id;
  hasOlder = false;
  hasNewer = false;
  none.hidden = true;
  await show(wanted);
}

export function closeConversation() {
  openId = '';
  openings += 1;
  pages = [];
  list.replaceChildren();
  toNewest.hidden = true;
  none.hidden = false;
  fill(
    none,
    empty(
      'chat',
      'Choose a conversation',
      'Its newest messages appear here. Or write to somebody with the pen above the list.',
    ),
  );
}

/** @param {any} [wanted] */
async function show(wanted) {
  const own = openings;
  list.setAttribute('aria-busy', 'true');
  try {
    const { items, next, isNewest } = await around(openId, wanted);
    // Drops the answer if the user has meanwhile opened another conversation or closed this one.
    if (own !== openings) return;
    // Puts messages that arrived as events during the request after the loaded ones.
    const known = new Set(items.map((message) => message.id));
    const later = isNewest ? messages().filter((item) => !known.has(item.dataset.id)) : [];
    pages = [{ items: [...items.map(itemOf), ...later], cursor: cursorIn(next) }];
    hasOlder = isNewest ? next !== undefined : true;
    hasNewer = !isNewest;
    render();
    wasAtEnd = wanted === undefined;
    if (wasAtEnd) list.scrollTop = list.scrollHeight;
    else mark(wanted);
    // A list that is too short to scroll causes no scroll event, so its next page is loaded here.
    noteScroll();
  } catch (error) {
    if (own === openings) toast(reasonOf(error), true);
  } finally {
    if (own === openings) list.removeAttribute('aria-busy');
  }
}

/**
 * Adds the page before or after the shown ones. Removes pages at the other end beyond `MAX_SHOWN` messages.
 * @param {boolean} isOlder
 */
async function extend(isOlder) {
  const cursor = pages.at(isOlder ? 0 : -1)?.cursor;
  if (isLoading || cursor === undefined) return;
  isLoading = true;
  const own = openings;
  try {
    const order = isOlder ? 'desc' : 'asc';
    const { items, next } = await pageOf(pathOf(openId, { limit: String(MORE), order, cursor }));
    if (own !== openings) return;
    const known = new Set(messages().map((item) => item.dataset.id));
    const added = items.filter(({ id }) => !known.has(id)).map(itemOf);
    if (isOlder) added.reverse();
    const page = { items: added, cursor: cursorIn(next) };
    const hasMore = next !== undefined && added.length > 0;
    if (isOlder) hasOlder = hasMore;
    else hasNewer = hasMore;
    if (added.length > 0) pages[isOlder ? 'unshift' : 'push'](page);
    while (pages.length > 2 && count() > MAX_SHOWN && pages.at(isOlder ? -2 : 1)?.cursor !== undefined) {
      if (isOlder) pages.pop();
      else pages.shift();
      if (isOlder) hasNewer = true;
      else hasOlder = true;
    }
    keepingPlace(added, render);
  } catch (error) {
    if (own === openings) toast(reasonOf(error), true);
  } finally {
    isLoading = false;
  }
  if (own === openings) loadWhatIsNear();
}

const count = () => pages.reduce((sum, { items }) => sum + items.length, 0);
const messages = () => /** @type {HTMLElement[]} */ ([...list.querySelectorAll(':scope > [data-id]')]);
/** @param {string} id */
const shown = (id) => messages().find((item) => item.dataset.id === id);

/**
 * Runs `change`, which inserts `added`, and then scrolls so that the first visible message does not move on the screen.
 * @param {readonly HTMLElement[]} added
 * @param {() => void} change
 */
function keepingPlace(added, change) {
  const isAdded = new Set(added);
  const top = list.getBoundingClientRect().top;
  const anchor = messages().find((item) => !isAdded.has(item) && item.getBoundingClientRect().bottom > top);
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (anchor?.isConnected && before !== undefined) list.scrollTop += anchor.getBoundingClientRect().top - before;
}

function render() {
  list.replaceChildren(...pages.flatMap(({ items }) => items));
  arrange(list);
  toNewest.hidden = !hasNewer;
}

function loadWhatIsNear() {
  if (hasOlder && list.scrollTop < NEAR) void extend(true);
  else if (hasNewer && list.scrollHeight - list.scrollTop - list.clientHeight < NEAR) void extend(false);
}

/** @param {{ readonly id: string }} message */
function mark({ id }) {
  const item = shown(id);
  if (item === undefined) return;
  item.classList.add('found');
  item.scrollIntoView({ block: 'center' });
  focusOn(item);
}

/** @param {HTMLElement} item */
function focusOn(item) {
  item.tabIndex = -1;
  item.focus({ preventScroll: true });
}

/** Reloads the newest messages of the open conversation. Does nothing while the list shows only older messages. */
export async function reloadThread() {
  if (openId !== '' && !hasNewer) await show();
}

/**
 * Updates a message if it is shown.
 * @param {any} message
 * @param {readonly string[]} changes
 */
export function updateMessage(message, changes) {
  if (changes.includes('deleted')) return removeMessage(message.id);
  if (changes.includes('restored') && message.conversation_id === openId) return void reloadThread();
  const item = shown(message.id);
  if (item === undefined) return;
  const isAtEnd = isScrolledToEnd();
  if (item.contains(document.activeElement)) focusOn(item);
  const next = messageItem(message, changes.find((name) => MARKS.has(name)) ?? item.dataset.mark);
  // An event without `details` says nothing about the quotation and the reactions, so the shown ones stay.
  if (message.details === undefined) for (const part of ['blockquote', '.reactions']) takeOver(part, item, next);
  // Keeps unchanged attachments, so that their pictures do not load again.
  if (!changes.includes('attachment') && !changes.includes('transcript')) takeOver('.attachments', item, next);
  next.classList.toggle('found', item.classList.contains('found'));
  next.querySelector('details')?.toggleAttribute('open', item.querySelector('details')?.open === true);
  // The item itself stays, so that it keeps the focus.
  for (const { name, value } of next.attributes) item.setAttribute(name, value);
  item.replaceChildren(...next.childNodes);
  if (message.attachments.length > 0) sizes.observe(item);
  arrange(list);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

/**
 * @param {string} part
 * @param {Element} from
 * @param {Element} to
 */
function takeOver(part, from, to) {
  const kept = from.querySelector(part);
  if (kept !== null) to.querySelector(part)?.replaceWith(kept);
}

/** @param {string} id */
export function removeMessage(id) {
  const item = shown(id);
  if (item === undefined) return;
  for (const page of pages) page.items = page.items.filter((other) => other !== item);
  item.remove();
  arrange(list);
}

/**
 * Adds a reaction to its message, or removes it.
 * @param {any} reaction
 * @param {boolean} isAdded
 */
export function noteReaction(reaction, isAdded) {
  if (isOfPoll(reaction)) return;
  const reactions = shown(reaction.message_id)?.querySelector('.reactions');
  if (!reactions) return;
  const isAtEnd = isScrolledToEnd();
  const mark = reactionMark(reaction);
  for (const other of [...reactions.children]) {
    const { of, kind } = /** @type {HTMLElement} */ (other).dataset;
    if (of === mark.dataset.of && (isAdded || kind === mark.dataset.kind)) other.remove();
  }
  if (isAdded) reactions.append(mark);
  noteReactions(reactions);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

const isScrolledToEnd = () => list.scrollHeight - list.scrollTop - list.clientHeight < 80;

/**
 * Adds a message that has just arrived, if its conversation is open and the list shows the newest messages.
 * @param {any} message
 */
export function addMessage(message) {
  if (message.conversation_id !== openId || hasNewer) return;
  // The list may have been loaded before the message's event, which is then the newer of the two.
  if (shown(message.id) !== undefined) return updateMessage(message, []);
  const isAtEnd = isScrolledToEnd();
  const item = itemOf(message);
  if (pages.length === 0) pages = [{ items: [] }];
  pages.at(-1)?.items.push(item);
  list.append(item);
  arrange(list);
  if (isAtEnd || message.is_from_me) list.scrollTop = list.scrollHeight;
}

function noteScroll() {
  // The list counts as scrolled to its end until the user scrolls up, even if a loading picture has moved the end out
  // of view.
  wasAtEnd = isScrolledToEnd() || (wasAtEnd && list.scrollTop >= lastTop);
  lastTop = list.scrollTop;
  loadWhatIsNear();
}

list.addEventListener('scroll', noteScroll, { passive: true });
sizes.observe(list);
toNewest.addEventListener('click', () => void openConversation(openId));
