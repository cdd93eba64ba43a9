import { noteMessage } from './conversations.js';
import { copyOf, element, personOf, say, timeOf } from './elements.js';
import { showHealth } from './health.js';
import { Line } from './line.js';
import { addMessage } from './thread.js';

const KEPT_EVENTS = 200;
const form = element('live-form');
const list = element('event-list');
let line;

/** Shows what happens from a row id on; `lose` is called when the key is refused. */
export function listen(lastRowId, lose) {
  line?.close();
  line = new Line(lastRowId, take, (state, waitS) => {
    if (state === 'open') say('live-state', 'listening');
    else if (state === 'closed') say('live-state', `not listening; trying again in ${waitS} s`, true);
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

function messageText({ body, attachments }) {
  return [body, ...attachments.map((path) => `[${path.split('/').at(-1)}]`)].filter((part) => part !== '').join(' ');
}

/** In the words of `postern tail`. */
function reactionText(type, { emoji, reaction_type: name, message_id: id }) {
  const reaction = emoji ?? name.replace('_', ' ');
  const target = id === '' ? 'a message' : `message ${id}`;
  return type === 'reaction.removed' ? `took ${reaction} back from ${target}` : `reacted with ${reaction} to ${target}`;
}

function take({ type, data }) {
  const isMessage = type.startsWith('message');
  const item = copyOf('event-item');
  const time = item.querySelector('time');
  item.dataset.type = type;
  item.hidden = !isWanted(type);
  item.querySelector('code').textContent = type;
  const who = item.querySelector('b');
  who.textContent = data.is_from_me ? 'me' : personOf(data.sender, data.names);
  who.title = data.sender;
  item.querySelector('span').textContent = isMessage ? messageText(data) : reactionText(type, data);
  time.textContent = timeOf(data.timestamp);
  time.dateTime = data.timestamp;
  list.prepend(item);
  while (list.children.length > KEPT_EVENTS) list.lastElementChild.remove();
  if (!isMessage) return;
  void noteMessage(data);
  addMessage(data);
}
