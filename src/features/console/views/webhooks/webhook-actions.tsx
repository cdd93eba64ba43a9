// Actions on a webhook: test, send again, pause, remove.

import type { VNode } from 'preact';
import { counted, number } from '../../../../core/model/figures.ts';
import type { WebhookTestResult } from '../../../../core/model/webhook.ts';
import { confirmed, Menu, type MenuItem } from '../../parts/floating.tsx';
import { copy, toast } from '../../parts/toast.ts';
import { call, curlOf } from '../../service/api.ts';
import { currentRoute, goTo } from '../../service/route.ts';
import { pathOf, redeliver } from './redeliver.ts';
import { replay } from './replay-dialog.tsx';
import { hashOf, nameOfWebhook, type ShownWebhook } from './webhook-words.ts';

interface Shown {
  readonly webhook: ShownWebhook;
  /** Reads the view again. */
  readonly again: () => Promise<unknown>;
}

export function WebhookMenu({ webhook, again }: Shown): VNode {
  const { id, enabled, dropped } = webhook;
  const deliver: MenuItem = {
    icon: 'retry',
    text: `Deliver ${counted(dropped, 'dropped event')} again`,
    run: () => redeliver(id).then(again),
  };
  const items: readonly MenuItem[] = [
    { icon: 'retry', text: 'Replay …', run: () => replay(webhook, again) },
    ...(dropped > 0 ? [deliver] : []),
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
