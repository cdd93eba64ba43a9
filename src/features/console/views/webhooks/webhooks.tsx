// The webhooks: their table, a single one, and the form.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { StatisticSeries, SubjectSeries } from '../../../../client/overview-types.ts';
import { number } from '../../../../core/model/figures.ts';
import { MAX_WEBHOOKS } from '../../../../core/model/webhook.ts';
import { TickStrip } from '../../parts/charts.tsx';
import { setTitle } from '../../parts/frame.ts';
import { Button, CodeLine, type Column, classes, Empty, Icon, PageHead, State, Table } from '../../parts/parts.tsx';
import { useSteady } from '../../parts/steady.ts';
import { viewOf, whileShown } from '../../parts/view.tsx';
import { type Asked, call, statusOf } from '../../service/api.ts';
import { readDirectory } from '../../service/directory.ts';
import { currentRoute, type Route, type View } from '../../service/route.ts';
import { commandOf, isHub, mayOwn } from '../../service/service.ts';
import { deliveriesOf } from './deliveries.tsx';
import { pathOf } from './redeliver.ts';
import { sendTest, WebhookMenu } from './webhook-actions.tsx';
import { WebhookPage } from './webhook-detail.tsx';
import { WebhookForm } from './webhook-form.tsx';
import {
  hashOf,
  nameOfWebhook,
  responseOf,
  type ShownWebhook,
  shareOf,
  shortAddress,
  stateOf,
  ticksOf,
  ticksTitle,
  whenOf,
} from './webhook-words.ts';

const EVERY_MS = 15_000;

type Hours = Readonly<Record<string, SubjectSeries>>;

/** The page that the view shows. It stays until the next one has been read. */
const page = signal<VNode | null>(null);

/** Shows the page that the address leads to. */
async function show({ id, item }: Pick<Route, 'id' | 'item'>, options?: Asked): Promise<void> {
  const isCurrent = (): boolean => currentRoute().id === id && currentRoute().item === item;
  const next = await pageOf(id, item, options);
  if (!isCurrent()) return;
  page.value = next.page;
  if (next.title !== undefined) setTitle(next.title);
}

interface Page {
  readonly page: VNode;
  readonly title?: string;
}

async function pageOf(id: string | undefined, item: string | undefined, options?: Asked): Promise<Page> {
  if (id === undefined) {
    const [webhooks, hours] = await Promise.all([
      call<readonly ShownWebhook[]>('webhooks?include=status', options),
      readHours(options),
    ]);
    return { page: <List webhooks={webhooks} hours={hours} /> };
  }
  if (id === 'new' || item === 'edit') {
    const webhook = id === 'new' ? undefined : await call<ShownWebhook>(pathOf(id));
    const title = webhook === undefined ? 'Add a webhook' : `Edit ${nameOfWebhook(webhook)}`;
    return { page: <WebhookForm key={id} webhook={webhook} />, title };
  }
  const [webhook, deliveries, hours] = await Promise.all([
    call<ShownWebhook>(pathOf(id), options),
    deliveriesOf(id, options),
    readHours(options),
    readDirectory().catch(() => {}),
  ]);
  const again = (): Promise<void> => show({ id });
  return {
    page: <WebhookPage key={id} webhook={webhook} deliveries={deliveries} hours={hours[id]} again={again} />,
    title: nameOfWebhook(webhook),
  };
}

/**
 * Returns each webhook's deliveries in each of the last 24 hours. Returns an empty object for a limited key, or if the
 * service keeps no statistics or refuses the request.
 */
async function readHours(options?: Asked): Promise<Hours> {
  if (!mayOwn('getStatistics')) return {};
  try {
    return (await call<StatisticSeries>('stats/webhooks?by=hour&last=24', options)).subjects ?? {};
  } catch (error) {
    if (statusOf(error) === undefined) throw error;
    return {};
  }
}

interface ListProps {
  readonly webhooks: readonly ShownWebhook[];
  readonly hours: Hours;
}

const List = ({ webhooks, hours }: ListProps): VNode => (
  <>
    <PageHead title="Webhooks" text="Each event is posted here as JSON, in order, signed if there is a secret.">
      {webhooks.length > 0 && (
        <a class="btn first" href="#/webhooks/new">
          <Icon name="plus" />
          Add a webhook
        </a>
      )}
    </PageHead>
    {webhooks.length === 0 ? <None /> : <WebhookTable webhooks={webhooks} hours={hours} />}
  </>
);

