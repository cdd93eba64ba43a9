import { pageOf } from './api.js';
import { copyOf, element, personOf, shortTimeOf, timeOf } from './elements.js';
import { isHub, isOfChosenMac, macOf, macTag, partsToInclude } from './fleet.js';
import { currentRoute, goTo, pathOfConversation } from './route.js';

/** Number of colours in conversations.css. */
const HUES = 6;
const AT_ONCE = 50;
/** Distance from the end, in pixels, at which the next page is loaded. */
const NEAR = 400;
/** Number of items in the page at once, and the minimum before and after the visible ones. */
const PLACED = 90;
const MARGIN = 15;

const list = element('conversation-list');
/** Items in the list: the known data of each, and its button. */
const known = new Map();
/**
 * All items in order. The page contains only those near the visible ones: a browser lays out everything it contains.
 */
let items = [];
let placedFrom = 0;
/** Height of each item in pixels. */
let height = 0;
let next;
let isLoading = false;

/** A conversation's name for a person. */
export const nameOf = ({ display_name, participants, id, names }) =>
  display_name ?? (participants.map((address) => personOf(address, names)).join(', ') || id);

/** The list's name of a conversation; its id if it is not in the list. */
export const shownName = (id) => known.get(id)?.button.title ?? id;

/** A conversation of the list; undefined if it is not there. */
export const conversationOf = (id) => known.get(id)?.conversation;

export async function showConversations(options) {
  const page = await pageOf(`conversations?limit=${AT_ONCE}&include=${partsToInclude()}`, options);
  showMissing(page.headers.get('Postern-Partial'));
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.id : undefined;
  known.clear();
  items = chosenIn(page.items).map(itemOf);
  place();
  next = page.next;
  element('conversation-none').hidden = page.items.length > 0;
  showUnread();
  markCurrent();
  if (focused !== undefined) known.get(focused)?.button.focus();
  fillList();
}

async function showMore() {
  if (next === undefined || isLoading) return;
  isLoading = true;
  try {
    const page = await pageOf(next);
    next = page.next;
    items.push(...chosenIn(page.items).map(itemOf));
    place();
  } catch {
    // The next scroll tries again.
    return;
  } finally {
    isLoading = false;
  }
  fillList();
}

/** Conversations to show that are not in the list yet: one with a new message since the previous page appears twice. */
const chosenIn = (conversations) => conversations.filter(({ id }) => isOfChosenMac(id) && !known.has(id));

/** A page may contain little of the chosen Mac, and a list that does not scroll loads no more. */
function fillList() {
  const isShort = list.clientHeight > 0 && list.scrollHeight <= list.clientHeight;
  if (isHub() && next !== undefined && isShort) void showMore();
}

function showMissing(macs) {
  element('partial').hidden = macs === null;
  element('partial').textContent = macs === null ? '' : `Without ${macs}: away.`;
}

/** The list is the first thing a keyboard reaches after the key. */
export function focusConversations() {
  (list.querySelector('button') ?? element('recipient')).focus();
}

/** Marks the open conversation. */
export function markCurrent() {
  const { id } = currentRoute();
  for (const [other, { button }] of known) button.setAttribute('aria-current', String(other === id));
}

/** Shows a new message in the list. Reloads the list if its conversation is missing. */
export async function noteMessage(message) {
  if (!isOfChosenMac(message.conversation_id)) return;
  const entry = known.get(message.conversation_id);
  if (entry === undefined) {
    if (message.conversation_id !== '') await showConversations({ isByItself: true }).catch(() => {});
    return;
  }
  const { button, conversation } = entry;
  const { details } = conversation;
  conversation.last_message_at = message.timestamp;
  if (details !== undefined) {
    details.last_message = message;
    if (!message.is_from_me && details.unread_count !== undefined) details.unread_count += 1;
  }
  describe(button, conversation);
  showUnread();
  // Nothing moves under the finger of somebody walking through the list.
  const item = button.parentElement;
  if (items[0] !== item && !list.contains(document.activeElement)) {
    items = [item, ...items.filter((other) => other !== item)];
    place();
  }
}

