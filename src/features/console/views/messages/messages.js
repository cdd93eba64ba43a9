// The list of conversations, the open conversation and its details, side by side; on a phone only one of the three.

import { setTitle } from '../../parts/frame.ts';
import { chip } from '../../parts/old/choices.js';
import { fill, h, icon } from '../../parts/old/dom.js';
import { face, iconButton, toast } from '../../parts/old/parts.js';
import { call } from '../../service/api.ts';
import { isGroup, nameOf, noteConversations, peopleIn } from '../../service/directory.ts';
import { onEvent } from '../../service/live.ts';
import { currentRoute, goTo } from '../../service/route.ts';
import { isDemo, isHub, isOwner, knownKeys, may, partsToInclude } from '../../service/service.ts';
import { addressIn, personOf, reasonOf } from '../../service/words.ts';
import { body, makeComposer, recipient, takeDrops, toLine, writeTo } from './composer.js';
import {
  list,
  markCurrent,
  none as noConversation,
  noteMessage,
  noteOpen,
  noteRead,
  partial,
  showConversations,
  shownConversation,
  showUnreadOnly,
} from './conversations.js';
import { pane, showDetails } from './details-pane.js';
import { macChooser, macTag } from './macs.js';
import { scheduled, showScheduled, waitingSends } from './scheduled.js';
import { closeSearch, found, input, searchForm, takeWanted } from './search.js';
import { showSpeakers, speakBox } from './speak.js';
import {
  addMessage,
  closeConversation,
  list as log,
  none as noThread,
  noteReaction,
  openConversation,
  openedConversation,
  reloadThread,
  removeMessage,
  toNewest,
  updateMessage,
} from './thread.js';

/** @import { Conversation } from '../../../../core/model/conversation.ts' */
/** @import { Route } from '../../service/route.ts' */

const PEOPLE_IN_TITLE = 4;

const title = h('h1', { id: 'thread-title', class: 'cut', dir: 'auto' });
const subtitle = h('p', { id: 'thread-people', class: 'quiet small cut' });
const picture = h('span', 'picture-of');
const head = h('header', { hidden: true });
/** @type {HTMLElement} */
let mail = h('div', { hidden: true });
/** @type {string | undefined} */
let shownMessage;
let isListening = false;

export function create() {
  const detailsButton = iconButton('panel', 'Details', () => {
    const isShown = mail.classList.toggle('with-info');
    detailsButton.setAttribute('aria-pressed', String(isShown));
  });
  // Initially, opens the details only in a wide window. In a narrower window, the details are a sheet that covers the
  // thread.
  const isWide = innerWidth > 1100;
  detailsButton.setAttribute('aria-pressed', String(isWide));
  detailsButton.id = 'details-button';
  fill(
    head,
    h(
      'a',
      { class: 'btn icon bare back', id: 'back', href: '#/messages', 'aria-label': 'Back to conversations' },
      icon('left'),
    ),
    picture,
    h('div', 'grow', title, subtitle),
    !isHub() && iconButton('search', 'Search in this conversation', searchHere, 'bare hide-s'),
    detailsButton,
  );
  const thread = h(
    'section',
    { class: 'thread', id: 'thread', 'aria-labelledby': 'thread-title' },
    h('div', null, head, toLine),
    h('div', 'log-room', noThread, log, toNewest),
    may('send') ? h('div', 'write', scheduled, makeComposer(), isDemo() && speakBox) : h('div'),
  );
  takeDrops(thread);
  mail = h(
    'div',
    { class: `mail fill ${isWide ? 'with-info' : ''}`, id: 'messages', 'data-view': 'messages' },
    h(
      'section',
      { class: 'list', id: 'conversations', 'aria-label': 'Conversations' },
      h(
        'header',
        'stack',
        h(
          'div',
          'row',
          h('h1', 'grow', 'Messages'),
          chip('Unread', false, showUnreadOnly),
          may('send') && iconButton('pen', 'New message (n)', () => goTo('#/messages?new')),
        ),
        searchForm(),
        macChooser(() => showConversations()),
        partial,
      ),
      found,
      noConversation,
      list,
    ),
    thread,
    pane,
  );
  if (!isListening) listenToEvents();
  return { root: mail, show };
}