const LISTEN = 'This needs no receiver: it prints events, and removes its webhook when you stop it:';

/** A hub does not say how its owner starts commands, which run on any machine. */
const None = (): VNode => (
  <section class="card">
    <Empty
      icon="hook"
      title={isHub() ? 'No webhooks yet' : 'See your first event in ten seconds'}
      text={isHub() ? 'Each gets the events of all Macs.' : LISTEN}
    >
      {!isHub() && <CodeLine text={commandOf('webhooks listen')} />}
      <div class="acts">
        <a class="btn first" href="#/webhooks/new">
          Add a webhook
        </a>
        <a class="btn" href="guide/webhooks.html">
          Read the guide
        </a>
      </div>
    </Empty>
  </section>
);

const COUNTED: readonly Column[] = ['Last 24 hours', ['Delivered', 'num'], ['Response', 'num']];

function WebhookTable({ webhooks, hours }: ListProps): VNode {
  const [any] = Object.values(hours);
  const nothing = { points: (any?.points ?? []).map(({ at }) => ({ at, counts: {} })) };
  const isCounted = any !== undefined;
  const [rows, place] = useSteady<ShownWebhook, HTMLTableElement>(webhooks, ({ id }) => id);
  const columns: Column[] = [
    'Name',
    'State',
    ...(isCounted ? COUNTED : []),
    ['Waiting', 'num'],
    'Last success',
    'Actions',
  ];
  return (
    <>
      <section class="card">
        <Table name="Webhooks" id="webhook-list" columns={columns} place={place}>
          {rows.map(({ item: webhook, isGone }) => (
            <Row
              key={webhook.id}
              webhook={webhook}
              hours={isCounted ? (hours[webhook.id] ?? nothing) : undefined}
              isGone={isGone}
            />
          ))}
        </Table>
      </section>
      <p class="quiet small">
        {webhooks.length} of {MAX_WEBHOOKS} webhooks. A failed delivery is tried three times; “hold” keeps trying until
        the receiver is back.
      </p>
    </>
  );
}

interface RowProps {
  readonly webhook: ShownWebhook;
  readonly hours: SubjectSeries | undefined;
  /** True if the webhook was removed while somebody pointed at the table. */
  readonly isGone: boolean;
}

function Row({ webhook, hours, isGone }: RowProps): VNode {
  const { id, url, state, behind, dropped, last_success_at: success } = webhook;
  const name = nameOfWebhook(webhook);
  const [mark, word] = isGone ? (['off', 'Removed'] as const) : stateOf(webhook);
  return (
    <tr data-id={id} inert={isGone}>
      <td>
        <a class="what cut" href={hashOf(id)} dir="auto">
          {name}
        </a>
        <span class="quiet small cut ltr block">{shortAddress(url)}</span>
      </td>
      <td>
        <State kind={mark} text={word} />
        {dropped > 0 && (
          <span class="small block">
            <span class="state bad">{number(dropped)} dropped</span>
          </span>
        )}
      </td>
      {hours && <CountedCells {...hours} />}
      <td
        class={classes('num', behind === 0 && 'aside', behind > 0 && state !== 'paused' ? 'strong' : 'quiet')}
        data-name="Waiting"
      >
        {number(behind)}
      </td>
      <td class="quiet nowrap aside">{whenOf(success)}</td>
      <td class="end aside">
        <span class="row">
          <span class="grow" />
          <Button kind="mini" aria-label={`Test ${name}`} run={() => sendTest(webhook)}>
            Test
          </Button>
          <WebhookMenu webhook={webhook} again={() => show({ id: undefined })} />
        </span>
      </td>
    </tr>
  );
}

function CountedCells(hours: SubjectSeries): VNode {
  const share = shareOf(hours);
  return (
    <>
      <td class="wide">{hours.points.length > 0 && <TickStrip ticks={ticksOf(hours)} title={ticksTitle(share)} />}</td>
      <td class="num aside">{share ?? <span class="quiet">none</span>}</td>
      <td class="num aside">{responseOf(hours.median_ms) ?? <span class="quiet">none</span>}</td>
    </>
  );
}

const Webhooks = (): VNode | null => page.value;

export function create(): View {
  const view = viewOf('webhooks', <Webhooks />, show);
  whileShown(view.root, EVERY_MS, async () => {
    const route = currentRoute();
    // Somebody may be typing into the form.
    if (route.id !== 'new' && route.item !== 'edit') await show(route, { isByItself: true });
  });
  return view;
}
