// The home page: one sentence that says whether everything works, and the reasons.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Overview } from '../../../../client/overview-types.ts';
import { spanOf } from '../../../../core/model/figures.ts';
import type { StatusReport } from '../../../../core/model/status.ts';
import { type Verdict, verdictOf } from '../../../../core/model/verdict.ts';
import { connection } from '../../parts/frame.ts';
import { watchHeld } from '../../parts/held-watch.ts';
import { Button, CodeLine, Icon, type Mark, unbroken } from '../../parts/parts.tsx';
import { countUnread } from '../../parts/seen.ts';
import { toast } from '../../parts/toast.ts';
import { pause, viewOf, whileShown } from '../../parts/view.tsx';
import { type Asked, call } from '../../service/api.ts';
import { readDirectory } from '../../service/directory.ts';
import type { View } from '../../service/route.ts';
import { commandOf, isHub, may, mayOwn, newestStatus, serves } from '../../service/service.ts';
import { timeOf } from '../../service/words.ts';
import { EventCard, readDays } from './event-card.tsx';
import { droppedBy, healthFacts, unnamed } from './facts.ts';
import { MacCards } from './macs.tsx';
import { NeedsCard } from './needs-card.tsx';
import { HostCard, KeyCard, LatelyCard, SendCard, WebhookCard } from './overview-cards.tsx';

const EVERY_MS = 30_000;

/** A limited key, and a service that has no overview, know only the status. */
export type Known = Partial<Overview> & { readonly status: StatusReport };

/** The last answer, and its time. */
const last = signal<{ readonly known: Known; readonly atMs: number } | undefined>(undefined);
/** False until the browser has drawn the sentence for the first time. */
const isComplete = signal(false);

async function read(options?: Asked): Promise<void> {
  const known: Known = mayOwn('getOverview')
    ? await call<Overview>('overview', options)
    : { status: await call<StatusReport>('status', options) };
  const { status } = known;
  const atMs = Date.now();
  newestStatus.value = status;
  // Begins to watch once there is a limited key.
  if (status.held_sends !== undefined) watchHeld(status.held_sends);
  await Promise.all([may('read') && readDirectory().catch(() => {}), known.events && readDays()]);
  last.value = { known, atMs };
  if (may('read') && !isHub()) void countUnread().catch(() => {});
  if (isComplete.value) return;
  await pause();
  isComplete.value = true;
}

function Home(): VNode | null {
  if (last.value === undefined) return null;
  const { known, atMs } = last.value;
  const verdict = verdictOf(known.status);
  // The banner above says that something does not work. What was read before must not say the contrary.
  const isOld = connection.value.state === 'bad' && verdict.tone !== 'bad';
  return (
    <>
      <VerdictCard {...known} atMs={atMs} verdict={isOld ? oldVerdict(atMs) : verdict} />
      <HealthStrip {...known} isOld={isOld} />
      {isFresh(known) ? <FirstSteps /> : isComplete.value && <Cards {...known} />}
    </>
  );
}

/** Reports whether nothing has been set up on the service, and nothing happened today. */
const isFresh = ({ status, keys = [], events }: Known): boolean =>
  serves('sendMessage') &&
  status.webhooks.length === 0 &&
  keys.length === 0 &&
  (events?.today ?? 0) === 0 &&
  (status.held_sends ?? 0) === 0;

function Cards(known: Known): VNode {
  const hasWebhooks = (known.webhooks ?? []).length > 0;
  return (
    <>
      <MacCards {...known.status} />
      <div class="cols">
        {known.events && <EventCard events={known.events} since={known.since ?? ''} day={known.day ?? ''} />}
        <NeedsCard {...known} again={read} />
        {hasWebhooks && <WebhookCard {...known} />}
        {hasWebhooks && <SendCard {...known} />}
        <div class="c12 thirds">
          {!hasWebhooks && <SendCard {...known} />}
          <KeyCard {...known} />
          <HostCard {...known} />
          <LatelyCard {...known.status} />
        </div>
      </div>
    </>
  );
}

