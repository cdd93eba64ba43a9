// One webhook: what is wrong and what happens next, its deliveries, and its settings.

import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import type { SubjectSeries } from '../../../../client/overview-types.ts';
import { number, spanOf } from '../../../../core/model/figures.ts';
import type { DetailedDelivery } from '../../../../core/model/webhook.ts';
import { BarPlot, Legend, type Parts } from '../../parts/charts.tsx';
import { Button, Card, Facts, Note, PageHead, State } from '../../parts/parts.tsx';
import { toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { nameIn } from '../../service/directory.ts';
import { addressIn, hourOf, timeOf } from '../../service/words.ts';
import { DeliveryCard } from './deliveries.tsx';
import { pathOf, redeliver } from './redeliver.ts';
import { sendTest, WebhookMenu } from './webhook-actions.tsx';
import {
  hashOf,
  nameOfWebhook,
  responseOf,
  type ShownWebhook,
  shareOf,
  shownAddress,
  stateOf,
  troubleOf,
  whenOf,
} from './webhook-words.ts';

interface WebhookProps {
  readonly webhook: ShownWebhook;
  readonly deliveries: readonly DetailedDelivery[];
  /** Undefined if nothing is counted. */
  readonly hours: SubjectSeries | undefined;
  readonly again: () => Promise<unknown>;
}

export function WebhookPage({ webhook, deliveries, hours, again }: WebhookProps): VNode {
  const [mark, word] = stateOf(webhook);
  return (
    <>
      <PageHead
        title={nameOfWebhook(webhook)}
        back={['#/webhooks', 'All webhooks']}
        beside={<State kind={mark} text={word} />}
        text={shownAddress(webhook.url)}
      >
        <Button run={() => sendTest(webhook).then(again)}>Send a test</Button>
        <WebhookMenu webhook={webhook} again={again} />
      </PageHead>
      <TroubleNote webhook={webhook} lastError={deliveries[0]?.error} again={again} />
      <section class="card stats">
        <Stat label="Delivered, 24 h" value={hours && shareOf(hours)} />
        <Stat label="Typical response" value={hours && responseOf(hours.median_ms)} />
        <Stat label="Waiting" value={number(webhook.behind)} />
        <Stat label="Last success" value={whenOf(webhook.last_success_at)} />
      </section>
      {hours && hours.points.length > 0 && <HourChart {...hours} />}
      <div class="cols">
        <DeliveryCard webhook={webhook} deliveries={deliveries} again={again} />
        <SettingsCard {...webhook} />
      </div>
    </>
  );
}

/** Shows nothing if the value is not known. */
const Stat = ({ label, value }: { readonly label: string; readonly value: ComponentChildren }): VNode | null =>
  value === undefined ? null : (
    <div>
      <span class="quiet small">{label}</span>
      <strong>{value}</strong>
    </div>
  );

const soon = (leftS: number): string => (leftS < 1 ? 'now' : `in ${spanOf(leftS)}`);

interface TroubleProps extends Pick<WebhookProps, 'webhook' | 'again'> {
  readonly lastError: string | null | undefined;
}

function TroubleNote({ webhook, lastError, again }: TroubleProps): VNode | null {
  const trouble = troubleOf(webhook, lastError);
  if (trouble === undefined) return null;
  const { state, next_attempt_at: nextAt } = webhook;
  const next = nextAt ? ` Next try ${soon((Date.parse(nextAt) - Date.now()) / 1000)}.` : '';
  const tryNow = async (): Promise<void> => {
    await call(`${pathOf(webhook.id)}/retry`, { method: 'POST' });
    toast('Trying now');
    await again();
  };
  return (
    <Note kind={state === 'failing' ? 'bad' : 'warn'}>
      <div class="row wrap">
        <div class="grow">
          <p>
            <strong>{trouble.what}</strong>
            {trouble.since && ` Since ${timeOf(trouble.since)}.`}
          </p>
          {(trouble.next !== '' || next !== '') && <p>{trouble.next + next}</p>}
        </div>
        {state === 'held' && nextAt !== undefined && (
          <Button kind="mini" run={tryNow}>
            Try now
          </Button>
        )}
        {webhook.dropped > 0 && (
          <Button kind="mini" run={() => redeliver(webhook.id).then(again)}>
            Deliver {webhook.dropped === 1 ? 'it' : 'them'} again
          </Button>
        )}
      </div>
    </Note>
  );
}

const PARTS: Parts = [
  ['delivered', 't-good'],
  ['tried again', 't-warn'],
  ['dropped', 't-bad'],
];

function HourChart({ points }: SubjectSeries): VNode {
  const pointed = useSignal('');
  const bars = points.map(({ at, counts: { delivered = 0, retried = 0, dropped = 0, failed = 0 } }) => ({
    label: timeOf(at),
    // An event that is held counts each of its attempts, but it is one event.
    values: [delivered, retried + (dropped === 0 ? Math.min(1, failed) : 0), dropped],
  }));
  const sum = (part: number): number => bars.reduce((total, { values }) => total + (values[part] ?? 0), 0);
  return (
    <Card title="Deliveries per hour" beside={<Legend parts={PARTS} pointed={pointed} />}>
      <div class="body">
        <BarPlot
          kind="low"
          bars={bars}
          parts={PARTS}
          ticks={points.flatMap(({ at }, index) =>
            new Date(at).getHours() % 6 === 0 ? [[index, hourOf(at)] as const] : [],
          )}
          title={`Deliveries per hour in the last 24 hours: ${sum(0)} delivered, ${sum(1)} tried again, ${sum(2)} dropped`}
          pointed={pointed}
        />
      </div>
    </Card>
  );
}

function SettingsCard({
  id,
  events,
  filter,
  include,
  has_secret: isSigned,
  header_names: headers,
  on_failure: onFailure,
  created_at: created,
}: ShownWebhook): VNode {
  const only = [
    ...(filter?.conversation_ids ?? []).map((one) => nameIn(one) ?? addressIn(one)),
    ...(filter?.senders ?? []).map((one) => `from ${one}`),
    ...(filter?.is_from_me === undefined ? [] : [filter.is_from_me ? 'only your own' : 'only of others']),
  ];
  const facts = [
    {
      name: 'Events',
      value: events.length < 2 ? events.join() : `${events.length} types`,
      title: events.join(', '),
    },
    { name: 'Only', value: only.join(', ') || 'everything' },
    { name: 'Adds', value: include.join(', ') || 'nothing' },
    { name: 'Signed', value: isSigned ? 'yes' : 'no' },
    { name: 'Headers', value: headers.join(', ') || 'none' },
    { name: 'If it fails', value: onFailure === 'hold' ? 'holds' : 'drops after three tries' },
    { name: 'Since', value: timeOf(created) },
    { name: 'Id', value: id, class: 'mono' },
  ];
  const edit = (
    <a class="small" href={`${hashOf(id)}/edit`}>
      Edit
    </a>
  );
  return (
    <Card title="Settings" class="c4 top" beside={edit}>
      <div class="body">
        <Facts facts={facts.map((fact) => ({ ...fact, dir: 'auto' }))} />
      </div>
    </Card>
  );
}
