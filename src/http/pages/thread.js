import { bytesOf, call } from './api.js';
import { copyOf, element, personOf, say, timeOf } from './elements.js';

const AT_ONCE = 50;

const list = element('message-list');
const toNewest = element('newest-messages');
let openId = '';
/** How often one was opened: only the last one is shown. */
let openings = 0;
let objectUrls = [];
/** What stays written beside a message once it happened. */
const MARKS = new Set(['edited', 'unsent']);

export const openedConversation = () => openId;

/** Shows the newest messages of a conversation, or those around one of it, and makes it the one that is written to. */
export async function openConversation(id, name, wanted) {
  openId = id;
  openings += 1;
  const own = openings;
  element('thread-title').textContent = name;
  element('message-none').hidden = true;
  element('recipient').value = id;
  list.replaceChildren();
  toNewest.hidden = true;
  toNewest.onclick = () => void openConversation(id, name);
  try {
    const { messages, isNewest } = await read(id, wanted);
    if (own !== openings) return; // Another one was chosen meanwhile.
    for (const url of objectUrls) URL.revokeObjectURL(url);
    objectUrls = [];
    // What came as an event in the meantime stays, behind those that were asked for.
    const known = new Set(messages.map((message) => message.id));
    const later = isNewest ? [...list.children].filter((item) => !known.has(item.dataset.id)) : [];
    list.replaceChildren(...messages.map((message) => itemOf(message)), ...later);
    toNewest.hidden = isNewest;
    if (wanted === undefined) list.scrollTop = list.scrollHeight;
    else show(wanted);
  } catch (error) {
    say('send-result', error.message, true);
  }
}

/** The newest messages, oldest first, if the wanted one is among them, else those from it on. */
async function read(id, wanted) {
  const path = `messages?limit=${AT_ONCE}&include=contacts&conversation_id=${encodeURIComponent(id)}`;
  const newest = await call(path);
  if (wanted === undefined || newest.length < AT_ONCE || newest.some((message) => message.id === wanted.id)) {
    return { messages: newest.reverse(), isNewest: true };
  }
  // The time of a message is shown without its fraction of a second.
  const since = new Date(Date.parse(wanted.timestamp) - 1).toISOString();
  const messages = await call(`${path}&order=asc&since=${encodeURIComponent(since)}`);
  return { messages, isNewest: false };
}

function show({ id }) {
  const item = shown(id);
  if (item === undefined) return;
  item.classList.add('found');
  item.tabIndex = -1;
  item.scrollIntoView({ block: 'nearest' });
  item.focus();
}

/** Shows the newest messages of the open conversation as they are now; a place further back stays as it is. */
export async function reloadThread() {
  if (openId === '' || !toNewest.hidden) return;
  const own = openings;
  try {
    const { messages } = await read(openId);
    if (own !== openings) return;
    const newest = Number(messages.at(-1)?.id ?? 0);
    const later = [...list.children].filter((item) => Number(item.dataset.id) > newest);
    list.replaceChildren(...messages.map((message) => itemOf(message)), ...later);
    list.scrollTop = list.scrollHeight;
  } catch (error) {
    say('send-result', error.message, true);
  }
}

/** Shows a message as it is now, if it is shown. */
export function updateMessage(message, changes) {
  if (changes.includes('deleted')) return removeMessage(message.id);
  if (changes.includes('restored') && message.conversation_id === openId) return void reloadThread();
  const item = shown(message.id);
  if (item === undefined) return;
  const isAtEnd = isScrolledToEnd();
  const next = itemOf(message, changes.find((name) => MARKS.has(name)) ?? item.dataset.mark);
  // A picture that is shown stays.
  if (!changes.includes('attachment')) {
    next.querySelector('.attachments').replaceWith(item.querySelector('.attachments'));
  }
  item.replaceWith(next);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

export function removeMessage(id) {
  shown(id)?.remove();
}

const shown = (id) => [...list.children].find((item) => item.dataset.id === id);
const isScrolledToEnd = () => list.scrollHeight - list.scrollTop - list.clientHeight < 80;

/** Adds a message that has just come, if its conversation is open at its end. */
export function addMessage(message) {
  if (message.conversation_id !== openId || !toNewest.hidden) return;
  if (shown(message.id) !== undefined) return;
  const isAtEnd = isScrolledToEnd();
  list.append(itemOf(message));
  if (isAtEnd || message.is_from_me) list.scrollTop = list.scrollHeight;
}

function itemOf(message, mark) {
  const item = copyOf('message-item');
  const time = item.querySelector('time');
  item.dataset.id = message.id;
  item.classList.toggle('mine', message.is_from_me);
  const who = item.querySelector('b');
  who.textContent = message.is_from_me ? 'me' : personOf(message.sender, message.names);
  who.title = message.sender;
  time.textContent = timeOf(message.timestamp);
  time.dateTime = message.timestamp;
  const states = [mark, message.is_from_me ? message.status : undefined];
  item.querySelector('.state').textContent = states.filter((state) => state !== undefined).join(', ');
  if (mark !== undefined) item.dataset.mark = mark;
  const text = item.querySelector('p');
  text.textContent = message.body;
  text.hidden = message.body === '';
  const place = item.querySelector('.attachments');
  for (const [index, path] of message.attachments.entries()) showAttachment(place, message.id, index, path);
  return item;
}

/** By the ending of the name. SVG could carry a script of its own: it is offered, never shown. */
const PICTURE_TYPES = {
  avif: 'image/avif',
  gif: 'image/gif',
  heic: 'image/heic',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
};

/** undefined for what is no picture. */
function pictureTypeOf(name) {
  const ending = /\.(\w+)$/.exec(name)?.[1].toLowerCase() ?? '';
  return Object.hasOwn(PICTURE_TYPES, ending) ? PICTURE_TYPES[ending] : undefined;
}

/** Every attachment is a request that counts for the limit: a picture is asked for when it is seen, all else when it is wanted. */
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    target.click();
  }
});

function showAttachment(place, id, index, path) {
  const name = path.split('/').at(-1);
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = name;
  button.title = path;
  place.append(button);
  const pictureType = pictureTypeOf(name);
  button.addEventListener('click', () => void load(button, name, pictureType, id, index), { once: true });
  if (pictureType !== undefined) seen.observe(button);
}

async function load(button, name, pictureType, id, index) {
  button.disabled = true;
  try {
    const bytes = await bytesOf(`messages/${encodeURIComponent(id)}/attachments/${index}`);
    // The sender chose the type of the answer: a page among the blobs would run in this origin, without its policy.
    const blob = new Blob([bytes], { type: pictureType ?? 'application/octet-stream' });
    const link = document.createElement('a');
    link.textContent = name;
    link.href = URL.createObjectURL(blob);
    link.download = name;
    objectUrls.push(link.href);
    button.replaceWith(link);
    if (pictureType === undefined) {
      link.click();
      return;
    }
    const picture = document.createElement('img');
    picture.alt = name;
    picture.src = link.href;
    link.replaceChildren(picture);
  } catch (error) {
    button.textContent = `${name} (${error.status === 404 ? 'not on disk' : 'could not be loaded'})`;
  }
}
