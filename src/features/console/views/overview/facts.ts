// The facts under the verdict, such as whether chat.db is readable.

import type { WebhookOverview } from '../../../../client/overview-types.ts';
import type { SearchReport } from '../../../../client/search-types.ts';
import { counted, number, spanOf } from '../../../../core/model/figures.ts';
import type { PermissionReport } from '../../../../core/model/ports/permissions-ports.ts';
import { isBehind, type StatusReport, type WebhookSummary, webhookLabel } from '../../../../core/model/status.ts';
import type { Verdict } from '../../../../core/model/verdict.ts';
import { stateOf } from '../webhooks/webhook-words.ts';

type Tone = Verdict['tone'] | 'off';

export interface HealthFact {
  readonly tone: Tone;
  readonly name: string;
  readonly text: string;
  readonly more: string;
}

/** `webhooks` says how many events wait for each webhook. It is empty if the service does not say. */
export function healthFacts(status: StatusReport, webhooks: readonly WebhookOverview[]): readonly HealthFact[] {
  const { permissions, macs } = status;
  return [
    readingFact(status),
    ...(macs === undefined ? [] : [macsFact(macs)]),
    ...permissions.map((permission) => permissionFact(permission, status.messages?.answer_ms)),
    ...('canary' in status ? [canaryFact(status.canary as CanaryReport)] : []),
    webhooksFact(status, webhooks),
    ...('search' in status ? [searchFact(status.search as SearchReport)] : []),
  ];
}

function readingFact({ backend, newest_event: newest, macs }: StatusReport): HealthFact {
  const [name, good, bad] =
    macs === undefined ? ['chat.db', 'Readable', 'Not readable'] : ['Servers', 'Connected', 'Not connected'];
  return {
    tone: backend.connected ? 'good' : 'bad',
    name,
    text: backend.connected ? good : bad,
    more:
      macs !== undefined
        ? ''
        : newest.age_s === null
          ? 'no events since Postern started'
          : `newest event ${spanOf(newest.age_s)} ago`,
  };
}

function macsFact(macs: NonNullable<StatusReport['macs']>): HealthFact {
  const present = macs.filter(({ state }) => state === 'present').length;
  const apart = macs
    .filter(({ state }) => state === 'present')
    .flatMap(({ machines }) => machines.filter(({ state }) => state === 'away')).length;
  return {
    tone: present === macs.length && apart === 0 ? 'good' : 'warn',
    name: 'Macs',
    text: `${present} of ${macs.length} present`,
    more: apart > 0 ? `${counted(apart, 'machine')} away` : '',
  };
}

const PERMISSION = {
  granted: ['good', 'Granted'],
  denied: ['bad', 'Not granted'],
  unknown: ['warn', 'Not known'],
} as const;

function permissionFact({ name, state, detail }: PermissionReport, answerMs: number | undefined): HealthFact {
  const [tone, text] = PERMISSION[state];
  const speed = name === 'automation' && answerMs !== undefined ? `answers in ${answerMs} ms` : '';
  return {
    tone,
    name: name === 'full_disk_access' ? 'Full Disk Access' : 'Automation',
    text,
    more: state === 'granted' ? speed : detail,
  };
}

