import { isNotice } from './content.js';
import { noteMessage, noteRead, showConversations, shownName } from './conversations.js';
import { copyOf, element, personOf, say, timeOf } from './elements.js';
import { macTag } from './fleet.js';
import { showHealth } from './health.js';
import { Line } from './line.js';
import { addMessage, noteReaction, reloadThread, removeMessage, updateMessage } from './thread.js';

const KEPT_EVENTS = 200;
const CHANGES = new Set(['message.updated', 'message.removed', 'messages.changed']);
const form = element('live-form');
const list = element('event-list');
let line;

/** Shows events after a position. `lose` is called if the key is refused, `restart` to start over. */
export function listen(position, lose, restart) {
  line?.close();
  line = new Line(position, take, (state, waitS) => {
    if (state === 'open') say('live-state', 'listening');
    else if (state === 'closed') say('live-state', `not listening; trying again in ${waitS} s`, true);
    else if (state === 'expired') void restart();
    else lose();
    void showHealth();
  });
  if (!isPaused()) line.open();
}

export function offerFilter() {
  form.addEventListener('change', () => {
    for (const item of list.children) item.hidden = !isWanted(item.dataset.type);
  });
  element('pause').addEventListener('click', ({ currentTarget: button }) => {
    button.setAttribute('aria-pressed', String(!isPaused()));
    if (isPaused()) line?.close();
    else line?.open();
    say('live-state', isPaused() ? 'paused' : 'connecting …');
  });
}

const isPaused = () => element('pause').getAttribute('aria-pressed') === 'true';
const isWanted = (type) => form.querySelector(`input[value="${type}"]`)?.checked ?? true;

function messageText({ body, attachments, details }) {
  // File names say more than their number.
  const says = body !== '' && attachments.length > 0 ? body : (details?.sentence ?? body);
  return [says, ...attachments.map((path) => `[${path.split('/').at(-1)}]`)].filter((part) => part !== '').join(' ');
}

/** In the words of `postern tail`. */
function reactionText(type, { emoji, reaction_type: name, message_id: id, details }) {
  if (details?.sentence !== undefined) return details.sentence;
  const reaction = emoji ?? name.replace('_', ' ');
  const target = id === '' ? 'a message' : `message ${id}`;
  return type === 'reaction.removed' ? `took ${reaction} back from ${target}` : `reacted with ${reaction} to ${target}`;
}

function updateText({ data, changes }) {
  const what = changes.map((name) => (name === 'attachment' ? 'attachment changed' : name)).join(', ');
  const hasText = ['edited', 'attachment', 'restored'].some((name) => changes.includes(name));
  return `message ${data.id} ${what}${hasText ? `: ${messageText(data)}` : ''}`;
}

function textOf(event) {
  const { type, data } = event;
  if (type.startsWith('reaction')) return reactionText(type, data);
  if (type === 'message.updated') return updateText(event);
  if (type === 'message.removed') return `message ${data.id} removed`;
  if (type === 'messages.changed')
    return `${data.count} messages changed, between ${data.first_id} and ${data.last_id}`;
  return messageText(data);
}

/** The person it is about. A removed message has only its conversation. */
function whoIn({ is_from_me: isOwn, sender, names, conversation_id: conversation = '' }) {
  if (isOwn) return 'me';
  if (sender !== undefined) return personOf(sender, names);
  const shown = shownName(conversation);
  return shown === conversation ? conversation.split(/;[+-];/).at(-1) : shown;
}

function take(event) {
  const { type, data } = event;
  const item = copyOf('event-item');
  const time = item.querySelector('time');
  // A change has no time.
  const at = CHANGES.has(type) ? new Date().toISOString() : data.timestamp;
  item.dataset.type = type;
  item.hidden = !isWanted(type);
  item.querySelector('code').textContent = type;
  const who = item.querySelector('b');
  // The text of a group's event says who did it.
  who.textContent = isNotice(data) ? '' : whoIn(data);
  who.title = data.sender ?? '';
  if (data.mac !== undefined) who.before(macTag(data.mac), ' ');
  item.querySelector('span').textContent = textOf(event);
  time.dateTime = at;
  time.textContent = timeOf(at);
  // The raw event, on demand.
  item.querySelector('details').addEventListener('toggle', () => {
    item.querySelector('pre').textContent = JSON.stringify(event, undefined, 2);
  });
  list.prepend(item);
  while (list.children.length > KEPT_EVENTS) list.lastElementChild.remove();
  show(event);
}

/** Updates the conversations and the open thread for an event. */
function show({ type, data, changes }) {
  switch (type) {
    case 'message.received':
    case 'message.sent':
      void noteMessage(data);
      addMessage(data);
      break;
    case 'message.updated':
      updateMessage(data, changes);
      if (changes.includes('read')) noteRead(data);
      break;
    case 'message.removed':
      removeMessage(data.id);
      break;
    case 'reaction.added':
    case 'reaction.removed':
      noteReaction(data, type === 'reaction.added');
      break;
    case 'messages.changed':
      void showConversations().catch(() => {});
      void reloadThread();
      break;
  }
}
