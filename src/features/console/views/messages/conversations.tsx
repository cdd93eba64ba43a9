// The list of conversations. Only the items near the visible ones are in the document.

import { computed, type Signal, signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { Conversation } from '../../../../core/model/conversation.ts';
import type { LastMessage } from '../../../../core/model/details.ts';
import type { Message } from '../../../../core/model/message.ts';
import { ConversationRow } from '../../parts/conversation-row.tsx';
import { CodeLine, Empty, moveRow } from '../../parts/parts.tsx';
import { noteSeen, onSeenElsewhere, showUnread, unseenIn } from '../../parts/seen.ts';
import { type AnswerPage, pageOf, statusOf } from '../../service/api.ts';
import { nameOf, newestConversations, noteConversations } from '../../service/directory.ts';
import { currentRoute, pathOfConversation } from '../../service/route.ts';
import { commandOf, may } from '../../service/service.ts';

/** A conversation of the list, which changes with each message. */
type ListItem = Signal<Conversation>;

/** The next page loads if the visible items are closer than this to the end of the list, in pixels. */
const NEAR = 400;
/**
 * Items enter and leave the document in groups of this size. At least one group more is on each side of the visible
 * ones.
 */
const GROUP = 3;
/** The height of an item before one has been measured, in pixels. */
const USUAL = 68;

const list = createRef<HTMLUListElement>();
const known = new Map<string, ListItem>();
/** All conversations in order; undefined until they have been read. */
const items = signal<readonly ListItem[] | undefined>(undefined);
/** The path of the next page. */
const next = signal<string | undefined>(undefined);
const current = signal<string | undefined>(undefined);
/** Ids of the conversations with a message that failed since somebody looked at them. */
const failed = signal<ReadonlySet<string>>(new Set());
/** True if only conversations with unread messages are shown. */
export const isUnreadOnly = signal(false);
/** The first item in the document, and the number of those. */
const from = signal(0);
const size = signal(0);
/** Height of each item in pixels; 0 if unknown. */
const height = signal(0);
/**
 * How far the list is scrolled, and its own height, in pixels. Both are noted when they change: to ask for them after
 * items have changed makes the browser lay out those items at once.
 */
let top = 0;
let room = 0;
let isLoading = false;
/** Time of the request whose answer is shown. A newer request may be answered before an older one. */
let askedAt = 0;

/** The items that the filter lets through. One that has been read since stays until the list changes. */
const wanted = computed(() => {
  const all = items.value ?? [];
  if (!isUnreadOnly.value) return all;
  return all.filter((item) => unseenIn(item.peek()) > 0 || item.peek().id === current.peek());
});

export const shownConversation = (id: string): Conversation | undefined => known.get(id)?.peek();

/** Reports whether the conversations have been read. */
export const hasConversations = (): boolean => (items.peek() ?? []).length > 0;

/** Forgets the list, which is then read again. */
export function forgetConversations(): void {
  items.value = undefined;
}

interface ReadOptions {
  readonly isByItself?: boolean;
  readonly isFresh?: boolean;
}

export async function showConversations({ isByItself, isFresh = true }: ReadOptions = {}): Promise<void> {
  const now = performance.now();
  const page = await newestConversations({ isByItself, isFresh });
  if (now < askedAt) return;
  askedAt = now;
  const focused = document.activeElement?.closest<HTMLElement>('#conversation-list [data-id]')?.dataset.id;
  const later = laterThan(page);
  known.clear();
  for (const item of later) known.set(item.peek().id, item);
  items.value = [...added(page.items), ...later];
  if (later.length === 0) next.value = page.next;
  noteOpen();
  highlightOpen();
  // An item that moves loses the focus.
  if (focused !== undefined) setTimeout(() => focusConversation(focused));
}

/** Returns the loaded items that follow a page of the newest ones. Without them the list would lose its place. */
function laterThan({ items: newest, next: path }: AnswerPage<Conversation>): readonly ListItem[] {
  const last = newest.at(-1)?.last_message_at;
  if (path === undefined || last === undefined) return [];
  const ids = new Set(newest.map(({ id }) => id));
  return (items.peek() ?? []).filter((item) => {
    const { id, last_message_at: at } = item.peek();
    return !ids.has(id) && Date.parse(at) <= Date.parse(last);
  });
}

/** Gives a conversation of the list the focus. */
export function focusConversation(id: string): void {
  list.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)?.focus();
}

