import { bytesOf, call } from './api.js';
import { copyOf, element, personOf, say, timeOf } from './elements.js';

const list = element('message-list');
let openId = '';
let objectUrls = [];

export const openedConversation = () => openId;

/** Shows the newest messages of a conversation, and makes it the one that is written to. */
export async function openConversation(id, name) {
  openId = id;
  element('thread-title').textContent = name;
  element('message-none').hidden = true;
  element('recipient').value = id;
  list.replaceChildren();
  try {
    const messages = await call(`messages?limit=50&include=contacts&conversation_id=${encodeURIComponent(id)}`);
    if (openId !== id) return; // Another one was chosen meanwhile.
    for (const url of objectUrls) URL.revokeObjectURL(url);
    objectUrls = [];
    // What came as an event in the meantime stays, behind those that were asked for.
    const known = new Set(messages.map((message) => message.id));
    const later = [...list.children].filter((item) => !known.has(item.dataset.id));
    list.replaceChildren(...messages.reverse().map(itemOf), ...later);
    list.scrollTop = list.scrollHeight;
  } catch (error) {
    say('send-result', error.message, true);
  }
}

/** Adds a message that has just come, if its conversation is open. */
export function addMessage(message) {
  if (message.conversation_id !== openId) return;
  if ([...list.children].some((item) => item.dataset.id === message.id)) return;
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  list.append(itemOf(message));
  if (isAtEnd || message.is_from_me) list.scrollTop = list.scrollHeight;
}

function itemOf(message) {
  const item = copyOf('message-item');
  const time = item.querySelector('time');
  item.dataset.id = message.id;
  item.classList.toggle('mine', message.is_from_me);
  const who = item.querySelector('b');
  who.textContent = message.is_from_me ? 'me' : personOf(message.sender, message.names);
  who.title = message.sender;
  time.textContent = timeOf(message.timestamp);
  time.dateTime = message.timestamp;
  item.querySelector('.state').textContent = message.is_from_me ? message.status : '';
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
