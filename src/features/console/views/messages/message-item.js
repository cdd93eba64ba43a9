// One message of a thread.

import { fill, h, icon } from '../../parts/old/dom.js';
import { avatar, busily, toast } from '../../parts/old/parts.js';
import { exactly } from '../../parts/old/visible.js';
import { call } from '../../service/api.ts';
import { isNotice, marksOf, notesOf, styledParts, symbolOf, textOf } from '../../service/content.ts';
import { conversationOf, hueIn } from '../../service/directory.ts';
import { pathOfConversation } from '../../service/route.ts';
import { keyName, namesOfKeys } from '../../service/service.ts';
import { counted, dayOf, personOf, timeOf } from '../../service/words.ts';
import { showAttachments } from './attachments.js';
import { cardsOf, historyOf } from './cards.js';
import { linked } from './web-link.js';

/** If two messages are further apart than this, the time is shown between them. */
const SILENCE_MS = 60 * 60_000;
/** Consecutive messages from one sender within this time form a group. */
const TOGETHER_MS = 3 * 60_000;
/** Matches one to three emoji and nothing else. */
const BIG =
  /^(?:\p{Extended_Pictographic}(?:\ufe0f|\u200d\p{Extended_Pictographic}|\p{Emoji_Modifier})*\s*|\p{Regional_Indicator}{2}\s*){1,3}$/u;

/**
 * @param {any} message
 * @param {string} [mark] `edited` or `unsent`, if an event said so
 */
export function messageItem(message, mark) {
  const { id, details, is_from_me: isOwn, sender, names, timestamp, status } = message;
  const isEvent = isNotice(message) || isUnsent(message);
  const item = h('li', {
    class: 'msg',
    'data-id': id,
    'data-sender': isEvent ? 'notice' : isOwn ? '' : sender,
    'data-time': timestamp,
  });
  item.classList.toggle('notice', isEvent);
  item.classList.toggle('mine', isOwn && !isEvent);
  item.classList.toggle('failed', status === 'failed');
  item.classList.toggle('later', details?.scheduled !== undefined);
  item.classList.toggle('sms', /^(?:SMS|RCS)$/.test(details?.service ?? ''));
  const name = isOwn ? 'You' : personOf(sender, names);
  const body = bodyOf(message);
  const attachments = h('div', 'attachments');
  showAttachments(attachments, message);
  fill(
    item,
    !isOwn && !isEvent && avatar(name, sender, 's', hueIn(conversationOf(message.conversation_id), sender)),
    h(
      'p',
      'by',
      h('b', { title: sender, dir: 'auto' }, name),
      h('time', { datetime: timestamp, title: timeOf(timestamp) }, clockOf(timestamp)),
    ),
    quoteOf(message),
    h(
      'div',
      { class: 'content', title: timeOf(timestamp) },
      body,
      cardsOf(message),
      attachments,
      h('p', { class: 'reactions', hidden: true }),
    ),
    underOf(message, mark ?? markOf(details)),
  );
  if (mark !== undefined) item.dataset.mark = mark;
  showReactions(item, message);
  return item;
}

/** @param {string} at */
const clockOf = (at) => new Date(at).toLocaleTimeString([], { timeStyle: 'short' });

/** @param {any} details */
function markOf(details) {
  if (details === undefined) return undefined;
  return details.retracted_at !== null ? 'unsent' : details.edited_at !== null ? 'edited' : undefined;
}

/** Reports whether a message was unsent and has no content left. @param {any} message */
const isUnsent = ({ body, attachments, details }) => details?.retracted_at && body === '' && attachments.length === 0;

/** @param {any} message */
function bodyOf(message) {
  const { is_from_me: isOwn, sender, names } = message;
  const isGone = isUnsent(message);
  const text = isGone ? `${isOwn ? 'You' : personOf(sender, names)} unsent a message` : textOf(message);
  const { subject } = message.details ?? {};
  const isEvent = isNotice(message) || isGone;
  const bubble = h(
    'p',
    { class: isEvent ? 'body' : 'body bubble', dir: 'auto' },
    subject && h('strong', null, subject),
    // Postern cannot read the strokes that Messages shows, so a pen stands for them.
    /^(?:handwriting|digital_touch)$/.test(message.details?.kind ?? '') && icon('pen'),
    styledParts(message)?.map((part, index) => [index > 0 && '\n', styled(part)]) ?? linked(text),
    translationsOf(message.details),
  );
  bubble.classList.toggle('big', BIG.test(text));
  bubble.hidden = text === '' && subject === undefined;
  return bubble;
}