async function showMore(): Promise<void> {
  const path = next.peek();
  if (path === undefined || isLoading) return;
  isLoading = true;
  try {
    const page = await pageOf<Conversation>(path);
    // If the list was read again meanwhile, this page may not follow it.
    if (path === next.peek()) {
      next.value = page.next;
      noteConversations(page.items);
      items.value = [...(items.peek() ?? []), ...added(page.items)];
      countListed();
    }
  } catch (error) {
    // A hub refuses the page after its last one. The next scroll tries again to load any other.
    if (statusOf(error) === 400) next.value = undefined;
  }
  isLoading = false;
}

/**
 * Returns items for the conversations that are not yet in the list. A conversation is on two pages if a message arrived
 * in it between the two requests.
 */
function added(conversations: readonly Conversation[]): readonly ListItem[] {
  const others = conversations.filter(({ id }) => !known.has(id));
  return others.map((conversation) => {
    const item = signal(conversation);
    known.set(conversation.id, item);
    return item;
  });
}

/** Highlights the open conversation in the list. */
export function highlightOpen(): void {
  current.value = currentRoute().id;
}

/** Notes that the user has seen the newest message of the open conversation. */
export function noteOpen(): void {
  const { view, id } = currentRoute();
  const item = view === 'messages' && id !== undefined ? known.get(id) : undefined;
  if (item !== undefined && document.visibilityState === 'visible') {
    noteFailed(item.peek().id, false);
    noteSeen(item.peek());
    item.value = { ...item.peek() };
  }
  countListed();
}

const countListed = (): void =>
  showUnread(
    [...known.values()].map((item) => item.peek()),
    next.peek() !== undefined,
  );

/** Shows a new message in the list. Reloads the list if the message's conversation is missing. */
export async function noteMessage(message: Message): Promise<void> {
  if (message.status === 'failed') noteFailed(message.conversation_id, true);
  const item = known.get(message.conversation_id);
  if (item === undefined) {
    if (message.conversation_id !== '') await showConversations({ isByItself: true }).catch(() => {});
    return;
  }
  item.value = withMessage(item.peek(), message);
  noteConversations([item.peek()]);
  noteOpen();
  const all = items.peek() ?? [];
  // Moves nothing while the list has the focus, because the user is choosing a conversation.
  if (all[0] === item || list.current?.contains(document.activeElement)) return;
  items.value = [item, ...all.filter((other) => other !== item)];
}

function noteFailed(id: string, isSo: boolean): void {
  if (failed.peek().has(id) === isSo) return;
  const others = [...failed.peek()].filter((other) => other !== id);
  failed.value = new Set(isSo ? [...others, id] : others);
}

function withMessage(conversation: Conversation, message: Message): Conversation {
  const { details } = conversation;
  const unread = message.is_from_me ? {} : { unread_count: unseenIn(conversation) + 1 };
  return {
    ...conversation,
    last_message_at: message.timestamp,
    ...(details !== undefined && { details: { ...details, last_message: lastOf(message), ...unread } }),
  };
}

/** Shows the last message of a conversation as it is after a change, such as one that failed later. */
export function noteUpdate(message: Message): void {
  if (message.status === 'failed') noteFailed(message.conversation_id, true);
  const item = known.get(message.conversation_id);
  const details = item?.peek().details;
  if (item === undefined || details?.last_message?.id !== message.id) return;
  item.value = { ...item.peek(), details: { ...details, last_message: lastOf(message) } };
}

const lastOf = (message: Message): LastMessage => ({ ...message, sentence: message.details?.sentence });

/** Shows that a message was read on another device. */
export function noteRead({ conversation_id: id, is_from_me: isOwn }: Message): void {
  const item = known.get(id);
  const details = item?.peek().details;
  if (item === undefined || details === undefined || isOwn || !details.unread_count) return;
  item.value = { ...item.peek(), details: { ...details, unread_count: details.unread_count - 1 } };
  countListed();
}

