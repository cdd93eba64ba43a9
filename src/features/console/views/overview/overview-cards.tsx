// The cards of the overview: webhooks, sends, keys and the machine.

import type { VNode } from 'preact';
import type { KeyOverview, WebhookOverview } from '../../../../client/overview-types.ts';
import { bytesOf, counted, number, spanOf } from '../../../../core/model/figures.ts';
import { type StatusReport, webhookLabel } from '../../../../core/model/status.ts';
import { Meter, PartBar, Sparkline, TickStrip } from '../../parts/charts.tsx';
import { Card, type Column, Facts, Table } from '../../parts/parts.tsx';
import { agoOf, timeOf } from '../../service/words.ts';
import { hashOf, responseOf, shareOf, stateOf, ticksOf, ticksTitle } from '../webhooks/webhook-words.ts';
import { isLater } from './event-card.tsx';
import { NEARLY_FULL } from './needs-card.tsx';
import type { Known } from './overview.tsx';

const SHOWN = 4;

export function WebhookCard({ webhooks = [], status }: Known): VNode {
  const isTimed = webhooks.some(({ median_ms: median }) => responseOf(median) !== undefined);
  const columns: Column[] = [
    'Name',
    'Last 24 hours',
    ...(isTimed ? [['Typical', 'num'] as const] : []),
    ['Waiting', 'num'],
  ];
  const all = (
    <a class="small" href="#/webhooks">
      All webhooks
    </a>
  );
  return (
    <Card title="Webhooks" class="c8" beside={all}>
      <Table name="Webhooks" columns={columns}>
        {webhooks.slice(0, SHOWN).map((webhook) => (
          <WebhookRow key={webhook.id} webhook={webhook} status={status} isTimed={isTimed} />
        ))}
      </Table>
    </Card>
  );
}

interface WebhookRowProps extends Pick<Known, 'status'> {
  readonly webhook: WebhookOverview;
  readonly isTimed: boolean;
}

function WebhookRow({ webhook, status, isTimed }: WebhookRowProps): VNode {
  const summary = status.webhooks.find(({ id }) => id === webhook.id);
  const [mark, word] = stateOf({ last_success_at: null, ...summary, state: webhook.state });
  const response = responseOf(webhook.median_ms);
  return (
    <tr>
      <td>
        <span class="row">
          <span class={`dot ${mark}`} title={word} />
          <a class="what cut" href={hashOf(webhook.id)} dir="auto">
            {webhookLabel(webhook)}
          </a>
          <span class="unseen">{word}</span>
        </span>
      </td>
      <td class="wide">
        <TickStrip ticks={ticksOf(webhook)} title={ticksTitle(shareOf(webhook))} />
      </td>
      {isTimed && (
        <td class="num" data-name={response && 'Typical'}>
          {response}
        </td>
      )}
      <td class="num aside">{number(webhook.behind)}</td>
    </tr>
  );
}

/** A send is counted once, when it was answered. Messages may still fail to deliver what it has taken. */
const OUTCOMES: readonly (readonly [names: readonly string[], kind: string, text: string])[] = [
  [['sent', 'pending'], 'b1', 'Handed to Messages'],
  [['held'], 't-warn', 'Waited for you'],
  [['failed'], 't-bad', 'Failed'],
  [['unknown'], 'b3', 'Outcome not known'],
  [['refused'], 'b3', 'Refused'],
];

