// Events in columns as they happen, and one event as JSON beside them.

import { computed, signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { MINUTE_MS } from '../../../../core/model/durations.ts';
import { counted, number } from '../../../../core/model/figures.ts';
import type { Message } from '../../../../core/model/message.ts';
import { Chip, SearchBox, stepOf } from '../../parts/choices.tsx';
import { limited } from '../../parts/frame.ts';
import { Button, CodeLine, classes, Empty, Icon, PageHead, Tag } from '../../parts/parts.tsx';
import { Quoting } from '../../parts/quoting.tsx';
import { copy } from '../../parts/toast.ts';
import { viewOf, whileShown } from '../../parts/view.tsx';
import { WindowList, type WindowListHandle } from '../../parts/window-list.tsx';
import { curlOf } from '../../service/api.ts';
import type { Limited } from '../../service/budget.ts';
import { nameIn, namesIn, readDirectory } from '../../service/directory.ts';
import {
  type LiveEvent,
  liveState,
  messageTaken,
  onEvent,
  readEarlier,
  type Taken,
  takenEvents,
} from '../../service/live.ts';
import { macOf } from '../../service/place.ts';
import type { View } from '../../service/route.ts';
import { isHub, may, partsOfEvents } from '../../service/service.ts';
import { ConversationChoice, MacChoice } from './event-choices.tsx';
import { EventDetail, SeenAt } from './event-detail.tsx';
import { Rate, readRate } from './event-rate.tsx';
import {
  conversationIdOf,
  conversationName,
  folded,
  GROUPS,
  type Group,
  groupOf,
  isUndelivered,
  type ListedEvent,
  sendAtOf,
  sentenceOf,
} from './event-words.ts';

const ROW_PX = 36;
const NARROW_ROW_PX = 60;
const NARROW = matchMedia('(max-width: 1100px)');
const STREAM = '-N -H "Accept: application/x-ndjson" ';

/** Changes with every event that arrives while the view is on the screen. */
const version = signal(0);
const isNarrow = signal(NARROW.matches);
/** The groups shown; empty for all. */
const groups = signal<ReadonlySet<Group>>(new Set());
const text = signal('');
const conversation = signal('');
/** The Mac whose events are shown; empty for all. */
const mac = signal('');
/** The events at the time of pausing, newest first; undefined unless paused. */
const paused = signal<readonly Taken[] | undefined>(undefined);
const open = signal<ListedEvent | undefined>(undefined);
/** True while the events from before the page was opened are being read. */
const isReading = signal(false);
const list = createRef<WindowListHandle>();

/** The number of events that have arrived since the view was paused. */
const waiting = computed(() => {
  void version.value;
  if (paused.value === undefined) return 0;
  const newest = paused.value[0]?.key;
  const at = takenEvents().findIndex(({ key }) => key === newest);
  return at < 0 ? takenEvents().length : at;
});
const all = computed(() => {
  void version.value;
  const kept = takenEvents().slice(waiting.value);
  // So many events may have come since that those from before the pause are no longer kept.
  return kept.length === 0 ? (paused.value ?? []) : kept;
});
const shown = computed(() => folded(all.value.filter(isWanted)));

/** Returns a function that finds an earlier message of the event's Mac. */
const ofMac =
  ({ data }: LiveEvent) =>
  (id: string): Message | undefined =>
    messageTaken(id, macOf(data));

function isWanted({ event }: Taken): boolean {
  if (groups.value.size > 0 && !groups.value.has(groupOf(event.type))) return false;
  if (conversation.value !== '' && conversationIdOf(event) !== conversation.value) return false;
  if (mac.value !== '' && macOf(event.data) !== mac.value) return false;
  if (text.value === '') return true;
  const words = [event.type, conversationName(event, nameIn), ...sentenceOf(event, ofMac(event), namesIn)];
  return words.join(' ').toLowerCase().includes(text.value);
}

const Events = (): VNode => (
  <>
    <div class="bar">
      <PageHead title="Events" beside={<LiveState />}>
        <Rate />
        <PauseButton />
        <Button
          kind="hide-s"
          run={() => copy(curlOf(`events${partsOfEvents() && `?include=${partsOfEvents()}`}`, STREAM))}
        >
          <Icon name="copy" />
          Copy as curl
        </Button>
      </PageHead>
      <div class="filters">
        <Chips />
        <MacChoice chosen={mac} />
        <ConversationChoice events={all.value} chosen={conversation} />
        <SearchBox label="Filter by text" type={(words) => (text.value = words.toLowerCase())} />
      </div>
    </div>
    <div class={classes('panes', open.value && 'open', isHub() && 'of-macs')} onKeyDown={pressed}>
      <div class="event-room">
        {shown.value.length === 0 ? <None /> : <Rows />}
        {isReading.value && limited.value && <Older {...limited.value} />}
      </div>
      <aside class="drawer" aria-label="Event" hidden={open.value === undefined}>
        {open.value && <EventDetail taken={open.value} step={step} close={close} />}
      </aside>
    </div>
  </>
);

function LiveState(): VNode {
  const state = liveState.value;
  const isLive = state === 'open' && paused.value === undefined;
  const count = waiting.value;
  const pausedWords = `Paused${count > 0 ? ` · ${number(count)} new` : ''}`;
  const words = {
    connecting: 'Connecting',
    closed: 'Not listening: trying again',
    open: isLive ? 'Live' : pausedWords,
  }[state];
  return (
    <span class={`tag ${isLive ? 'good' : 'warn'}`} id="live-state" role="status">
      <span class={`dot ${isLive ? 'live' : 'warn'}`} />
      {words}
    </span>
  );
}

function PauseButton(): VNode {
  const isPaused = paused.value !== undefined;
  const toggle = (): void => {
    paused.value = isPaused ? undefined : [...takenEvents()];
  };
  return (
    <Button id="pause" aria-pressed={isPaused} run={toggle}>
      <Icon name={isPaused ? 'play' : 'pause'} />
      {isPaused ? 'Continue' : 'Pause'}
    </Button>
  );
}

function Chips(): VNode {
  const counts = new Map<Group, number>();
  for (const { event } of all.value) counts.set(groupOf(event.type), (counts.get(groupOf(event.type)) ?? 0) + 1);
  const toggle = (group: Group, isOn: boolean): void => {
    const others = [...groups.value].filter((one) => one !== group);
    groups.value = new Set(isOn ? [...others, group] : others);
  };
  return (
    <div class="filters" role="group" aria-label="Which events are shown" id="live-form">
      <Chip
        data-group=""
        isOn={groups.value.size === 0}
        toggle={() => {
          groups.value = new Set();
        }}
      >
        All
        <Count of={all.value.length} />
      </Chip>
      {GROUPS.map(([group, label]) => (
        <Chip key={group} data-group={group} isOn={groups.value.has(group)} toggle={(isOn) => toggle(group, isOn)}>
          <span class={`type ${group}`}>
            <i />
          </span>
          {label}
          <Count of={counts.get(group) ?? 0} />
        </Chip>
      ))}
    </div>
  );
}

const Count = ({ of }: { readonly of: number }): VNode => <span class="num small">{of > 0 && number(of)}</span>;

const None = (): VNode =>
  all.value.length > 0 ? (
    <Empty icon="search" title="No event matches" text="Choose other types, or another conversation." />
  ) : (
    <Empty
      icon="pulse"
      title={liveState.value === 'open' ? 'Listening' : 'Not listening'}
      text="Events appear here as they happen. To watch from a terminal:"
    >
      <CodeLine text={curlOf('events', STREAM)} />
    </Empty>
  );

const COLUMNS = ['Time', 'Type', 'Conversation', 'What happened', 'Offset'];

const Rows = (): VNode => (
  <WindowList
    id="events"
    regionLabel="Events, newest first"
    label="Events"
    head={
      <div class="ev headrow">
        {COLUMNS.map((name) => (
          <span key={name} class={name === 'Offset' ? 'off' : undefined}>
            {name}
          </span>
        ))}
      </div>
    }
    items={shown.value}
    height={isNarrow.value ? NARROW_ROW_PX : ROW_PX}
    keyOf={({ key }) => key}
    row={(taken) => <Row taken={taken} />}
    handle={list}
  />
);

const Older = ({ leftS }: Limited): VNode => (
  <p class="hint older" role="timer">{`Older events load in ${leftS} s.`}</p>
);

function Row({ taken }: { readonly taken: ListedEvent }): VNode {
  const { event, key, count } = taken;
  const [who, words] = sentenceOf(event, ofMac(event), namesIn);
  const isText = event.type === 'message.received' || event.type === 'message.sent';
  const sender = 'sender' in event.data ? event.data.sender : '';
  const id = 'id' in event.data ? event.data.id : '';
  const from = macOf(event.data);
  const sendAt = sendAtOf(event);
  const isFailed = isUndelivered(event, ofMac(event));
  return (
    <button
      type="button"
      class="ev"
      data-type={event.type}
      data-key={key}
      aria-pressed={open.value?.key === key}
      onClick={() => (open.value = taken)}
    >
      {taken.isExact || sendAt === undefined ? (
        <SeenAt atMs={taken.atMs} />
      ) : (
        <time title="Before this page was opened">–</time>
      )}
      <span class={classes('type', groupOf(event.type), isFailed && 'failed')}>
        <i />
        {event.type}
      </span>
      <span class="cut where" dir="auto">
        {conversationName(event, nameIn)}
      </span>
      <span class="cut sum">
        {from !== undefined && <Tag>{from}</Tag>}{' '}
        {isFailed && event.type === 'message.sent' && <Tag kind="bad">not delivered</Tag>}{' '}
        {sendAt !== undefined && <Tag>to be sent</Tag>}{' '}
        {who !== '' && (
          <b
            dir="auto"
            class={from !== undefined && who === conversationName(event, nameIn) ? 'again' : undefined}
            title={sender || undefined}
          >
            {who}
          </b>
        )}{' '}
        {count === undefined ? (
          <bdi class="soft">{isText ? words : <Quoting text={words} />}</bdi>
        ) : (
          <span class="soft">{`read ${counted(count, 'message')}`}</span>
        )}
      </span>
      <span class="off cut" title={event.offset ?? id}>
        {id}
      </span>
    </button>
  );
}

const placeOf = (key: string | undefined): number => shown.value.findIndex((one) => one.key === key);

function step(by: number): void {
  const at = placeOf(open.value?.key) + by;
  const next = shown.value[at];
  if (next === undefined) return;
  open.value = next;
  list.current?.focus(at);
}

function close(): void {
  const at = placeOf(open.value?.key);
  open.value = undefined;
  if (at >= 0) list.current?.focus(at);
}

function pressed(event: KeyboardEvent): void {
  const by = event.key.startsWith('Arrow') && /Up|Down/.test(event.key) ? stepOf(event.key) : undefined;
  const focused = document.activeElement;
  if (event.key === 'Escape' && open.value !== undefined) close();
  else if (by !== undefined && open.value !== undefined) step(by);
  else if (by !== undefined && focused instanceof HTMLElement && focused.classList.contains('ev')) {
    list.current?.focus(Math.max(0, placeOf(focused.dataset.key) + by));
  } else return;
  event.preventDefault();
}

let shownIn: HTMLElement | undefined;

export function create(): View {
  const root = document.createElement('section');
  root.className = 'stream fill';
  root.setAttribute('aria-label', 'Events');
  const renew = (): void => {
    version.value += 1;
  };
  if (shownIn === undefined) {
    onEvent(() => shownIn?.isConnected && !shownIn.hidden && renew());
    NARROW.addEventListener('change', () => (isNarrow.value = NARROW.matches));
  }
  shownIn = root;
  const read = async (): Promise<void> => {
    renew();
    void readRate().catch(() => {});
    isReading.value = true;
    await Promise.all([readEarlier(), may('read') && readDirectory().catch(() => {})]);
    isReading.value = false;
    renew();
  };
  whileShown(root, MINUTE_MS, () => readRate({ isByItself: true }));
  return viewOf('events', <Events />, read, root);
}
