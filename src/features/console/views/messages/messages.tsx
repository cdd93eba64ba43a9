// The list of conversations, the open conversation and its details, side by side; on a phone only one of the three.

import { effect, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Conversation } from '../../../../core/model/conversation.ts';
import type { Message } from '../../../../core/model/message.ts';
import { Faces } from '../../parts/avatar.tsx';
import { Chip } from '../../parts/choices.tsx';
import { setTitle } from '../../parts/frame.ts';
import { Empty, Icon, IconButton } from '../../parts/parts.tsx';
import { Names } from '../../parts/quoting.tsx';
import { reported, toast } from '../../parts/toast.ts';
import { viewOf } from '../../parts/view.tsx';
import { call } from '../../service/api.ts';
import { conversationOf, isGroup, nameOf, namesOf, noteConversations, peopleIn } from '../../service/directory.ts';
import { type LiveEvent, onEvent } from '../../service/live.ts';
import { currentRoute, goTo, type Route, type View } from '../../service/route.ts';
import { ALL_PARTS, isDemo, isOwner, knownKeys, may, serves } from '../../service/service.ts';
import { addressIn, reasonOf } from '../../service/words.ts';
import { addFiles, Composer, focusBody, takeWriting } from './composer.tsx';
import {
  Conversations,
  focusConversation,
  forgetConversations,
  hasConversations,
  highlightOpen,
  isUnreadOnly,
  noteMessage,
  noteOpen,
  noteRead,
  noteUpdate,
  showConversations,
  shownConversation,
  showUnreadOnly,
} from './conversations.tsx';
import { Details, PeopleLine } from './details-pane.tsx';
import { openState, PHONE, recipient } from './open-state.ts';
import { noteTime, readScheduled, showScheduled } from './scheduled.tsx';
import { focusSearch, Results, SearchForm, takeWanted } from './search.tsx';
import { SpeakBox } from './speak.tsx';
import { thread } from './thread.tsx';
import { ThreadLog } from './thread-log.tsx';
import { focusRecipient, ToLine } from './to-line.tsx';

export { writeIn } from './composer.tsx';
export { focusSearch, searchFor } from './search.tsx';

/**
 * Initially, the details are open only in a wide window. In a narrower window, they are a sheet that covers the thread.
 */
const hasDetails = signal(innerWidth > 1100);
// A window that shrinks would put the sheet over the thread.
matchMedia('(max-width: 1100px)').addEventListener('change', ({ matches }) => {
  if (matches) hasDetails.value = false;
});
const isDropping = signal(false);
/** The message that the address names. */
let shownMessage: string | undefined;

async function show({ id, item: message, query }: Route): Promise<void> {
  if (!hasConversations()) {
    if (id !== undefined && id !== openState.value.id) expect(id);
    // Every conversation shows the scheduled sends and the keys. Loads both now, so that opening a conversation loads
    // only the conversation's own data.
    void Promise.all([readScheduled(), knownKeys()]).catch(() => {});
    await showConversations({ isFresh: false });
  }
  highlightOpen();
  if (id === undefined) showNone(query.has('new'));
  else await showConversation(id, message);
}

/** Shows a conversation whose list, name and messages are still to come. */
function expect(id: string): void {
  open(id, conversationOf(id));
  thread.expect();
}

/** Shows the box for a new message, or neither that nor a conversation. */
function showNone(isNew: boolean): void {
  thread.close();
  shownMessage = undefined;
  openState.value = { isNew };
  recipient.value = undefined;
  // The field appears only now.
  if (isNew) setTimeout(focusRecipient);
}

