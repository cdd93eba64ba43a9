import { call } from './api.js';
import { copyOf, element, personOf, timeOf } from './elements.js';
import { openConversation } from './thread.js';

/** There are so many colours in console.css. */
const HUES = 6;

const list = element('conversation-list');
const buttonOf = (id) => [...list.querySelectorAll('button')].find((button) => button.dataset.id === id);

/** What a person calls it. */
export const nameOf = ({ display_name, participants, id, names }) =>
  display_name ?? (participants.map((address) => personOf(address, names)).join(', ') || id);

export async function showConversations() {
  const conversations = await call('conversations?limit=50&include=contacts');
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.id : undefined;
  const current = list.querySelector('[aria-current="true"]')?.dataset.id;
  list.replaceChildren(...conversations.map((conversation) => itemOf(conversation, current)));
  element('conversation-none').hidden = conversations.length > 0;
  if (focused !== undefined) buttonOf(focused)?.focus();
}

/** The list is the first thing a keyboard reaches after the key. */
export function focusConversations() {
  (list.querySelector('button') ?? element('recipient')).focus();
}

/** How the list calls a conversation; its id if it is not there. */
export const shownName = (id) => buttonOf(id)?.title ?? id;

/** Opens one, at a message of it if there is one, and marks it in the list. */
export async function choose(conversation, { isByKeyboard = false, message } = {}) {
  for (const button of list.querySelectorAll('button')) {
    button.setAttribute('aria-current', String(button.dataset.id === conversation.id));
  }
  // On a phone the messages are below the list.
  element('thread').scrollIntoView({ block: 'nearest' });
  if (isByKeyboard) element('body').focus();
  await openConversation(conversation.id, nameOf(conversation), message);
}

/** Puts the conversation of a new message first; one that is not in the list yet brings a new list. */
export async function noteMessage({ conversation_id: id, timestamp }) {
  const button = buttonOf(id);
  if (button === undefined) {
    if (id !== '') await showConversations().catch(() => {});
    return;
  }
  const time = button.querySelector('time');
  time.textContent = timeOf(timestamp);
  time.dateTime = timestamp;
  // Nothing moves under the finger of somebody who is walking through the list.
  if (list.firstElementChild !== button.parentElement && !list.contains(document.activeElement)) {
    list.prepend(button.parentElement);
  }
}

function itemOf(conversation, current) {
  const item = copyOf('conversation-item');
  const button = item.querySelector('button');
  const name = nameOf(conversation);
  const time = item.querySelector('time');
  const avatar = item.querySelector('.avatar');
  avatar.textContent = (/\p{L}/u.exec(name)?.[0] ?? name.slice(-2)).toUpperCase();
  avatar.dataset.hue = String(
    [...conversation.id].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 9973, 0) % HUES,
  );
  item.querySelector('strong').textContent = name;
  button.title = name;
  item.querySelector('.id').textContent = conversation.id;
  time.textContent = timeOf(conversation.last_message_at);
  time.dateTime = conversation.last_message_at;
  button.dataset.id = conversation.id;
  button.setAttribute('aria-current', String(conversation.id === current));
  // A click that no pointer made came from the keyboard.
  button.addEventListener('click', ({ detail }) => void choose(conversation, { isByKeyboard: detail === 0 }));
  return item;
}
