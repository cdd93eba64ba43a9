// Actions on a webhook: test, send again, replay, pause, remove.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import type { WebhookTestResult } from '../../../../core/model/webhook.ts';
import { confirmed, Menu, type MenuItem } from '../../parts/floating.tsx';
import { copy, toast } from '../../parts/toast.ts';
import { call, curlOf } from '../../service/api.ts';
import { currentRoute, goTo } from '../../service/route.ts';
import { counted, number } from '../../service/words.ts';
import { hashOf, nameOfWebhook, type ShownWebhook } from './webhook-words.ts';

export const pathOf = (id: string): string => `webhooks/${encodeURIComponent(id)}`;

interface Shown {
  readonly webhook: ShownWebhook;
  /** Reads the view again. */
  readonly again: () => Promise<unknown>;
}

export function WebhookMenu({ webhook, again }: Shown): VNode {
  const { id, enabled, dropped } = webhook;
  const redeliver: MenuItem = {
    icon: 'retry',
    text: `Deliver ${counted(dropped, 'dropped event')} again`,
    run: () => replayFrom(id, { dropped: true }).then(again),
  };
  const items: readonly MenuItem[] = [
    { icon: 'retry', text: 'Replay …', run: () => replay(webhook, again) },
    ...(dropped > 0 ? [redeliver] : []),
    { icon: 'pen', text: 'Edit', run: () => goTo(`${hashOf(id)}/edit`) },
    enabled
      ? { icon: 'pause', text: 'Pause', run: () => setEnabled(id, false).then(again) }
      : { icon: 'play', text: 'Resume', run: () => setEnabled(id, true).then(again) },
    { icon: 'copy', text: 'Copy as curl', run: () => copy(curlOf(pathOf(id))) },
    '-',
    { icon: 'x', text: 'Remove …', run: () => remove(webhook), isBad: true },
  ];
  return <Menu label={`More for ${nameOfWebhook(webhook)}`} items={items} />;
}

export const sendTest = ({ id }: { readonly id: string }): Promise<void> => sendOnce(`${pathOf(id)}/test`);

/** Sends the event of a finished delivery again. */
export const sendAgain = ({ id }: ShownWebhook, delivery: string): Promise<void> =>
  sendOnce(`${pathOf(id)}/deliveries/${encodeURIComponent(delivery)}/resend`);

/**
 * Calls an endpoint that makes one request to the receiver. Shows the receiver's status and time, or the error, as a
 * toast.
 */
async function sendOnce(path: string): Promise<void> {
  const { delivered, status, error, duration_ms: ms } = await call<WebhookTestResult>(path, { method: 'POST' });
  if (delivered) toast(`The receiver answered ${status} after ${number(ms)} ms`);
  else toast(error ?? '', true);
}

async function setEnabled(id: string, enabled: boolean): Promise<void> {
  await call(pathOf(id), { method: 'PATCH', body: { enabled } });
  toast(enabled ? 'Resumed: events from the pause follow' : 'Paused: it keeps its position');
}

type ReplayFrom = { readonly dropped: true } | { readonly after: number | 'latest' };

async function replayFrom(id: string, from: ReplayFrom): Promise<void> {
  const { row_id: row } = await call<{ readonly row_id: number }>(`${pathOf(id)}/replay`, {
    method: 'POST',
    body: from,
  });
  if ('dropped' in from) toast('Delivering dropped events again');
  else if (from.after === 'latest') toast('Skipped: only new events are delivered');
  else toast(`Delivering everything after row ${row} again`);
}

function ReplayFields({ row, dropped }: { readonly row: number; readonly dropped: number }): VNode {
  const what = useSignal('row');
  return (
    <span class="stack">
      <span>It is at row {number(row)}.</span>
      <select
        class="input"
        name="what"
        aria-label="Deliver"
        onChange={({ currentTarget }) => (what.value = currentTarget.value)}
      >
        <option value="row">events after a row again</option>
        {dropped > 0 && <option value="dropped">dropped events again ({dropped})</option>}
        <option value="latest">only new events</option>
      </select>
      <input
        class="input"
        name="row"
        type="number"
        min={0}
        max={row}
        step={1}
        defaultValue={String(Math.max(0, row - 10))}
        aria-label="Row"
        hidden={what.value !== 'row'}
      />
    </span>
  );
}

/**
 * Asks which events to deliver: all events after a row, the dropped events, or only new events. Then starts the replay.
 */
export async function replay(webhook: ShownWebhook, again: () => Promise<unknown>): Promise<void> {
  const { id, row_id: row, dropped } = webhook;
  const chosen = await confirmed({
    title: `Replay ${nameOfWebhook(webhook)}`,
    text: <ReplayFields row={row} dropped={dropped} />,
    action: 'Replay',
    isBad: false,
  });
  if (chosen === undefined) return;
  const what = chosen.get('what');
  if (what === 'dropped') await replayFrom(id, { dropped: true });
  else await replayFrom(id, { after: what === 'row' ? Number(chosen.get('row')) : 'latest' });
  await again();
}

async function remove(webhook: ShownWebhook): Promise<void> {
  const name = nameOfWebhook(webhook);
  const chosen = await confirmed({
    title: `Remove ${name}?`,
    text: 'It gets no more events, and its position is deleted. This cannot be undone.',
    action: 'Remove webhook',
  });
  if (chosen === undefined) return;
  await call(pathOf(webhook.id), { method: 'DELETE' });
  toast(`${name} is removed`);
  const { view, id } = currentRoute();
  if (view === 'webhooks' && (id === undefined || id === webhook.id)) goTo('#/webhooks');
}
