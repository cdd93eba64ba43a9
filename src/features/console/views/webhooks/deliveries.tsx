// The deliveries of one webhook: what was sent and when, what the receiver answered, and each attempt.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { counted, number } from '../../../../core/model/figures.ts';
import type { AttemptRecord, DetailedDelivery } from '../../../../core/model/webhook.ts';
import { Segments } from '../../parts/choices.tsx';
import { Button, Card, Icon } from '../../parts/parts.tsx';
import { useSteady } from '../../parts/steady.ts';
import { copy } from '../../parts/toast.ts';
import { type Asked, call, curlOf } from '../../service/api.ts';
import { nameIn } from '../../service/directory.ts';
import { addressIn, exactTimeOf, fullTimeOf } from '../../service/words.ts';
import { pathOf } from './redeliver.ts';
import { sendAgain } from './webhook-actions.tsx';
import type { ShownWebhook } from './webhook-words.ts';

const OUTCOMES: Readonly<Record<DetailedDelivery['outcome'], readonly [icon: string, kind: string]>> = {
  delivered: ['check', 'good'],
  dropped: ['x', 'bad'],
  held: ['clock', 'warn'],
  gone: ['info', ''],
};
/**
 * Matches the types of events that stand for a row in chat.db. Only these can be sent again, because their row can be
 * read again.
 */
const OF_ROWS = /^(?:message\.(?:received|sent)|reaction\.)/;

/** Returns the deliveries, newest first, with their attempts if the service keeps them. */
export const deliveriesOf = (id: string, options?: Asked): Promise<readonly DetailedDelivery[]> =>
  call(`${pathOf(id)}/deliveries?include=tries`, options);

interface DeliveriesProps {
  readonly webhook: ShownWebhook;
  readonly deliveries: readonly DetailedDelivery[];
  readonly again: () => Promise<unknown>;
}

export function DeliveryCard({ webhook, deliveries, again }: DeliveriesProps): VNode {
  const which = useSignal<'all' | 'failed'>('all');
  const shown = deliveries.filter(({ outcome }) => which.value === 'all' || outcome !== 'delivered');
  const [rows, place] = useSteady<DetailedDelivery, HTMLDivElement>(shown, ({ id }) => id);
  return (
    <Card
      title="Deliveries"
      class="c8 top"
      beside={
        <Segments
          label="Show"
          choices={[
            ['all', 'All'],
            ['failed', 'Failed'],
          ]}
          value={which.value}
          choose={(chosen) => (which.value = chosen)}
        />
      }
    >
      <div class="timeline" id="delivery-list" {...place}>
        {rows.length === 0 && (
          <p class="quiet body">{which.value === 'all' ? nothingYet(webhook) : 'None of the last 100 failed.'}</p>
        )}
        {rows.map(({ item }) => (
          <Delivery key={item.id} webhook={webhook} delivery={item} again={again} />
        ))}
      </div>
    </Card>
  );
}

function nothingYet({ held, state }: ShownWebhook): string {
  if (held !== null) return 'The first event is waiting. It appears here once the receiver accepts it.';
  if (state === 'paused') return 'Nothing has been sent yet, and nothing will be while the webhook is paused.';
  return 'Nothing has been sent yet. Send a test to see what arrives.';
}

interface DeliveryProps extends Omit<DeliveriesProps, 'deliveries'> {
  readonly delivery: DetailedDelivery;
}

function Delivery({ webhook, delivery, again }: DeliveryProps): VNode {
  const { at, event, outcome, attempts, status, error, duration_ms: ms, redelivered_at: arrivedAt } = delivery;
  const state = arrivedAt === undefined ? outcome : 'delivered';
  const [name, kind] = OUTCOMES[state];
  return (
    <details class="delivery">
      <summary>
        <span class={`state ${kind}`}>
          <Icon name={name} />
          <span class="unseen">{state === 'held' ? 'waits' : state}</span>
        </span>
        <time class="mono small quiet" dateTime={at} title={fullTimeOf(at)}>
          {exactTimeOf(at)}
        </time>
        <span class="mono small cut">{event}</span>
        <span class="says">
          {arrivedAt === undefined ? (error ?? answered(status)) : `Delivered again ${exactTimeOf(arrivedAt)}`}
        </span>
        <About delivery={delivery} />
        <span class="small quiet nowrap">{attempts > 1 && counted(attempts, 'try', 'tries')}</span>
        <span class="num small quiet end">{outcome !== 'gone' && `${number(ms)} ms`}</span>
        <span class="chevron">
          <Icon name="right" />
        </span>
      </summary>
      <Attempts webhook={webhook} delivery={delivery} again={again} />
    </details>
  );
}

/** The conversation and the first words of what the event was about. */
function About({ delivery: { message, event } }: Pick<DeliveryProps, 'delivery'>): VNode {
  if (message === undefined) return <span class="about" />;
  if (message === null) return <span class="about small quiet">{OF_ROWS.test(event) && 'The message is gone.'}</span>;
  const { conversation_id: id, text } = message;
  return (
    <span class="about cut">
      <bdi class="what">{nameIn(id) ?? addressIn(id)}</bdi> <bdi class="soft">{text}</bdi>
    </span>
  );
}

const answered = (status: number | null): string => (status === null ? 'No answer' : `Answered ${status}`);

function Attempts({ webhook, delivery, again }: DeliveryProps): VNode {
  const { id, event, row_id: row, outcome, tries, answer } = delivery;
  const path = `${pathOf(webhook.id)}/deliveries/${encodeURIComponent(id)}/resend`;
  const canRepeat = OF_ROWS.test(event) && outcome !== 'held';
  const isForgotten = tries === undefined && outcome !== 'gone';
  return (
    <div class="tries">
      {isForgotten && <p class="quiet small">Postern keeps the attempts only of recent deliveries, until it stops.</p>}
      {tries !== undefined && <ol>{tries.map(Attempt)}</ol>}
      {answer !== undefined && (
        <>
          <p class="quiet small">What the receiver answered:</p>
          <div class="code">
            <pre dir="auto">{answer}</pre>
          </div>
        </>
      )}
      <div class="row wrap">
        {canRepeat && (
          <>
            <Button kind="mini" run={() => sendAgain(webhook, id).then(again)}>
              <Icon name="retry" />
              Send again
            </Button>
            <Button kind="mini" run={() => copy(curlOf(path, '-X POST '))}>
              <Icon name="copy" />
              Copy as curl
            </Button>
          </>
        )}
        {event !== 'webhook.test' && outcome !== 'gone' && <span class="quiet small num">row {row}</span>}
        <span class="quiet small mono ltr">{id}</span>
      </div>
    </div>
  );
}

const Attempt = ({ at, status, error, duration_ms: ms }: AttemptRecord): VNode => (
  <li key={at}>
    <span class={`state ${error === null ? 'good' : 'bad'}`}>
      <Icon name={error === null ? 'check' : 'x'} />
    </span>
    <time class="mono small quiet" dateTime={at}>
      {exactTimeOf(at)}
    </time>
    <span class="grow">{error ?? answered(status)}</span>
    <span class="num quiet small nowrap">{number(ms)} ms</span>
  </li>
);