/** @type {Readonly<Record<string, 'b' | 'i' | 'u' | 's'>>} */
const STYLES = { bold: 'b', italic: 'i', underline: 'u', strikethrough: 's' };

/** @param {{ readonly text: string, readonly runs?: readonly any[] }} part */
function styled({ text, runs = [] }) {
  /**
   * @param {number} from
   * @param {number} [to]
   */
  const read = (from, to) => linked(text.slice(from, to).replaceAll('\uFFFC', ''));
  /** @type {import('../../parts/old/dom.js').Children[]} */
  const shown = [];
  let at = 0;
  for (const { start, end, styles = [], mention } of runs) {
    if (start < at || (styles.length === 0 && mention === undefined)) continue;
    /** @type {import('../../parts/old/dom.js').Children} */
    let words = read(start, end);
    for (const style of styles) if (STYLES[style]) words = h(STYLES[style], null, words);
    if (mention !== undefined) words = h('b', { title: mention }, words);
    shown.push(read(at, start), words);
    at = end;
  }
  return [...shown, read(at)];
}

/** @param {any} details */
const translationsOf = (details) =>
  (details?.translations ?? []).map((/** @type {any} */ { text, language }) =>
    h('span', 'translated', h('small', null, 'Translated'), h('bdi', { lang: language?.replaceAll('_', '-') }, text)),
  );

/** @param {any} message */
function quoteOf({ details, names, conversation_id: conversation }) {
  const original = details?.reply_to;
  if (!original) return h('blockquote', { class: 'quoted', hidden: true });
  return h(
    'blockquote',
    'quoted',
    h(
      'a',
      { href: pathOfConversation(conversation, original.id) },
      h('b', { dir: 'auto' }, original.sender === '' ? 'You' : personOf(original.sender, names)),
      h('span', { dir: 'auto' }, original.body === '' ? 'Attachment' : original.body),
    ),
  );
}

/**
 * Returns the line below a message: edits, notes, the receipt of an outgoing message, and a button to send a failed one
 * again.
 * @param {any} message
 * @param {string | undefined} mark
 */
function underOf(message, mark) {
  const { is_from_me: isOwn, status, details, body, attachments, conversation_id: conversation } = message;
  const notes = notesOf(details);
  const isSaid = mark === 'unsent' ? details?.sentence !== undefined : notes.some((one) => one.endsWith('unsent'));
  const history = historyOf(details ?? {});
  const edited = `Edited${details?.edited_at ? ` ${clockOf(details.edited_at)}` : ''}`;
  const marked = isSaid ? undefined : mark === 'edited' ? edited : mark === 'unsent' ? 'Unsent' : undefined;
  const again = h('button', { type: 'button', class: 'link', 'data-do': 'retry' }, 'Try again');
  again.addEventListener('click', () => void sendAgain(again, { recipient: conversation, body }));
  const isFailed = isOwn && status === 'failed';
  const error = details?.error ? `Messages error ${details.error}` : undefined;
  return h(
    'div',
    'under',
    history !== undefined && marked !== undefined ? foldOf(marked, history) : marked && h('span', 'mark', marked),
    notes.map((text) => h('span', 'note-text', capital(text))),
    isFailed && [icon('alert'), h('span', 'state bad', 'Not delivered'), error && h('span', null, error)],
    // Files cannot be sent again from here, because the user would have to choose them again.
    isFailed && body !== '' && attachments.length === 0 && again,
    isOwn && !isFailed && h('span', 'state receipt', receiptOf(status, details)),
    details?.origin?.key_id && byKey(details.origin.key_id),
    details?.late === true && h('span', null, 'Arrived late'),
  );
}

