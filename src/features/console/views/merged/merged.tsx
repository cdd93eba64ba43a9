// The conversations of several Macs in one list. Each leads to the console of its Mac.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Conversation } from '../../../../core/model/conversation.ts';
import { SearchBox } from '../../parts/choices.tsx';
import { ConversationRow } from '../../parts/conversation-row.tsx';
import { Button, Empty, moveRow, Note } from '../../parts/parts.tsx';
import { reported } from '../../parts/toast.ts';
import { viewOf, whileShown } from '../../parts/view.tsx';
import { type AnswerPage, type Asked, pageOf } from '../../service/api.ts';
import { noteConversations } from '../../service/directory.ts';
import { onEvent } from '../../service/live.ts';
import { consoleOf, macOf } from '../../service/place.ts';
import { pathOfConversation, type View } from '../../service/route.ts';
import { ALL_PARTS } from '../../service/service.ts';
import { listed } from '../../service/words.ts';

const AT_ONCE = 50;
/** Each reading asks every Mac. */
const RENEW_MS = 15_000;
/** Longest time until Macs that did not answer are asked again. */
const MOST_MS = 120_000;
const WAIT_MS = 250;

const conversations = signal<readonly Conversation[] | undefined>(undefined);
/** The path of the next page. */
const next = signal<string | undefined>(undefined);
/** The Macs that could not be asked. */
const missing = signal<readonly string[]>([]);
const words = signal('');
/** The words that the conversations shown were read for. */
let wordsShown = '';
/** The number of events, and how many of them the list shows. */
let events = 0;
let eventsShown = 0;
/** When Macs that did not answer are asked again, and how long after the last reading that is. */
let againAt = 0;
let againMs = RENEW_MS;

const keyOf = (one: Conversation): string => `${macOf(one)} ${one.id}`;

/** Returns the conversations without those that came twice, because a message arrived in them between two requests. */
const once = (all: readonly Conversation[]): readonly Conversation[] => [
  ...new Map(all.map((one) => [keyOf(one), one])).values(),
];

/** Reads the newest conversations, and as many as are shown, so that the list keeps its place. */
async function read(options: Asked = {}): Promise<void> {
  const asked = words.peek();
  const ownEvents = events;
  const count = asked === wordsShown ? (conversations.peek()?.length ?? 0) : 0;
  const path = `conversations?limit=${AT_ONCE}&include=${ALL_PARTS}&q=${encodeURIComponent(asked)}`;
  let page = await pageOf<Conversation>(path, options);
  const all = [...page.items];
  const away = new Set(missingIn(page));
  while (page.next !== undefined && all.length < count) {
    page = await pageOf<Conversation>(page.next, options);
    all.push(...page.items);
    for (const mac of missingIn(page)) away.add(mac);
  }
  if (asked !== words.peek()) return;
  noteConversations(all);
  conversations.value = once(all);
  wordsShown = asked;
  next.value = page.next;
  missing.value = [...away];
  eventsShown = ownEvents;
  againMs = away.size === 0 ? RENEW_MS : Math.min(2 * againMs, MOST_MS);
  againAt = performance.now() + againMs;
}

const missingIn = ({ headers }: AnswerPage<Conversation>): readonly string[] =>
  headers.get('Postern-Partial')?.split(', ') ?? [];

async function readMore(): Promise<void> {
  const path = next.peek() ?? '';
  const asked = words.peek();
  const page = await pageOf<Conversation>(path);
  if (asked !== words.peek() || path !== next.peek()) return;
  noteConversations(page.items);
  conversations.value = once([...(conversations.peek() ?? []), ...page.items]);
  next.value = page.next;
}

/** Reports whether the list lacks events, the words of a search that failed, or Macs that may answer by now. */
const isOld = (): boolean =>
  events > eventsShown || words.peek() !== wordsShown || (missing.peek().length > 0 && performance.now() >= againAt);

let timer: ReturnType<typeof setTimeout> | undefined;

function find(typed: string): void {
  clearTimeout(timer);
  words.value = typed;
  timer = setTimeout(() => void reported(() => read()), WAIT_MS);
}

/** Gives the search box the focus. */
export const focusFind = (): void => document.querySelector<HTMLElement>('#merged [type="search"]')?.focus();

const Merged = (): VNode => (
  <>
    <section class="list" aria-label="Conversations">
      <header class="stack">
        <div class="row">
          <h1 class="grow">Messages</h1>
        </div>
        <SearchBox label="Find by name or number" type={find} />
      </header>
      <div role="status">
        {missing.value.length > 0 && (
          <Note kind="warn">
            <p>
              {`${listed(missing.value)} did not answer, so the conversations there are missing. `}
              <a href="#/overview">Since when</a>
            </p>
          </Note>
        )}
      </div>
      {conversations.value?.length === 0 ? <None /> : <Rows />}
    </section>
    <section class="thread" aria-label="Conversation">
      <div class="log-room">
        <div id="message-none">
          <Empty
            icon="chat"
            title="Choose a conversation"
            text="The conversations of all Macs are here. Each opens in the console of its Mac."
          />
        </div>
      </div>
    </section>
  </>
);

const None = (): VNode => (
  <Empty
    icon="chat"
    title={words.value === '' ? 'No conversations' : 'Nothing found'}
    text={
      words.value === ''
        ? 'They appear here as soon as a Mac that answers has some.'
        : 'No name, number or group has all of these words.'
    }
  />
);

function Rows(): VNode | null {
  if (conversations.value === undefined) return null;
  return (
    <div class="scroll">
      <ul id="merged-list" data-rows onKeyDown={moveRow}>
        {conversations.value.map((one) => (
          <li key={keyOf(one)}>
            <Row {...one} />
          </li>
        ))}
      </ul>
      {next.value !== undefined && (
        <p class="more">
          <Button run={readMore}>Show more</Button>
        </p>
      )}
    </div>
  );
}

function Row(conversation: Conversation): VNode {
  const mac = macOf(conversation) ?? '';
  return (
    <ConversationRow
      conversation={conversation}
      href={consoleOf(mac, pathOfConversation(conversation.id))}
      mac={mac}
      unread={conversation.details?.unread_count ?? 0}
      address={mac}
    />
  );
}

let isListening = false;

export function create(): View {
  if (!isListening) {
    onEvent(() => {
      events += 1;
    });
  }
  isListening = true;
  const root = document.createElement('div');
  root.id = 'merged';
  root.className = 'mail fill no-open';
  const view = viewOf('merged', <Merged />, () => read(), root);
  whileShown(view.root, RENEW_MS, async () => {
    if (isOld()) await read({ isByItself: true });
  });
  return view;
}
