// The audit log in words: who did what, with whom, and the outcome.

import { computed, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Approval, AuditAction, AuditEntry } from '../../../../client/access-types.ts';
import { DAY_MS } from '../../../../core/model/durations.ts';
import { counted, number } from '../../../../core/model/figures.ts';
import { Chip, SearchBox } from '../../parts/choices.tsx';
import { Button, classes, Empty, Icon, PageHead, Tag } from '../../parts/parts.tsx';
import { copy, reported } from '../../parts/toast.ts';
import { viewOf } from '../../parts/view.tsx';
import { WindowList } from '../../parts/window-list.tsx';
import { call, pageOf } from '../../service/api.ts';
import { nameIn, readDirectory, recipientOf } from '../../service/directory.ts';
import type { Route, View } from '../../service/route.ts';
import { keyName, namesOfKeys } from '../../service/service.ts';
import { addressIn, exactTimeOf, fullTimeOf, personOf, timeOf } from '../../service/words.ts';
import { csvOf } from './audit-csv.ts';
import { ACTIONS, outcomeIn } from './audit-words.ts';

const AT_ONCE = 200;
const ROW_PX = 40;
const PHONE_ROW_PX = 92;
const NARROW = matchMedia('(max-width: 760px)');

/** The filters that the service applies. Empty texts choose everything. */
interface Filter {
  readonly key: string;
  readonly action: string;
  /** Number of days. */
  readonly days: string;
}

const filter = signal<Filter>({ key: '', action: '', days: '' });
const text = signal('');
/** The loaded lines, newest first; undefined until they have been read. */
const entries = signal<readonly AuditEntry[] | undefined>(undefined);
/** Names of the keys. */
const names = signal<ReadonlyMap<string, string>>(new Map());
/** The approvals of held sends, by their ids. */
const approvals = signal<ReadonlyMap<string, Approval>>(new Map());
const isNarrow = signal(NARROW.matches);
/** The filters that the loaded lines match. */
let filterShown = filter.value;
let next: string | undefined;
let isLoading = false;
let asked = 0;

const shown = computed(() => {
  const all = (entries.value ?? []).filter(isNews);
  if (text.value === '') return all;
  return all.filter((entry) => {
    const words = `${withWhom(entry)} ${entry.target ?? ''} ${keyName(entry.key_id, names.value)}`;
    return words.toLowerCase().includes(text.value);
  });
});

/** Lines of other keys can come between the two lines of one ask. */
const BETWEEN = 3;

/** Reports whether a line says more than a newer one: a send that waits was also asked for. */
function isNews(
  { outcome, key_id: key, text_hmac: text }: AuditEntry,
  index: number,
  all: readonly AuditEntry[],
): boolean {
  if (outcome !== 'asked' || text === null) return true;
  const newer = all.slice(Math.max(0, index - BETWEEN), index);
  return !newer.some((one) => one.outcome === 'held' && one.key_id === key && one.text_hmac === text);
}

async function show({ query }: Route): Promise<void> {
  [names.value, approvals.value] = await Promise.all([namesOfKeys(), held(), readDirectory().catch(() => {})]);
  const key = query.get('key');
  if (key !== null) filter.value = { ...filter.value, key };
  await read();
}

async function held(): Promise<ReadonlyMap<string, Approval>> {
  const all = await call<readonly Approval[]>('approvals?include=contacts').catch(() => []);
  return new Map(all.map((approval) => [approval.id, approval]));
}

function pathOfFirst({ key, action, days }: Filter): string {
  const query = new URLSearchParams({ order: 'desc', limit: String(AT_ONCE), include: 'contacts' });
  if (key !== '') query.set('key', key);
  if (action !== '') query.set('action', action);
  if (days !== '') {
    const midnight = new Date().setHours(0, 0, 0, 0);
    query.set('since', new Date(midnight - (Number(days) - 1) * DAY_MS).toISOString());
  }
  return `audit?${query}`;
}

/** Reads the newest lines that match the filters. Without an answer, the filters are those of the lines shown again. */
async function read(): Promise<void> {
  asked += 1;
  const own = asked;
  const wanted = filter.value;
  try {
    const page = await pageOf<AuditEntry>(pathOfFirst(wanted));
    const all = await namesOfKeys(page.items.map(({ key_id: id }) => id));
    if (own !== asked) return;
    names.value = all;
    next = page.next;
    entries.value = page.items;
    filterShown = wanted;
  } catch (error) {
    if (own !== asked) return;
    filter.value = filterShown;
    throw error;
  }
}

async function readMore(): Promise<void> {
  if (next === undefined || isLoading) return;
  isLoading = true;
  const own = asked;
  try {
    const page = await pageOf<AuditEntry>(next);
    if (own === asked) {
      next = page.next;
      entries.value = [...(entries.value ?? []), ...page.items];
    }
  } catch {
    // The next scroll event sends the request again.
  }
  isLoading = false;
}

function choose(now: Partial<Filter>): void {
  filter.value = { ...filter.value, ...now };
  void reported(read);
}

/** Copies the lines shown, and says how many those are: older lines load only as the list is scrolled. */
const copyShown = (): Promise<void> => {
  const lines = counted(shown.value.length, 'line');
  const said = next === undefined ? `Copied ${lines}` : `Copied the newest ${lines}. Scroll down to load older ones.`;
  return copy(csvOf(shown.value, names.value), said);
};

const isFiltered = (now: Filter): boolean => Object.values(now).some((one) => one !== '');