/** Returns a label with the name of the limited key that sent a message. @param {string} id */
function byKey(id) {
  const label = h('span');
  namesOfKeys([id]).then(
    (names) => exactly(label, `by ${keyName(id, names)}`),
    () => {},
  );
  return label;
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * @param {string} label
 * @param {HTMLElement} history
 */
const foldOf = (label, history) => h('details', 'mark', h('summary', null, label), history);

/**
 * @param {string} status
 * @param {any} details
 */
function receiptOf(status, details) {
  if (details?.scheduled !== undefined) return '';
  if (details?.read_at) return `Read ${clockOf(details.read_at)}`;
  if (details?.delivered_at) return `Delivered ${clockOf(details.delivered_at)}`;
  return { pending: 'Sending', sent: 'Sent', delivered: 'Delivered', read: 'Read' }[status] ?? status;
}

/**
 * @param {HTMLButtonElement} control
 * @param {{ readonly recipient: string, readonly body: string }} message
 */
async function sendAgain(control, message) {
  await busily(control, async () => {
    await call('messages', { method: 'POST', body: message });
    control.hidden = true;
    toast('Sent again');
  });
}

/**
 * @param {Element} item
 * @param {any} message
 */
function showReactions(item, { details, names }) {
  const reactions = item.querySelector('.reactions');
  if (reactions === null) return;
  fill(
    reactions,
    marksOf(details).map((reaction) => reactionMark({ ...reaction, names })),
  );
  noteReactions(reactions);
}

/**
 * Updates the box of a message's reactions after one was added or removed. An empty box is hidden and takes no space.
 * @param {Element} reactions
 */
export function noteReactions(reactions) {
  const count = reactions.querySelectorAll('[data-of]').length;
  /** @type {HTMLElement} */ (reactions).hidden = count === 0;
  reactions.closest('.msg')?.classList.toggle('tapped', count > 0);
  reactions.setAttribute('aria-label', counted(count, 'reaction'));
}

/**
 * Returns the mark of one reaction. Its `data-of` holds what a newer reaction replaces: the sender's tapback on the same
 * part, or nothing for a sticker. A reaction without a part is on the first. `data-kind` is what a removal must name.
 * @param {any} reaction
 */
export function reactionMark(reaction) {
  const {
    id,
    associated_message_type: code,
    reaction_type: type,
    emoji,
    is_from_me: isOwn,
    sender,
    names,
    part = 0,
  } = reaction;
  const name = isOwn ? 'You' : personOf(sender, names);
  const title = `${name}: ${type.replace('_', ' ')}${part === 0 ? '' : ` on part ${part + 1}`}`;
  const isTapback = code >= 2000 && code < 4000;
  return h(
    'span',
    {
      title,
      'data-of': isTapback ? `${isOwn ? '' : sender} ${part}` : id,
      'data-kind': `${type} ${emoji ?? ''}`,
      role: 'img',
      'aria-label': title,
    },
    symbolOf(reaction),
  );
}

/**
 * Adds day headings and groups consecutive messages of one sender. Marks the last outgoing message that has not failed,
 * so that its receipt is shown.
 * @param {Element} list
 */
export function arrange(list) {
  for (const heading of list.querySelectorAll('.day, .gap')) heading.remove();
  /** @type {HTMLElement | undefined} */
  let before;
  /** @type {HTMLElement | undefined} */
  let lastOwn;
  for (const child of [...list.children]) {
    const item = /** @type {HTMLElement} */ (child);
    const at = new Date(item.dataset.time ?? 0);
    const isNewDay = before === undefined || at.toDateString() !== new Date(before.dataset.time ?? 0).toDateString();
    const sinceMs = at.getTime() - new Date(before?.dataset.time ?? 0).getTime();
    if (isNewDay) item.before(h('li', 'day', dayOf(at.getTime())));
    else if (sinceMs > SILENCE_MS) item.before(h('li', 'gap', clockOf(item.dataset.time ?? '')));
    const isNext = !isNewDay && before?.dataset.sender === item.dataset.sender && sinceMs < TOGETHER_MS;
    item.classList.toggle('first', !isNext);
    before?.classList.toggle('tail', !isNext);
    item.classList.remove('receipted');
    if (item.classList.contains('mine') && !item.classList.contains('failed')) lastOwn = item;
    before = item;
  }
  before?.classList.add('tail');
  lastOwn?.classList.add('receipted');
}
