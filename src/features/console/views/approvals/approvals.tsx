// Sends that wait for a decision, as cards: exactly what would be sent, to whom, and the time left.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Approval, ApprovalState } from '../../../../client/access-types.ts';
import { MINUTE_MS } from '../../../../core/model/durations.ts';
import { noteHeld, onHeld } from '../../parts/held-watch.ts';
import { Card, CodeLine, Empty, PageHead, Tag } from '../../parts/parts.tsx';
import { toast } from '../../parts/toast.ts';
import { viewOf } from '../../parts/view.tsx';
import { call, statusOf } from '../../service/api.ts';
import { readDirectory, recipientOf } from '../../service/directory.ts';
import type { View } from '../../service/route.ts';
import { commandOf, keyName, may, namesOfKeys } from '../../service/service.ts';
import { reasonOf, timeOf } from '../../service/words.ts';
import { ApprovalCard, type Decision, type Outcome } from './approval-card.tsx';

const DECIDED = 12;
/**
 * Maximum length of the API's list of approvals. A list of this length may lack older sends that still wait, so those
 * are requested separately.
 */
const MOST = 200;
const NAMES_MS = 1000;
/** A key may not be allowed to wait for an answer. */
const AGAIN_MS = 5000;

/** An approval on the page. It stays there with its outcome until the view is opened again. */
interface Shown {
  readonly approval: Approval;
  readonly outcome?: Outcome;
  readonly isChanged?: boolean;
  /** True if the outcome was concluded from a list of approvals, and not answered to a decision on this page. */
  readonly isElsewhere?: boolean;
}

/** The sends that wait, soonest to expire first, each after those that were there before. */
const cards = signal<readonly Shown[] | undefined>(undefined);
const decided = signal<readonly Approval[]>([]);
const names = signal<ReadonlyMap<string, string>>(new Map());
/** Changes every minute. */
const minute = signal(0);

/** Ids of the sends that this page is deciding on. */
const deciding = new Set<string>();
/** Ids of the sends about which the service has refused a decision since they were read. */
const refused = new Set<string>();
/** The number of readings, and the newest one that is shown. A newer one may be answered before an older one. */
let readings = 0;
let readingShown = 0;

const isOpen = ({ outcome }: Shown): boolean => outcome === undefined;

/**
 * Moves the focus out of a card that has ended: to the text of the next one that waits, or else to the title. Not to a
 * button, because a second press of Enter would then decide about a text that nobody has read.
 */
function leaveCard(id: string): void {
  const card = document.activeElement?.closest<HTMLElement>('#approval-list [data-id]');
  if (card?.dataset.id !== id) return;
  const others = [...document.querySelectorAll<HTMLElement>('#approval-list [data-id]:not([data-ended])')];
  const isAfter = (other: HTMLElement): boolean => (card.compareDocumentPosition(other) & 4) !== 0;
  const next = others.find(isAfter) ?? others.find((other) => other !== card);
  const to = (next ?? document).querySelector<HTMLElement>(next === undefined ? '#approvals h1' : '.exact');
  if (to === null) return;
  to.tabIndex = next === undefined ? -1 : 0;
  // Nothing moves under a pointer.
  to.focus({ preventScroll: document.activeElement?.matches(':focus-visible') === false });
}

/** Says how a send ended that was not decided on this page. */
function elsewhere(approval: Approval | undefined): Outcome {
  if (approval === undefined) return { sentence: 'It was decided elsewhere, or nobody decided in time.', kind: '' };
  const [kind, word] = ENDS[approval.state] ?? ['', approval.state];
  return { sentence: approval.decided_by === null ? word : `${word}: decided elsewhere`, kind };
}

async function read(): Promise<void> {
  readings += 1;
  const own = readings;
  const changed = new Set(refused);
  const all = await call<readonly Approval[]>('approvals?include=contacts');
  await readNames(all);
  const held =
    all.length < MOST
      ? all.filter(({ state }) => state === 'held')
      : await call<readonly Approval[]>('approvals?state=held&include=contacts');
  if (own < readingShown) return;
  readingShown = own;
  noteHeld(held.length);
  const waiting = new Map(held.map((one) => [one.id, one]));
  const before = cards.value ?? [];
  // Leaves an ended card in the list, so that the card under the pointer or with the focus does not move.
  const kept = before.map((one) => {
    const { id } = one.approval;
    const now = waiting.get(id);
    if (one.isElsewhere && now !== undefined) return { approval: one.approval };
    if ((deciding.has(id) && !changed.has(id)) || !(isOpen(one) || one.isElsewhere)) return one;
    // A card shows something else only after a refusal: nobody must approve what has just come under the pointer.
    if (now !== undefined) return changed.has(id) ? { approval: now, isChanged: true } : one;
    if (isOpen(one)) leaveCard(id);
    return { ...one, outcome: elsewhere(all.find((other) => other.id === id)), isElsewhere: true };
  });
  const added = held
    .filter(({ id }) => !before.some(({ approval }) => approval.id === id))
    .toSorted((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at));
  for (const id of changed) refused.delete(id);
  cards.value = [...kept, ...added.map((approval) => ({ approval }))];
  decided.value = all.filter(({ state }) => state !== 'held').slice(0, DECIDED);
}

/** Reads the names of the keys, by which somebody decides. At the request limit they come after the sends. */
async function readNames(all: readonly Approval[]): Promise<void> {
  const ids = all.map(({ key_id: id }) => id);
  const named = namesOfKeys(ids, {}).then((known) => {
    names.value = known;
  });
  await Promise.race([named, new Promise((resolve) => setTimeout(resolve, NAMES_MS))]);
}