function withWhom({ target, action, names: known }: AuditEntry): string {
  if (target === null) return '';
  if (action === 'key') return keyName(target, names.value);
  const approval = approvals.value.get(target);
  if (action === 'approval') return approval === undefined ? target : recipientOf(approval);
  return nameIn(target) ?? nameIn(`any;-;${target}`) ?? personOf(addressIn(target), known);
}

/** Reports whether no line matches. Until the last one is loaded, the empty list asks for more. */
const isVain = (): boolean => shown.value.length === 0 && next === undefined;

const Audit = (): VNode => (
  <>
    <PageHead title="Audit log" text="Who did what to whom. Kept for 90 days, without the text of any message.">
      <Button kind="hide-s" run={copyShown}>
        <Icon name="copy" />
        Copy as CSV
      </Button>
    </PageHead>
    <Filters />
    <section class={classes('card audit-box', entries.value?.every(({ count }) => count < 2) && 'once')}>
      {entries.value !== undefined && (isVain() ? <None /> : <Lines />)}
    </section>
  </>
);

const WHAT: Readonly<Record<AuditAction, string>> = {
  send: 'Sends',
  approval: 'Decisions',
  read: 'Reads',
  event: 'Events',
  refused: 'Refusals',
  schedule: 'Scheduled',
  key: 'Keys',
  webhook: 'Webhooks',
};

type Choices = readonly (readonly [value: string, words: string])[];

const WHEN: Choices = [
  ['', 'Any time'],
  ['1', 'Today'],
  ['7', '7 days'],
  ['30', '30 days'],
];

function Filters(): VNode {
  const { key, action, days } = filter.value;
  const keys: Choices = [['', 'All keys'], ['owner', 'You'], ...names.value];
  const isListed = keys.some(([id]) => id === key);
  return (
    <div class="filters">
      <Select
        id="audit-key"
        label="Key"
        choices={isListed ? keys : [...keys, [key, keyName(key, names.value)]]}
        value={key}
        choose={(value) => choose({ key: value })}
      />
      <Select
        label="Action"
        choices={[['', 'Everything'], ...Object.entries(WHAT)]}
        value={action}
        choose={(value) => choose({ action: value })}
      />
      <Select label="When" choices={WHEN} value={days} choose={(value) => choose({ days: value })} />
      <SearchBox
        label="Person, group or id"
        type={(words) => {
          text.value = words.toLowerCase();
        }}
      />
      <Chip isOn={action === 'refused'} toggle={(isOn) => choose({ action: isOn ? 'refused' : '' })}>
        Only refused
      </Chip>
    </div>
  );
}

interface SelectProps {
  readonly id?: string;
  readonly label: string;
  readonly choices: Choices;
  readonly value: string;
  readonly choose: (value: string) => void;
}

const Select = ({ id, label, choices, value, choose: chosen }: SelectProps): VNode => (
  <select
    class="input"
    id={id}
    aria-label={label}
    value={value}
    onChange={({ currentTarget }) => chosen(currentTarget.value)}
  >
    {choices.map(([one, words]) => (
      <option key={one} value={one}>
        {words}
      </option>
    ))}
  </select>
);

const None = (): VNode =>
  (entries.value ?? []).length > 0 || isFiltered(filter.value) ? (
    <Empty icon="search" title="No line matches" text="Choose another key, or a longer time." />
  ) : (
    <Empty
      icon="log"
      title="Nothing recorded yet"
      text="Recording starts with your first limited key. What you read with your own key is not recorded."
    >
      <a class="btn first" href="#/keys/new">
        Create a key
      </a>
    </Empty>
  );

const COLUMNS = ['Time', 'Key', 'Action', 'Outcome', 'Target', 'Count'];

const Lines = (): VNode => (
  <>
    <div class="aud headrow">
      {COLUMNS.map((name) => (
        <span key={name} class={name === 'Count' ? 'end' : undefined}>
          {name}
        </span>
      ))}
    </div>
    <WindowList
      id="audit-list"
      regionLabel="Audit log, newest first"
      label="Audit log"
      items={shown.value}
      height={isNarrow.value ? PHONE_ROW_PX : ROW_PX}
      keyOf={({ id }) => String(id)}
      row={(entry) => <Line {...entry} />}
      reachEnd={() => void readMore()}
    />
  </>
);

function Line(entry: AuditEntry): VNode {
  const { at, key_id: key, action, outcome, target, count } = entry;
  const [kind, word] = outcomeIn(outcome);
  return (
    <div class="aud">
      <time class="small quiet cut" dateTime={at} title={fullTimeOf(at)}>
        {(isNarrow.value ? timeOf : exactTimeOf)(at)}
      </time>
      <span class="cut who" dir="auto" title={key}>
        {keyName(key, names.value)}
      </span>
      <span class="soft nowrap" title={action}>
        {outcome === 'held' ? ACTIONS.send : (ACTIONS[action] ?? action)}
      </span>
      <span class="cut">
        <Tag kind={kind}>
          <span title={outcome}>{word}</span>
        </Tag>
      </span>
      <span class="cut whom" dir="auto" title={target ?? undefined}>
        {withWhom(entry)}
      </span>
      <span class="num quiet end">{count > 1 ? `× ${number(count)}` : ''}</span>
    </div>
  );
}

NARROW.addEventListener('change', () => {
  isNarrow.value = NARROW.matches;
});

export function create(): View {
  const root = document.createElement('section');
  root.className = 'page audit-page fill';
  root.id = 'audit';
  root.setAttribute('aria-label', 'Audit log');
  return viewOf('audit', <Audit />, show, root);
}
