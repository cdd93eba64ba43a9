// The overview's list of problems and decisions that need the user, each with a button.

import type { ComponentChildren, VNode } from 'preact';
import type { Overview, WebhookOverview } from '../../../../client/overview-types.ts';
import { bytesOf, counted } from '../../../../core/model/figures.ts';
import type { PermissionReport } from '../../../../core/model/ports/permissions-ports.ts';
import { isBehind, type WebhookSummary, webhookLabel } from '../../../../core/model/status.ts';
import { Exactly } from '../../parts/exactly.tsx';
import { Button, Card, Countdown, Empty, Icon, Tag } from '../../parts/parts.tsx';
import { NameList } from '../../parts/quoting.tsx';
import { useSteady } from '../../parts/steady.ts';
import { recipientOf } from '../../service/directory.ts';
import { isHub } from '../../service/service.ts';
import { redeliver } from '../webhooks/redeliver.ts';
import { hashOf } from '../webhooks/webhook-words.ts';
import { worstFirst } from './facts.ts';
import type { Known } from './overview.tsx';

export const NEARLY_FULL = 0.9;

interface NeedsProps extends Known {
  /** Reads the overview again. */
  readonly again: () => Promise<unknown>;
}

export function NeedsCard({ status, approvals = [], webhooks = [], host, again }: NeedsProps): VNode | null {
  const isFull = host !== undefined && host.disk_total > 0 && 1 - host.disk_free / host.disk_total > NEARLY_FULL;
  const troubled = worstFirst(status.webhooks.filter(needsSomebody));
  const todoOf = (one: WebhookSummary): VNode => (
    <WebhookTodo key={one.id} webhook={one} known={webhooks.find(({ id }) => id === one.id)} again={again} />
  );
  // The worst first: what is lost, then what waits for a decision, then what is kept.
  const items = [
    ...status.permissions.filter(({ state }) => state === 'denied').map(PermissionTodo),
    ...troubled.filter(isLosing).map(todoOf),
    ...(approvals.length > 0 ? [<ApprovalTodo key="held" approvals={approvals} count={status.held_sends} />] : []),
    ...troubled.filter((one) => !isLosing(one)).map(todoOf),
    ...(isFull ? [<DiskTodo key="disk" free={host.disk_free} />] : []),
  ];
  const [rows, place] = useSteady<VNode, HTMLUListElement>(items, ({ key }) => String(key));
  // At a hub, the sentence and the list of Macs say the same.
  if (rows.length === 0 && isHub()) return null;
  return (
    <Card title="Needs you" class="c4 needs" beside={items.length > 0 && <Tag kind="warn">{items.length}</Tag>}>
      {rows.length === 0 ? (
        <Empty icon="check" title="Nothing needs you" text="Sends to decide on and problems to solve appear here." />
      ) : (
        <ul class="todo" {...place}>
          {rows.map(({ item, isGone }) => (
            <li key={String(item.key)} inert={isGone}>
              {item}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

interface TodoProps {
  readonly icon: string;
  readonly tone: string;
  readonly title: ComponentChildren;
  readonly text: ComponentChildren;
  /** The buttons. */
  readonly children?: ComponentChildren;
}

const Todo = ({ icon, tone, title, text, children }: TodoProps): VNode => (
  <>
    <span class={`state ${tone}`}>
      <Icon name={icon} />
    </span>
    <div class="stack tight">
      <b>{title}</b>
      <span class="soft">{text}</span>
      {children && <div class="acts">{children}</div>}
    </div>
  </>
);

const PermissionTodo = ({ name, detail }: PermissionReport): VNode => (
  <Todo
    key={name}
    icon="lock"
    tone="bad"
    title={name === 'full_disk_access' ? 'Grant Full Disk Access' : 'Allow automation of Messages'}
    text={detail}
  >
    <a class="btn mini first" href="#/settings">
      Show how
    </a>
  </Todo>
);

interface ApprovalProps {
  readonly approvals: NonNullable<Overview['approvals']>;
  readonly count: number | undefined;
}

function ApprovalTodo({ approvals, count = approvals.length }: ApprovalProps): VNode | null {
  const [first] = approvals.toSorted((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at));
  if (first === undefined) return null;
  const names = [...new Set(approvals.map(({ key_name: name, key_id: id }) => name ?? id))];
  const what = count === 1 ? 'a message' : `${count} messages`;
  return (
    <Todo
      icon="hand"
      tone="accent"
      title={
        <>
          <NameList names={names} /> {names.length === 1 ? 'asks' : 'ask'} to send {what}
        </>
      }
      text={
        <>
          <span>
            To <NameList names={[recipientOf(first)]} />:{' '}
          </span>
          <q class="cut2" dir="auto">
            <Exactly text={first.text ?? ''} />
          </q>
        </>
      }
    >
      <a class="btn mini first" href="#/approvals">
        {count === 1 ? 'Review' : 'Review all'}
      </a>
      <Countdown from={first.created_at} until={first.expires_at} />
    </Todo>
  );
}

const needsSomebody = (webhook: WebhookSummary): boolean =>
  isBehind(webhook) || (webhook.dropped ?? 0) > 0 || webhook.paused_by !== undefined;

const isLosing = ({ state, dropped = 0 }: WebhookSummary): boolean => state === 'failing' || dropped > 0;

interface WebhookProps extends Pick<NeedsProps, 'again'> {
  readonly webhook: WebhookSummary;
  readonly known: WebhookOverview | undefined;
}

/** The words for a webhook that keeps its events, and for how long it does. */
const KEPT: Readonly<Record<string, readonly [what: string, until: string]>> = {
  held: ['holds its events', 'the receiver accepts events again'],
  paused: ['was paused by its receiver', 'you resume it'],
};

function WebhookTodo({ webhook, known, again }: WebhookProps): VNode {
  const { id, state, last_error: error, dropped = 0 } = webhook;
  const behind = known?.behind ?? 0;
  const [does, until] = KEPT[state] ?? ['fails', undefined];
  const what = dropped > 0 ? `has dropped ${counted(dropped, 'event')}` : does;
  const kept = `${counted(Math.max(1, behind), 'event')} kept until ${until}.`;
  const rest = until !== undefined ? kept : behind > 0 ? `${counted(behind, 'event')} behind.` : '';
  return (
    <Todo
      icon="alert"
      tone={isLosing(webhook) ? 'bad' : 'warn'}
      title={
        <>
          <NameList names={[webhookLabel(webhook)]} /> {what}
        </>
      }
      text={`${error ?? ''} ${rest}`}
    >
      {dropped > 0 && (
        <Button kind="mini first" run={() => redeliver(id).then(again)}>
          Deliver {dropped === 1 ? 'it' : 'them'} again
        </Button>
      )}
      <a class="btn mini" href={hashOf(id)}>
        See deliveries
      </a>
    </Todo>
  );
}

const DiskTodo = ({ free }: { readonly free: number }): VNode => (
  <Todo
    icon="db"
    tone="warn"
    title="The disk is nearly full"
    text={`${bytesOf(free)} are free. A full disk stops Messages, and Postern with it.`}
  />
);