/** @param {Route} route */
async function show({ id, item: message, query }) {
  if (list.childElementCount === 0) {
    // Every conversation shows the scheduled sends and the keys. Loads both now, so that opening a conversation loads
    // only the conversation's own data.
    void Promise.all([waitingSends(), knownKeys()]).catch(() => {});
    await showConversations({ isFresh: false });
  }
  markCurrent();
  const isNew = query.has('new');
  mail.classList.toggle('has-thread', id !== undefined || isNew);
  if (id === undefined) {
    closeConversation();
    showSpeakers(undefined);
    shownMessage = undefined;
    head.hidden = !isNew;
    fill(title, 'New message');
    fill(subtitle);
    fill(picture);
    fill(pane);
    pane.hidden = true;
    showDetailsButton(false);
    writeTo(undefined, isNew ? '' : ' ');
    mail.classList.toggle('no-open', !isNew);
    if (isNew) {
      noThread.hidden = true;
      recipient.focus();
    }
    return;
  }
  mail.classList.remove('no-open');
  const isSame = id === openedConversation() && message === shownMessage;
  const isByKeyboard = document.activeElement?.matches('#conversation-list a:focus-visible') === true;
  const wanted = message === undefined ? undefined : takeWanted(message);
  const known = shownConversation(id);
  const isUnread = known?.details?.unread_count !== 0;
  showHead(id, known);
  if (known === undefined) void readHead(id);
  if (isSame && wanted === undefined) return;
  const target = message === undefined ? undefined : (wanted ?? (await messageOf(message)));
  const now = currentRoute();
  if (now.id !== id || now.item !== message) return;
  shownMessage = message;
  if (isByKeyboard) body.focus();
  await openConversation(id, target);
  noteOpen();
  const conversation = shownConversation(id);
  if (conversation === undefined) return;
  void showScheduled(conversation);
  if (isUnread && isDemo() && isOwner())
    void call('demo/read', { method: 'POST', body: { conversation_id: id } }).catch(() => {});
}

/** @param {boolean} isShown */
function showDetailsButton(isShown) {
  head.querySelector('#details-button')?.toggleAttribute('hidden', !isShown);
}

/**
 * @param {string} id
 * @param {Conversation | undefined} conversation
 */
function showHead(id, conversation) {
  const name = conversation === undefined ? addressIn(id) : nameOf(conversation);
  head.hidden = false;
  fill(title, macTag(id), name);
  setTitle(name);
  writeTo(conversation, name);
  showSpeakers(conversation);
  pane.hidden = conversation === undefined;
  showDetailsButton(conversation !== undefined);
  mail.classList.toggle('one', conversation !== undefined && !isGroup(conversation));
  if (conversation === undefined) return;
  const { participants, names, details } = conversation;
  fill(picture, face(peopleIn(conversation)));
  const shown = participants.slice(0, PEOPLE_IN_TITLE).map((address) => personOf(address, names));
  const others = participants.length - shown.length;
  if (isGroup(conversation)) subtitle.textContent = shown.join(', ') + (others > 0 ? ` and ${others} others` : '');
  else fill(subtitle, h('bdi', null, participants[0] ?? addressIn(id)), details?.service && ` · ${details.service}`);
  showDetails(conversation);
}

/** Reads a conversation that the list has not loaded, and shows its name and details. @param {string} id */
async function readHead(id) {
  try {
    /** @type {Conversation} */
    const conversation = await call(`conversations/${encodeURIComponent(id)}?include=${partsToInclude()}`);
    noteConversations([conversation]);
    if (currentRoute().id === id) showHead(id, conversation);
  } catch (error) {
    toast(reasonOf(error), true);
  }
}

/** @param {string} id */
async function messageOf(id) {
  try {
    return await call(`messages/${encodeURIComponent(id)}`);
  } catch (error) {
    toast(reasonOf(error), true);
    return undefined;
  }
}

function listenToEvents() {
  isListening = true;
  onEvent(take);
}

/** Updates the conversations and the open thread for an event. @param {any} event */
function take({ type, data, changes }) {
  switch (type) {
    case 'message.received':
    case 'message.sent':
      addMessage(data);
      void noteMessage(data);
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

/** Escape closes the conversation and returns to the list. */
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || mail.hidden || document.querySelector('dialog[open]') !== null) return;
  if (/^(?:INPUT|SELECT)$/.test(document.activeElement?.tagName ?? '') || !location.hash.startsWith('#/c/')) return;
  const { id = '' } = currentRoute();
  goTo('#/messages');
  /** @type {HTMLElement | null} */ (list.querySelector(`[data-id="${CSS.escape(id)}"]`))?.focus();
});

/** Begins a search in the open conversation. */
function searchHere() {
  const { id = '' } = currentRoute();
  const conversation = shownConversation(id);
  const name = conversation === undefined || !isGroup(conversation) ? addressIn(id) : nameOf(conversation);
  focusSearch();
  input.value = `in:${/\s/.test(name) ? `"${name}"` : name} `;
}

export function focusSearch() {
  if (!found.hidden) closeSearch();
  input.focus();
}

/**
 * Searches for words as if somebody had typed them.
 * @param {string} words
 */
export function searchFor(words) {
  input.value = words;
  input.focus();
  input.form?.requestSubmit();
}
