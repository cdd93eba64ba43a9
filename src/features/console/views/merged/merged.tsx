// The conversations of several Macs in one list. Each leads to the console of its Mac.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Conversation } from '../../../../core/model/conversation.ts';
import { SearchBox } from '../../parts/choices.tsx';
import { ConversationRow } from '../../parts/conversation-row.tsx';
import { Button, Empty, moveRow, Note, Tag } from '../../parts/parts.tsx';
import { reported } from '../../parts/toast.ts';
import { viewOf, whileShown } from '../../parts/view.tsx';
import { type Asked, pageOf } from '../../service/api.ts';
import { noteConversations } from '../../service/directory.ts';
import { onEvent } from '../../service/live.ts';
import { consoleOf, macOf } from '../../service/place.ts';
import { pathOfConversation, type View } from '../../service/route.ts';
import { ALL_PARTS } from '../../service/service.ts';
import { listed } from '../../service/words.ts';

const AT_ONCE = 50;
/** Each reading asks every Mac. */
const RENEW_MS = 15_000;
const WAIT_MS = 250;

const conversations = signal<readonly Conversation[] | undefined>(undefined);
/** The path of the next page. */
const next = signal<string | undefined>(undefined);
/** The Macs that could not be asked. */
const missing = signal<readonly string[]>([]);
const words = signal('');
/** True if there was an event since the list was read, or if a Mac did not answer then. */
let isOld = false;

async function read(options: Asked = {}): Promise<void> {
  isOld = false;
  const asked = words.peek();
  const path = `conversations?limit=${AT_ONCE}&include=${ALL_PARTS}&q=${encodeURIComponent(asked)}`;
  const page = await pageOf<Conversation>(path, options);
  if (asked !== words.peek()) return;
  noteConversations(page.items);
  conversations.value = page.items;
  next.value = page.next;
  missing.value = page.headers.get('Postern-Partial')?.split(', ') ?? [];
  isOld ||= missing.value.length > 0;
}

async function readMore(): Promise<void> {
  const page = await pageOf<Conversation>(next.peek() ?? '');
  noteConversations(page.items);
  conversations.value = [...(conversations.peek() ?? []), ...page.items];
  next.value = page.next;
}

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
          <li key={`${macOf(one)} ${one.id}`}>
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
      beside={<Tag>{mac}</Tag>}
    />
  );
}

let isListening = false;

export function create(): View {
  if (!isListening) {
    onEvent(() => {
      isOld = true;
    });
  }
  isListening = true;
  const root = document.createElement('div');
  root.id = 'merged';
  root.className = 'mail fill no-open';
  const view = viewOf('merged', <Merged />, () => read(), root);
  whileShown(view.root, RENEW_MS, async () => {
    if (isOld) await read({ isByItself: true });
  });
  return view;
}