function webhooksFact({ webhooks }: StatusReport, known: readonly WebhookOverview[]): HealthFact {
  const waiting = known.reduce((sum, { behind: count }) => sum + count, 0);
  const hasNone = new Set(known.flatMap(({ id, behind: count }) => (count === 0 ? [id] : [])));
  const failing = webhooks.filter(isBehind);
  // A webhook that has dropped its events fails, but nothing waits for it.
  const behind = failing.filter(({ id }) => !hasNone.has(id)).length;
  const paused = webhooks.filter(({ state }) => state === 'paused').length;
  const active = webhooks.length - paused;
  const proved = webhooks.filter((one) => stateOf(one)[0] === 'good').length;
  const unproved = active - failing.length - proved;
  const dropped = webhooks.reduce((sum, one) => sum + (one.dropped ?? 0), 0);
  const text = (): string => {
    if (failing.length > 0) {
      const what = behind === failing.length ? 'behind' : behind === 0 ? 'failing' : 'in trouble';
      return `${failing.length} of ${active} ${what}`;
    }
    if (proved > 0) return `${proved} of ${active} keep up`;
    if (active > 0) return 'No delivery yet';
    return paused > 0 ? 'Paused' : 'None';
  };
  return {
    tone: dropped > 0 ? 'bad' : failing.length > 0 ? 'warn' : proved > 0 ? 'good' : 'off',
    name: 'Webhooks',
    text: text(),
    more: [
      dropped > 0 && `${number(dropped)} dropped`,
      behind > 0 && waiting > 0 && `${number(waiting)} kept`,
      proved > 0 && unproved > 0 && `${unproved} without a delivery yet`,
      paused > 0 && `${paused} paused`,
    ]
      .filter(Boolean)
      .join(', '),
  };
}

/** Puts the webhooks that have dropped the most events first. */
export const worstFirst = (webhooks: readonly WebhookSummary[]): readonly WebhookSummary[] =>
  [...webhooks].sort(({ dropped: a = 0 }, { dropped: b = 0 }) => b - a);

const NAMED = 3;

/** Replaces the name of a webhook in a headline, for which it can be too long. The list below gives the name. */
export function unnamed(text: string, webhooks: readonly WebhookSummary[]): string {
  const [first] = webhooks.filter(isBehind);
  return first === undefined ? text : text.replace(`${webhookLabel(first)} is behind`, 'one webhook is behind');
}

/** Returns a headline about dropped events, and a sentence below it. `only` is the headline for a single webhook. */
export function droppedBy(webhooks: readonly WebhookSummary[], only: string): readonly [title: string, more: string] {
  const dropping = worstFirst(webhooks.filter(({ dropped = 0 }) => dropped > 0));
  const total = dropping.reduce((sum, { dropped = 0 }) => sum + dropped, 0);
  const again = `${total === 1 ? 'It' : 'They'} can be delivered again: see below.`;
  if (dropping.length < 2) return [only, again];
  const worst = dropping.slice(0, NAMED).map((one) => `${webhookLabel(one)} ${number(one.dropped ?? 0)}`);
  const names = `${worst.join(', ')}${dropping.length > NAMED ? ' …' : '.'}`;
  return [`${counted(dropping.length, 'webhook')} have dropped ${counted(total, 'event')}`, `${names} ${again}`];
}

const SEARCH = {
  complete: ['good', 'Complete'],
  building: ['warn', 'Being built'],
  failing: ['bad', 'Does not work'],
} as const;

function searchFact({ state, indexed_rows: indexed, total_rows: total }: SearchReport): HealthFact {
  const [tone, text] = SEARCH[state];
  const more = state === 'building' ? `${number(indexed)} of ${number(total)} rows` : `${number(indexed)} messages`;
  return { tone, name: 'Search', text, more };
}

/** The member of the feature `canary`, which the service may lack. */
interface CanaryReport {
  readonly state: string;
  readonly delay_ms: number | null;
  readonly problem: string | null;
}

const CANARY: Readonly<Record<string, readonly [tone: Tone, text: string]>> = {
  address_unproved: ['warn', 'Address not proved'],
  unproved: ['warn', 'None has arrived yet'],
  arriving: ['good', 'Arrives'],
  push_dead: ['bad', 'Does not arrive'],
  not_sent: ['warn', 'Could not be sent'],
  unknown: ['warn', 'Not known'],
};

function canaryFact({ state, delay_ms: delayMs, problem }: CanaryReport): HealthFact {
  const [tone, text] = CANARY[state] ?? ['warn', 'Not known'];
  const delay = delayMs === null ? '' : `the last one took ${spanOf(Math.ceil(delayMs / 1000))}`;
  return { tone, name: 'Push canary', text, more: problem ?? delay };
}