/** Shows all conversations, or only those with unread messages. */
export function showUnreadOnly(isOn: boolean): void {
  isUnreadOnly.value = isOn;
}

/** Chooses the items for the document by the scroll position. */
function placeWindow(): void {
  const groupPx = (height.peek() || USUAL) * GROUP;
  size.value = (Math.ceil(room / groupPx) + 3) * GROUP;
  const last = wanted.peek().length - size.peek();
  from.value = Math.max(0, Math.min((Math.floor(top / groupPx) - 1) * GROUP, last));
}

function scrolled(): void {
  if (list.current === null) return;
  const { scrollHeight } = list.current;
  ({ scrollTop: top, clientHeight: room } = list.current);
  placeWindow();
  if (scrollHeight - top - room < NEAR) void showMore();
}

function measure(): void {
  height.value = list.current?.querySelector('li')?.offsetHeight || height.peek();
}

export function Conversations(): VNode {
  const all = wanted.value;
  const isEmpty = items.value !== undefined && all.length === 0 && next.value === undefined;
  const after = Math.max(0, all.length - from.value - size.value);
  const near = all.slice(from.value, from.value + size.value);
  const twice = repeated(near.map((item) => nameOf(item.peek())));
  useLayoutEffect(() => {
    if (list.current === null) return undefined;
    const observer = new ResizeObserver(() => {
      measure();
      scrolled();
    });
    observer.observe(list.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (height.peek() === 0) measure();
    placeWindow();
    if (!isUnreadOnly.peek() || list.current === null) return;
    // Loads pages until the list can scroll, because the filter may hide most of a page's conversations.
    const { clientHeight, scrollHeight } = list.current;
    if (clientHeight > 0 && scrollHeight <= clientHeight) void showMore();
  });
  return (
    <>
      <div id="conversation-none" hidden={!isEmpty}>
        {isEmpty && <None />}
      </div>
      <ul
        id="conversation-list"
        class="scroll"
        data-rows
        aria-busy={items.value === undefined}
        aria-label="Conversations"
        ref={list}
        hidden={isEmpty}
        style={{ '--before': `${from.value * height.value}px`, '--after': `${after * height.value}px` }}
        onScroll={scrolled}
        onKeyDown={moveRow}
      >
        {near.map((item, index) => (
          <li
            key={item.peek().id}
            aria-posinset={from.value + index + 1}
            aria-setsize={next.value === undefined ? all.length : -1}
          >
            <Row item={item} hasTwin={twice.has(nameOf(item.peek()))} />
          </li>
        ))}
      </ul>
    </>
  );
}

const None = (): VNode =>
  isUnreadOnly.value ? (
    <Empty icon="check" title="Nothing new" text="You have opened every conversation." />
  ) : (
    <Empty
      icon="chat"
      title="No conversations yet"
      text={`They appear here as soon as Messages has some.${may('send') ? ' Or write the first message:' : ''}`}
    >
      {may('send') && (
        <a class="btn first" href="#/messages?new">
          New message
        </a>
      )}
      <CodeLine text={commandOf('send +15550100 "Hello"')} />
    </Empty>
  );

/** Returns the names that occur more than once. */
function repeated(names: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(names.filter((name) => seen.has(name) || !seen.add(name)));
}

interface RowProps {
  readonly item: ListItem;
  /** True if another conversation has the same name, so that the address tells them apart. */
  readonly hasTwin: boolean;
}

function Row({ item, hasTwin }: RowProps): VNode {
  const conversation = item.value;
  const { id, participants } = conversation;
  return (
    <ConversationRow
      conversation={conversation}
      href={pathOfConversation(id)}
      unread={unseenIn(conversation)}
      hasFailed={failed.value.has(id)}
      isCurrent={current.value === id}
      address={hasTwin && participants.length === 1 ? participants[0] : undefined}
    />
  );
}

document.addEventListener('visibilitychange', noteOpen);
onSeenElsewhere(() => {
  if (known.size === 0) return;
  for (const item of known.values()) item.value = { ...item.peek() };
  countListed();
});