export function SendCard({ sends, day = '' }: Known): VNode | null {
  if (sends === undefined) return null;
  const since = isLater(sends.since, day) ? `since ${timeOf(sends.since)}` : 'today';
  const counts = OUTCOMES.map(([names, kind, text]) => ({
    count: names.reduce((sum, name) => sum + (sends.today[name] ?? 0), 0),
    kind,
    text,
  })).filter(({ count }) => count > 0);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const words = counts.map(({ count, text }) => `${count} ${text.toLowerCase()}`).join(', ');
  return (
    <Card title={`Sends ${since}`} class="c4" beside={<span class="big">{number(total)}</span>}>
      <div class="body">
        {total === 0 ? (
          <p class="quiet">{`Nothing was sent through Postern ${since}.`}</p>
        ) : (
          <>
            <PartBar parts={counts} title={`${counted(total, 'send')} ${since}: ${words}`} />
            <ul class="outcomes">
              {counts.map(({ kind, text, count }) => (
                <li key={text}>
                  <i class={kind} />
                  {text}
                  <b>{number(count)}</b>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </Card>
  );
}

export function KeyCard({ keys = [], since = '', day = '' }: Known): VNode | null {
  if (keys.length === 0) return null;
  const when = isLater(since, day) ? `since ${timeOf(since)}` : 'today';
  const used = keys.filter(({ last_used_at: at }) => at !== null).slice(0, SHOWN);
  const all = (
    <a class="small" href="#/keys">
      All keys
    </a>
  );
  return (
    <Card title={`Keys used ${when}`} class="c4" beside={all}>
      {used.length === 0 && <p class="body quiet">No limited key has been used yet.</p>}
      {used.map((key) => (
        <KeyLine key={key.id} {...key} when={when} />
      ))}
    </Card>
  );
}

function KeyLine({ id, name, today, hours, last_used_at: at, when }: KeyOverview & { readonly when: string }): VNode {
  const total = hours.reduce((sum, one) => sum + one, 0);
  return (
    <div class="keyline">
      <a class="what cut" href={`#/keys/${id}`} dir="auto">
        {name}
      </a>
      <Sparkline values={hours} title={`${name}: ${counted(total, 'action')} in 24 hours`} />
      <span class="quiet small cut">{useOf(today, when)}</span>
      <span class="quiet small end">{at !== null && agoOf(at)}</span>
    </div>
  );
}

const useOf = ({ asked, sent, read, refused }: KeyOverview['today'], when: string): string =>
  [
    asked > sent && `${number(asked)} asked`,
    sent > 0 && counted(sent, 'send'),
    read > 0 && `${number(read)} read`,
    refused > 0 && `${number(refused)} refused`,
  ]
    .filter(Boolean)
    .join(', ') || `nothing ${when}`;

const PROBLEMS: Readonly<Record<string, string>> = {
  chat_db_unavailable: 'chat.db could not be read',
  full_disk_access_denied: 'Full Disk Access was missing',
  automation_denied: 'Messages could not be automated',
  webhook_dropped: 'Events were dropped',
  webhook_failing: 'Deliveries failed',
  webhook_held: 'Deliveries had to wait',
  webhook_paused: 'A receiver wants no more events',
  search_failing: 'Search did not work',
  push_dead: 'Messages may not have arrived',
};

export function LatelyCard({ problems = [] }: StatusReport): VNode | null {
  if (problems.length === 0) return null;
  return (
    <Card title="Lately" class="c4">
      {problems.slice(0, SHOWN).map(({ code, since, until, subject, hint }) => (
        <div key={`${code} ${since}`} class="keyline" title={hint ?? ''}>
          <span class="what">{PROBLEMS[code] ?? hint ?? code}</span>
          <span class="quiet small end">{until === null ? `since ${timeOf(since)}` : timeOf(since)}</span>
          <span class="quiet small cut" dir="auto">
            {subject}
          </span>
          {until !== null && (
            <span class="quiet small end">for {spanOf((Date.parse(until) - Date.parse(since)) / 1000)}</span>
          )}
        </div>
      ))}
    </Card>
  );
}

export function HostCard({ host, status }: Known): VNode | null {
  if (host === undefined) return null;
  const { macos, disk_free: free, disk_total: disk } = host;
  const used = disk > 0 ? 1 - free / disk : 0;
  const sizes = [
    { name: 'Memory of Postern', bytes: host.memory_bytes },
    { name: 'chat.db', bytes: host.chat_db_bytes },
    { name: 'Search index', bytes: host.index_bytes },
    { name: 'Files kept for sending', bytes: host.upload_bytes },
  ];
  return (
    <Card
      title={status.demo ? 'This machine' : 'This Mac'}
      class="c4"
      beside={macos && <span class="quiet small">{macos}</span>}
    >
      <div class="body stack loose">
        {disk > 0 && (
          <div class="stack tight">
            <div class="row">
              <span class="quiet grow">Disk</span>
              <span class="num">
                {bytesOf(disk - free)} of {bytesOf(disk)} used
              </span>
            </div>
            <Meter share={used} title={`Disk: ${Math.round(used * 100)} % used`} isNearlyFull={used > NEARLY_FULL} />
          </div>
        )}
        <Facts
          facts={sizes.flatMap(({ name, bytes }) => (bytes === undefined ? [] : [{ name, value: bytesOf(bytes) }]))}
        />
      </div>
    </Card>
  );
}