async function showConversation(id: string, message: string | undefined): Promise<void> {
  const isSame = id === thread.openId && message === shownMessage;
  const isByKeyboard = document.activeElement?.matches('#conversation-list a:focus-visible') === true;
  const wanted = message === undefined ? undefined : takeWanted(message);
  const known = shownConversation(id);
  const isUnread = known?.details?.unread_count !== 0;
  open(id, known);
  if (takeWriting(id) || isByKeyboard) focusBody();
  if (known === undefined) void readHead(id);
  if (isSame && (wanted === undefined || thread.mark(wanted.message.id, wanted.isPreview))) return;
  const target = message === undefined ? undefined : (wanted?.message ?? (await messageOf(message)));
  const now = currentRoute();
  if (now.id !== id || now.item !== message) return;
  shownMessage = message;
  await thread.open(id, target, wanted?.isPreview);
  // Nobody has opened what a search shows by itself.
  if (wanted?.isPreview === true) return;
  noteOpen();
  if (shownConversation(id) === undefined) return;
  void readScheduled();
  if (!isUnread || !isDemo() || !isOwner()) return;
  void call('demo/read', { method: 'POST', body: { conversation_id: id } }).catch(() => {});
}

function open(id: string, conversation: Conversation | undefined): void {
  openState.value = { id, isNew: false, conversation };
  recipient.value = undefined;
  setTitle(conversation === undefined ? addressIn(id) : nameOf(conversation));
}

/** Reads a conversation that the list has not loaded, and shows its name and details. */
async function readHead(id: string): Promise<void> {
  try {
    const path = `conversations/${encodeURIComponent(id)}?include=${ALL_PARTS}`;
    const conversation = await call<Conversation>(path);
    noteConversations([conversation]);
    if (currentRoute().id === id) open(id, conversation);
  } catch (error) {
    toast(reasonOf(error), true);
  }
}

async function messageOf(id: string): Promise<Message | undefined> {
  try {
    return await call<Message>(`messages/${encodeURIComponent(id)}`);
  } catch (error) {
    toast(reasonOf(error), true);
    return undefined;
  }
}

/** Updates the conversations and the open thread for an event. */
function take(event: LiveEvent): void {
  switch (event.type) {
    case 'message.received':
    case 'message.sent':
      thread.add(event.data);
      void noteMessage(event.data);
      void noteTime();
      break;
    case 'message.updated':
      thread.update(event.data, event.changes);
      noteUpdate(event.data);
      if (event.changes.includes('read')) noteRead(event.data);
      break;
    case 'message.removed':
      thread.remove(event.data.id);
      break;
    case 'reaction.added':
    case 'reaction.removed':
      thread.react(event.data, event.type === 'reaction.added');
      break;
    case 'messages.changed':
      void showConversations().catch(() => {});
      void reported(() => thread.reload());
      break;
  }
}

/** Begins a search in the open conversation. */
function searchHere(): void {
  const { id = '', conversation } = openState.value;
  const name = conversation === undefined || !isGroup(conversation) ? addressIn(id) : nameOf(conversation);
  if (PHONE.matches) {
    // The list, with its field, takes the place of the thread.
    goTo('#/messages');
    openState.value = { isNew: false };
  }
  focusSearch(`in:${/\s/.test(name) ? `"${name}"` : name} `);
}

const Mail = (): VNode => (
  <>
    <section class="list" id="conversations" aria-label="Conversations">
      <header class="stack">
        <div class="row">
          <h1 class="grow">Messages</h1>
          <Chip isOn={isUnreadOnly.value} toggle={showUnreadOnly}>
            Unread
          </Chip>
          {may('send') && <IconButton icon="pen" label="New message (n)" run={() => goTo('#/messages?new')} />}
        </div>
        <SearchForm />
      </header>
      <Results />
      <Conversations />
    </section>
    <ThreadPane />
    <Pane />
  </>
);

