// The facts under the verdict, such as whether chat.db is readable.

import type { SearchReport } from '../../../../client/search-types.ts';
import type { PermissionReport } from '../../../../core/model/ports/permissions-ports.ts';
import { isBehind, type StatusReport } from '../../../../core/model/status.ts';
import type { Verdict } from '../../../../core/model/verdict.ts';
import { number, spanOf } from '../../service/words.ts';

type Tone = Verdict['tone'];

export interface HealthFact {
  readonly tone: Tone;
  readonly name: string;
  readonly text: string;
  readonly more: string;
}

/** `waiting` is the number of events that wait for webhooks. */
export function healthFacts(status: StatusReport, waiting: number): readonly HealthFact[] {
  const { permissions, macs } = status;
  return [
    readingFact(status),
    ...(macs === undefined ? [] : [macsFact(macs)]),
    ...permissions.map((permission) => permissionFact(permission, status.messages?.answer_ms)),
    ...('canary' in status ? [canaryFact(status.canary as CanaryReport)] : []),
    webhooksFact(status, waiting),
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
  const tone = present === macs.length ? 'good' : 'warn';
  return { tone, name: 'Macs', text: `${present} of ${macs.length} present`, more: '' };
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

function webhooksFact({ webhooks }: StatusReport, waiting: number): HealthFact {
  const behind = webhooks.filter(isBehind).length;
  const paused = webhooks.filter(({ state }) => state === 'paused').length;
  const active = webhooks.length - paused;
  const dropped = webhooks.reduce((sum, one) => sum + (one.dropped ?? 0), 0);
  return {
    tone: dropped > 0 ? 'bad' : behind > 0 ? 'warn' : 'good',
    name: 'Webhooks',
    text:
      webhooks.length === 0 ? 'None' : behind > 0 ? `${behind} of ${active} behind` : `${active} of ${active} keep up`,
    more: [
      dropped > 0 && `${number(dropped)} dropped`,
      behind > 0 && waiting > 0 && `${number(waiting)} kept`,
      paused > 0 && `${paused} paused`,
    ]
      .filter(Boolean)
      .join(', '),
  };
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
