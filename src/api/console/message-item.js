import { call } from './api.js';
import { showAttachments } from './attachments.js';
import { isNotice, marksOf, notesOf, textOf } from './content.js';
import { copyOf, personOf, say, timeOf } from './elements.js';

const REACTIONS = {
  love: '❤️',
  thumbs_up: '👍',
  thumbs_down: '👎',
  haha: '😂',
  exclamation: '‼️',
  question: '❓',
};
/** Among messages of one sender within this time, only the first shows sender and time. */
const TOGETHER_MS = 5 * 60_000;
/** A link ends before the punctuation that ends the sentence. */
const LINK = /https?:\/\/[^\s<>"]*[^\s<>"'.,;:!?)\]}]/g;

/** One message of a thread. */
export function messageItem(message, mark) {
  const item = copyOf('message-item');
  const { details } = message;
  item.dataset.id = message.id;
  item.dataset.sender = isNotice(message) ? 'notice' : message.is_from_me ? '' : message.sender;
  item.dataset.time = message.timestamp;
  item.classList.toggle('notice', isNotice(message));
  item.classList.toggle('mine', message.is_from_me && !isNotice(message));
  item.classList.toggle('failed', message.status === 'failed');
  const who = item.querySelector('b');
  who.textContent = message.is_from_me ? 'me' : personOf(message.sender, message.names);
  who.title = message.sender;
  const time = item.querySelector('time');
  time.textContent = new Date(message.timestamp).toLocaleTimeString([], { timeStyle: 'short' });
  time.title = timeOf(message.timestamp);
  time.dateTime = message.timestamp;
  showQuote(item, message);
  showText(item.querySelector('.body'), message);
  showState(item, message, mark ?? markOf(details));
  showReactions(item, message);
  showAttachments(item.querySelector('.attachments'), message);
  return item;
}

function markOf(details) {
  if (details === undefined) return undefined;
  return details.retracted_at !== null ? 'unsent' : details.edited_at !== null ? 'edited' : undefined;
}

function showText(place, message) {
  const body = textOf(message);
  const parts = [];
  let end = 0;
  for (const { 0: address, index } of body.matchAll(LINK)) {
    const link = document.createElement('a');
    link.href = address;
    link.textContent = address;
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
    parts.push(body.slice(end, index), link);
    end = index + address.length;
  }
  place.replaceChildren(...parts, body.slice(end));
  const { subject } = message.details ?? {};
  if (subject !== undefined) place.prepend(headingOf(subject));
  place.hidden = !place.hasChildNodes() || place.textContent === '';
}

function headingOf(subject) {
  const heading = document.createElement('strong');
  heading.textContent = subject;
  return heading;
}

function showQuote(item, { details, names }) {
  const quote = item.querySelector('blockquote');
  const original = details?.reply_to;
  quote.hidden = !original;
  if (!original) return;
  quote.querySelector('b').textContent = original.sender === '' ? 'me' : personOf(original.sender, names);
  quote.querySelector('span').textContent = original.body;
}

function showState(item, message, mark) {
  const { is_from_me: isOwn, status, conversation_id: conversation, body, attachments, details } = message;
  const notes = notesOf(details);
  // A sentence says that a whole message was unsent; an unsent part is no edit.
  const isSaid = mark === 'unsent' ? details?.sentence !== undefined : notes.some((note) => note.endsWith('unsent'));
  const states = [isSaid ? undefined : mark, ...notes, isOwn ? status : undefined].filter(Boolean);
  item.querySelector('.state').textContent = states.join(', ');
  if (mark !== undefined) item.dataset.mark = mark;
  const again = item.querySelector('[data-do="retry"]');
  // A file can only be chosen again.
  again.hidden = status !== 'failed' || body === '' || attachments.length > 0;
  again.addEventListener('click', () => void sendAgain(again, { recipient: conversation, body }));
}

async function sendAgain(button, body) {
  button.disabled = true;
  try {
    await call('messages', { method: 'POST', body });
    button.hidden = true;
    say('send-result', 'Sent again.');
  } catch (error) {
    say('send-result', error.message, true);
  } finally {
    button.disabled = false;
  }
}

function showReactions(item, { details, names }) {
  const place = item.querySelector('.reactions');
  const reactions = marksOf(details);
  place.replaceChildren(...reactions.map((reaction) => reactionMark({ ...reaction, names })));
  place.hidden = reactions.length === 0;
}

/** One reaction. Each person has at most one of a kind. */
export function reactionMark({ reaction_type: type, emoji, is_from_me: isOwn, sender, names }) {
  const mark = document.createElement('span');
  mark.textContent = emoji ?? REACTIONS[type] ?? '▫️';
  mark.title = `${isOwn ? 'me' : personOf(sender, names)}: ${type.replace('_', ' ')}`;
  mark.dataset.of = `${isOwn ? '' : sender} ${type} ${emoji ?? ''}`;
  return mark;
}

/** Adds and removes day headings, and joins consecutive messages of one person. */
export function arrange(list) {
  for (const heading of list.querySelectorAll('.day')) heading.remove();
  let before;
  for (const item of [...list.children]) {
    const at = new Date(item.dataset.time);
    const isNewDay = before === undefined || at.toDateString() !== new Date(before.dataset.time).toDateString();
    if (isNewDay) {
      const heading = document.createElement('li');
      heading.className = 'day';
      heading.textContent = at.toLocaleDateString([], { dateStyle: 'full' });
      item.before(heading);
    }
    const isJoined =
      !isNewDay && before.dataset.sender === item.dataset.sender && at - new Date(before.dataset.time) < TOGETHER_MS;
    item.classList.toggle('joined', isJoined);
    before = item;
  }
}