const ThreadPane = (): VNode => (
  <section
    class={isDropping.value ? 'thread dropping' : 'thread'}
    id="thread"
    aria-labelledby="thread-title"
    onDragOver={(event) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      isDropping.value = true;
    }}
    onDragLeave={() => {
      isDropping.value = false;
    }}
    onDrop={(event) => {
      event.preventDefault();
      isDropping.value = false;
      addFiles(event.dataTransfer?.files ?? []);
    }}
  >
    <div>
      <Head />
      <ToLine done={focusBody} />
    </div>
    <div class="log-room">
      <NoThread />
      <ThreadLog />
    </div>
    {may('send') ? (
      <div class="write">
        {isDemo() && <SpeakBox />}
        <Composer />
      </div>
    ) : (
      <div />
    )}
  </section>
);

function NoThread(): VNode {
  const isShown = openState.value.id === undefined && !openState.value.isNew;
  return (
    <div id="message-none" hidden={!isShown}>
      {isShown && (
        <Empty
          icon="chat"
          title="Choose a conversation"
          text={`Its newest messages appear here.${may('send') ? ' Or write to somebody with the pen above the list.' : ''}`}
        />
      )}
    </div>
  );
}

function Pane(): VNode {
  const { conversation } = openState.value;
  return (
    <aside class="info" aria-label="Details" hidden={conversation === undefined}>
      {conversation && <Details conversation={conversation} />}
    </aside>
  );
}

function Head(): VNode {
  const { id, isNew, conversation } = openState.value;
  const title = conversation === undefined ? [addressIn(id ?? '')] : namesOf(conversation);
  return (
    <header hidden={id === undefined && !isNew}>
      <a class="btn icon bare back" id="back" href="#/messages" aria-label="Back to conversations">
        <Icon name="left" />
      </a>
      {conversation && <Faces people={peopleIn(conversation)} />}
      <div class="grow">
        <h1 id="thread-title" class="cut" dir="auto">
          {id === undefined ? 'New message' : <Names names={title} />}
        </h1>
        <p id="thread-people" class="quiet small cut">
          {conversation && <PeopleLine {...conversation} />}
        </p>
      </div>
      {id !== undefined && serves('searchMessages') && (
        <IconButton icon="search" label="Search in this conversation" run={searchHere} />
      )}
      <IconButton
        id="details-button"
        icon="panel"
        label="Details"
        aria-pressed={hasDetails.value}
        hidden={conversation === undefined}
        run={() => {
          hasDetails.value = !hasDetails.value;
        }}
      />
    </header>
  );
}

/** Escape closes the conversation and returns to the list. */
function pressed(root: HTMLElement, event: KeyboardEvent): void {
  if (event.key !== 'Escape' || root.hidden || document.querySelector('dialog[open], :popover-open') !== null) return;
  const { id = '', isNew } = openState.value;
  // The field of the recipient has closed its suggestions.
  const isInField = document.activeElement?.matches('input:not(#recipient), select') === true;
  if (isInField || (id === '' && !isNew)) return;
  goTo('#/messages');
  // A hidden field would keep the focus, and the next key, until the page is drawn again.
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  focusConversation(id);
}

let made: HTMLElement | undefined;
let stop = (): void => {};

export function create(): View {
  const root = document.createElement('div');
  root.id = 'messages';
  stop();
  stop = effect(() => {
    const { id, isNew, conversation } = openState.value;
    const kinds = {
      'with-info': hasDetails.value && conversation !== undefined,
      'has-thread': id !== undefined || isNew,
      'no-open': id === undefined && !isNew,
      // Messages of a single person need neither a name nor a picture each.
      one: conversation === undefined ? isNew && recipient.value?.isGroup === false : !isGroup(conversation),
    };
    const names = Object.entries(kinds).flatMap(([name, isSo]) => (isSo ? [name] : []));
    root.className = ['mail', 'fill', ...names].join(' ');
  });
  if (made !== undefined) {
    // The lists may have missed events.
    thread.close();
    forgetConversations();
  } else {
    onEvent(take);
    showScheduled();
    addEventListener('keydown', (event) => made !== undefined && pressed(made, event));
  }
  made = root;
  return viewOf('messages', <Mail />, show, root);
}