async function show(): Promise<void> {
  // The cards of ended sends stayed until now, so that no other card moved under the pointer.
  if (document.querySelector('#approval-list:hover') === null) cards.value = cards.value?.filter(isOpen);
  if (may('read')) await readDirectory().catch(() => {});
  await read();
}

const ENDS: Readonly<Record<ApprovalState, readonly [kind: string, word: string]>> = {
  held: ['', 'held'],
  sent: ['good', 'Handed over'],
  scheduled: ['good', 'Scheduled'],
  approved: ['accent', 'Approved'],
  pending: ['good', 'Handed over'],
  failed: ['bad', 'Failed'],
  unknown: ['warn', 'Unknown'],
  denied: ['bad', 'Denied'],
  void: ['warn', 'Void'],
  expired: ['', 'Expired'],
  withdrawn: ['', 'Withdrawn'],
};

/** Waits until an approved send has ended. */
async function ended(path: string): Promise<Approval> {
  for (;;) {
    const approval = await call<Approval>(`${path}?wait=30`, { isKept: true });
    if (approval.state !== 'approved') return approval;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

async function decide(approval: Approval, decision: Decision): Promise<void> {
  const { id, shown } = approval;
  const path = `approvals/${encodeURIComponent(id)}`;
  deciding.add(id);
  try {
    await call(`${path}/${decision}`, { method: 'POST', body: decision === 'approve' ? { shown } : {} });
    leaveCard(id);
    const { state, problem } = await ended(path);
    const isBad = ['failed', 'unknown', 'void'].includes(state);
    const [kind, word] = ENDS[state] ?? ['', state];
    const outcome = { sentence: `${word}${problem === null ? '' : ` (${problem})`}`, kind };
    cards.value = cards.value?.map((one) => (one.approval.id === id && isOpen(one) ? { ...one, outcome } : one));
    const isHanded = state === 'sent' || state === 'pending';
    const good = isHanded ? `Handed to Messages for ${recipientOf(approval)}` : word;
    const said = isBad ? `${word}: ${problem ?? 'see Messages'}` : good;
    toast(decision === 'deny' ? 'Denied: nothing is sent' : said, isBad);
    void read().catch(() => {});
  } catch (error) {
    toast(reasonOf(error), true);
    // Somebody has joined the group, or the send was decided elsewhere.
    if (statusOf(error) === 409) {
      refused.add(id);
      await read().catch(() => {});
    }
  } finally {
    deciding.delete(id);
  }
}

function Approvals(): VNode | null {
  if (cards.value === undefined) return null;
  const isEmpty = cards.value.length === 0;
  return (
    <>
      <PageHead
        title="Approvals"
        text="Messages from limited keys that need your approval. They go out as shown here, or not at all."
      />
      <div class="cols">
        <section class="card c12" hidden={!isEmpty}>
          {isEmpty && <None />}
        </section>
        <div class="c8 stack loose" id="approval-list" hidden={isEmpty}>
          {cards.value.map(({ approval, outcome, isChanged = false }) => (
            <ApprovalCard
              key={approval.id}
              approval={approval}
              names={names.value}
              outcome={outcome}
              isChanged={isChanged}
              minute={minute.value}
              decide={decide}
            />
          ))}
        </div>
        {decided.value.length > 0 && <DecidedCard />}
      </div>
    </>
  );
}

function None(): VNode {
  const isNew = names.value.size === 0;
  return (
    <Empty
      icon="hand"
      title="No messages are waiting for approval"
      text={`Sends that need your decision appear here and in the menu bar.${isNew ? ' To try it, give an agent a key:' : ''}`}
    >
      {isNew && <CodeLine text={commandOf('keys add agent --preset assistant --send "Ana Silva"')} />}
    </Empty>
  );
}

const DecidedCard = (): VNode => (
  <Card
    title="Decided lately"
    class="c4 top"
    beside={
      <a class="small" href="#/audit">
        Audit log
      </a>
    }
  >
    <ul class="decided" id="decided-list">
      {decided.value.map((approval) => (
        <DecidedRow key={approval.id} {...approval} />
      ))}
    </ul>
  </Card>
);

function DecidedRow(approval: Approval): VNode {
  const { state, key_id: key, decided_by: by, decided_at: at, problem } = approval;
  const [kind, word] = ENDS[state] ?? ['', state];
  const who = by === null ? (problem ?? 'nobody') : keyName(by, names.value);
  return (
    <li>
      <Tag kind={kind}>{word}</Tag>
      <span class="cut" dir="auto">
        {recipientOf(approval)}
      </span>
      <span class="quiet small num">{at === null ? '' : timeOf(at)}</span>
      <span class="quiet small cut" title={problem ?? undefined}>
        <bdi>{keyName(key, names.value)}</bdi> · <bdi>{who}</bdi>
      </span>
    </li>
  );
}

let root: HTMLElement | undefined;

export function create(): View {
  if (root === undefined) {
    const isShown = (): boolean => root?.isConnected === true && !root.hidden;
    onHeld((held) => {
      const open = (cards.value ?? []).filter(isOpen);
      const isKnown = held.length === open.length && held.every(({ id }) => open.some((one) => one.approval.id === id));
      const isEnded = decided.value.every(({ state }) => state !== 'approved');
      if (isShown() && !(isKnown && isEnded)) void read().catch(() => {});
    });
    setInterval(() => {
      if (isShown()) minute.value += 1;
    }, MINUTE_MS);
  }
  const view = viewOf('approvals', <Approvals />, show);
  root = view.root;
  return view;
}
