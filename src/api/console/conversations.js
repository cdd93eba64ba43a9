import { pageOf } from './api.js';
import { copyOf, element, personOf, shortTimeOf, timeOf } from './elements.js';
import { isHub, isOfChosenMac, macOf, macTag, partsToInclude } from './fleet.js';
import { currentRoute, goTo, pathOfConversation } from './route.js';

/** There are so many colours in conversations.css. */
const HUES = 6;
const AT_ONCE = 50;
/** So near to its end, in pixels, the next page of the list is asked for. */
const NEAR = 400;
/** So many items are in the page at once, and so many of them before and behind what is seen, at least. */
const PLACED = 90;
const MARGIN = 15;

const list = element('conversation-list');
/** Those in the list: what is known of each, and its button. */
const known = new Map();
/** All items in their order, of which the page holds those near what is seen: a browser lays out what it holds. */
let items = [];
let placedFrom = 0;
/** Of every item, in pixels. */
let height = 0;
let next;
let isLoading = false;

/** What a person calls it. */
export const nameOf = ({ display_name, participants, id, names }) =>
  display_name ?? (participants.map((address) => personOf(address, names)).join(', ') || id);

/** How the list calls a conversation; its id if it is not there. */
export const shownName = (id) => known.get(id)?.button.title ?? id;

/** One of the list; undefined if it is not there. */
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
    // The next scroll asks again.
    return;
  } finally {
    isLoading = false;
  }
  fillList();
}

/** Those to show that are not in the list: one with a new message since the page before comes twice. */
const chosenIn = (conversations) => conversations.filter(({ id }) => isOfChosenMac(id) && !known.has(id));

/** A page may have little of the Mac that is looked at, and what does not scroll asks for no more. */
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

/** Marks the one that is open. */
export function markCurrent() {
  const { id } = currentRoute();
  for (const [other, { button }] of known) button.setAttribute('aria-current', String(other === id));
}

/** Shows a new message in the list; a conversation that is not there yet brings a new list. */
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
  // Nothing moves under the finger of somebody who is walking through the list.
  const item = button.parentElement;
  if (items[0] !== item && !list.contains(document.activeElement)) {
    items = [item, ...items.filter((other) => other !== item)];
    place();
  }
}

/** Holds the items near what is seen, and room for the others. */
function place() {
  height = items[0]?.offsetHeight || list.firstElementChild?.offsetHeight || height;
  const first = height === 0 ? 0 : Math.floor(list.scrollTop / height);
  placedFrom = Math.max(0, Math.min(first - PLACED / 3, items.length - PLACED));
  const wanted = new Set(items.slice(placedFrom, placedFrom + PLACED));
  for (const item of [...list.children]) if (!wanted.has(item)) item.remove();
  // Those that stay are not touched: they keep the focus, and are not laid out again.
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

/** What changes with each message: the time, the last message, how many are unread. */
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
  // An event says itself who did it.
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