const HELP: Readonly<Record<NonNullable<Verdict['lacks']>, string>> = {
  reading: 'Show how to restore access',
  sending: 'Show what to allow',
};

async function check(): Promise<void> {
  if (mayOwn('checkPermissions')) await call('permissions/check', { method: 'POST' });
  await read();
  toast('Checked');
}

const oldVerdict = (atMs: number): ShownVerdict => ({
  tone: 'off',
  text: `Not known since ${timeOf(atMs)}`,
  next: 'What stands below is from then.',
});

type ShownVerdict = Omit<Verdict, 'tone'> & { readonly tone: Mark };

interface VerdictProps extends Known {
  readonly atMs: number;
  readonly verdict: ShownVerdict;
}

function VerdictCard({ status, atMs, verdict: { tone, text, next, lacks } }: VerdictProps): VNode {
  // The buttons below replace the commands, of which the verdict gives only the first.
  const isDropped = status.warnings?.some(({ code, title }) => code === 'webhook_dropped' && title === text);
  const [title, more] = isDropped ? droppedBy(status.webhooks, text) : [unnamed(text, status.webhooks), unbroken(next)];
  return (
    <section class={`verdict ${tone}`} aria-labelledby="verdict">
      <span class="seal">
        <Icon name={tone === 'good' ? 'check' : 'alert'} />
      </span>
      <div class="grow">
        <h1 id="verdict">{title}</h1>
        <p>{more}</p>
      </div>
      <span class="quiet small hide-s">
        Checked {timeOf(atMs)} · up {spanOf(status.uptime_s)}
      </span>
      {lacks === undefined ? (
        <Button id="check-now" run={check}>
          <Icon name="retry" />
          Check now
        </Button>
      ) : (
        <a class="btn first" href="#/settings">
          {HELP[lacks]}
        </a>
      )}
    </section>
  );
}

const HealthStrip = ({ status, webhooks = [], isOld }: Known & { readonly isOld: boolean }): VNode => (
  <ul class="card checks" aria-label="Health">
    {healthFacts(status, webhooks).map(({ tone, name, text, more }) => (
      <li key={name} class={isOld ? 'off' : tone}>
        <span class="small soft row">
          <span class={`dot ${isOld ? 'off' : tone}`} />
          {name}
        </span>
        <strong>{text}</strong>
        {more !== '' && (
          <span class="quiet small cut" title={more}>
            {more}
          </span>
        )}
      </li>
    ))}
  </ul>
);

/** Suggests first steps for a service on which nothing has been set up. */
const FirstSteps = (): VNode => (
  <section class="cols" aria-label="First steps">
    <Start
      icon="hook"
      title="Receive your messages elsewhere"
      text="Postern posts every new message to a URL of yours. To see some without one:"
      command="webhooks listen"
      action="Add a webhook"
      href="#/webhooks/new"
    />
    {mayOwn('addKey') && (
      <Start
        icon="bot"
        title="Let an agent help"
        text="A limited key reads and writes only where you allow it, and every send waits for you."
        command={'keys add agent --preset assistant --read "Ana Silva" --send "Ana Silva"'}
        action="Create a key"
        href="#/keys/new"
      />
    )}
    <Start
      icon="chat"
      title="Send a first message"
      text="From here, or from a terminal:"
      command={'send +15550100 "Hello from Postern"'}
      action="Write a message"
      href="#/messages?new"
    />
  </section>
);

interface StartProps {
  readonly icon: string;
  readonly title: string;
  readonly text: string;
  readonly command: string;
  readonly action: string;
  readonly href: string;
}

const Start = ({ icon, title, text, command, action, href }: StartProps): VNode => (
  <article class="card c4 start">
    <span class="mark">
      <Icon name={icon} />
    </span>
    <h2>{title}</h2>
    <p class="quiet">{text}</p>
    <CodeLine text={commandOf(command)} />
    <a class="btn" href={href}>
      {action}
    </a>
  </article>
);

export function create(): View {
  const view = viewOf('overview', <Home />, () => read());
  whileShown(view.root, EVERY_MS, () => read({ isByItself: true }));
  return view;
}