/** Places the items near the visible ones, and room for the others. */
function place() {
  height = items[0]?.offsetHeight || list.firstElementChild?.offsetHeight || height;
  const first = height === 0 ? 0 : Math.floor(list.scrollTop / height);
  placedFrom = Math.max(0, Math.min(first - PLACED / 3, items.length - PLACED));
  const wanted = new Set(items.slice(placedFrom, placedFrom + PLACED));
  for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
  // Items that stay are not touched: they keep the focus, and are not laid out again.
  let at = list.firstElementChild;
  for (const item of wanted) {
    if (item === at) at = at.nextElementSibling;
    else list.insertBefore(item, at);
  }
  list.style.paddingTop = `${placedFrom * height}px`;
  list.style.paddingBottom = `${Math.max(0, items.length - placedFrom - PLACED) * height}px`;
}

function placeWhatIsNear() {
  const first = list.scrollTop / height;
  const last = first + list.clientHeight / height;
  const isNearTop = placedFrom > 0 && first < placedFrom + MARGIN;
  const isNearEnd = placedFrom + PLACED < items.length && last > placedFrom + PLACED - MARGIN;
  if (isNearTop || isNearEnd) place();
}

/** A message was read on another device. */
export function noteRead({ conversation_id: id, is_from_me: isOwn }) {
  const entry = known.get(id);
  const { details } = entry?.conversation ?? {};
  if (isOwn || !details?.unread_count) return;
  details.unread_count -= 1;
  describe(entry.button, entry.conversation);
  showUnread();
}

function showUnread() {
  let count = 0;
  for (const { conversation } of known.values()) count += conversation.details?.unread_count ?? 0;
  document.title = count === 0 ? 'Postern console' : `(${count}) Postern console`;
}

function itemOf(conversation) {
  const item = copyOf('conversation-item');
  const button = item.querySelector('button');
  const name = nameOf(conversation);
  const avatar = item.querySelector('.avatar');
  avatar.textContent = (/\p{L}/u.exec(name)?.[0] ?? name.slice(-2)).toUpperCase();
  avatar.dataset.hue = String(
    [...conversation.id].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 0) % HUES,
  );
  item.querySelector('strong').textContent = name;
  const mac = macOf(conversation.id);
  if (mac !== undefined) item.querySelector('strong').prepend(macTag(mac));
  button.title = name;
  button.dataset.id = conversation.id;
  button.addEventListener('click', () => goTo(pathOfConversation(conversation.id)));
  known.set(conversation.id, { conversation, button });
  describe(button, conversation);
  return item;
}

/** Updates what changes with each message: the time, the last message, the unread count. */
function describe(button, { details, last_message_at: at, names }) {
  const time = button.querySelector('time');
  time.textContent = shortTimeOf(at);
  time.title = timeOf(at);
  time.dateTime = at;
  button.querySelector('.last').textContent = lastWords(details, names);
  const unread = button.querySelector('.unread');
  unread.hidden = !details?.unread_count;
  unread.textContent = details?.unread_count ? `${details.unread_count}` : '';
  unread.setAttribute('aria-label', `${details?.unread_count ?? 0} unread`);
}

function lastWords(details, names) {
  const last = details?.last_message;
  if (!last) return '';
  const says = last.sentence ?? last.details?.sentence ?? last.body;
  const text = says === '' ? 'Attachment' : says;
  const who = last.is_from_me ? 'You' : details.is_group ? personOf(last.sender, names) : undefined;
  // The text of an event says who did it.
  return who === undefined || (last.body === '' && text.startsWith(`${who} `)) ? text : `${who}: ${text}`;
}

export function offerConversations() {
  list.addEventListener(
    'scroll',
    () => {
      placeWhatIsNear();
      if (list.scrollHeight - list.scrollTop - list.clientHeight < NEAR) void showMore();
    },
    { passive: true },
  );
  list.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
    const button = step && event.target.closest('li')?.[step]?.querySelector('button');
    if (!button) return;
    event.preventDefault();
    button.focus();
  });
}
