// Actions on a webhook: test, send again, replay, pause, remove.

import { h } from '../../parts/old/dom.js';
import { confirmed, menu } from '../../parts/old/floating.js';
import { copy, toast } from '../../parts/old/parts.js';
import { call, curlOf } from '../../service/api.ts';
import { currentRoute, goTo } from '../../service/route.ts';
import { counted, number, reasonOf } from '../../service/words.ts';
import { nameOfWebhook } from './webhook-words.js';

/** @import { ShownWebhook } from './webhook-words.js' */

/** @param {string} id */
export const pathOf = (id) => `webhooks/${encodeURIComponent(id)}`;

/**
 * @param {ShownWebhook} webhook
 * @param {() => Promise<unknown>} again shows the view again
 */
export function menuOf(webhook, again) {
  const { id, enabled, dropped } = webhook;
  const name = nameOfWebhook(webhook);
  return menu(`More for ${name}`, [
    ['retry', 'Replay …', () => replay(webhook, again)],
    ...(dropped > 0
      ? [
          /** @type {const} */ ([
            'retry',
            `Deliver ${counted(dropped, 'dropped event')} again`,
            () => runAndShow(() => replayFrom(id, { dropped: true }), again),
          ]),
        ]
      : []),
    ['pen', 'Edit', () => goTo(`#/webhooks/${encodeURIComponent(id)}/edit`)],
    [enabled ? 'pause' : 'play', enabled ? 'Pause' : 'Resume', () => runAndShow(() => setEnabled(id, !enabled), again)],
    ['copy', 'Copy as curl', () => copy(curlOf(pathOf(id)))],
    '-',
    ['x', 'Remove …', () => remove(webhook), 'bad'],
  ]);
}

/**
 * Runs an action of the webhook's menu, shows its result as a toast, and reloads the view.
 * @param {() => Promise<string>} run
 * @param {() => Promise<unknown>} again
 */
async function runAndShow(run, again) {
  try {
    toast(await run());
    await again();
  } catch (error) {
    toast(reasonOf(error), true);
  }
}

/** @param {{ readonly id: string }} webhook */
export const sendTest = ({ id }) => sendOnce(`${pathOf(id)}/test`);

/**
 * Sends the event of a finished delivery again.
 * @param {{ readonly id: string }} webhook
 * @param {string} delivery
 */
export const sendAgain = ({ id }, delivery) =>
  sendOnce(`${pathOf(id)}/deliveries/${encodeURIComponent(delivery)}/resend`);

/**
 * Calls an endpoint that makes one request to the receiver. Shows the receiver's status and time, or the error, as a
 * toast.
 * @param {string} path
 */
async function sendOnce(path) {
  const { delivered, status, error, duration_ms: ms } = await call(path, { method: 'POST' });
  if (delivered) toast(`The receiver answered ${status} after ${number(ms)} ms`);
  else toast(error, true);
}

/**
 * @param {string} id
 * @param {boolean} enabled
 */
async function setEnabled(id, enabled) {
  await call(pathOf(id), { method: 'PATCH', body: { enabled } });
  return enabled ? 'Resumed: events from the pause follow' : 'Paused: it keeps its position';
}

/**
 * @param {string} id
 * @param {Record<string, unknown>} from
 */
async function replayFrom(id, from) {
  const { row_id: row } = await call(`${pathOf(id)}/replay`, { method: 'POST', body: from });
  if (from.dropped) return 'Delivering dropped events again';
  return from.after === 'latest'
    ? 'Skipped: only new events are delivered'
    : `Delivering everything after row ${row} again`;
}

/**
 * Asks which events to deliver: all events after a row, the dropped events, or only new events. Then starts the replay.
 * @param {ShownWebhook} webhook
 * @param {() => Promise<unknown>} again
 */
export async function replay(webhook, again) {
  const { id, row_id: row } = webhook;
  const name = nameOfWebhook(webhook);
  const from = h(
    'select',
    { class: 'input', 'aria-label': 'Deliver' },
    [
      ['row', 'events after a row again'],
      ...(webhook.dropped > 0 ? [['dropped', `dropped events again (${webhook.dropped})`]] : []),
      ['latest', 'only new events'],
    ].map(([value, text]) => h('option', { value }, text)),
  );
  const after = h('input', {
    class: 'input',
    type: 'number',
    min: 0,
    max: row,
    step: 1,
    value: String(Math.max(0, row - 10)),
    'aria-label': 'Row',
  });
  from.addEventListener('change', () => (after.hidden = from.value !== 'row'));
  const isSure = await confirmed({
    title: `Replay ${name}`,
    text: [h('span', 'stack', h('span', null, `It is at row ${number(row)}.`), from, after)],
    action: 'Replay',
    isBad: false,
  });
  if (!isSure) return;
  const body =
    from.value === 'row'
      ? { after: Number(after.value) }
      : from.value === 'dropped'
        ? { dropped: true }
        : { after: 'latest' };
  await runAndShow(() => replayFrom(id, body), again);
}

/** @param {ShownWebhook} webhook */
async function remove(webhook) {
  const name = nameOfWebhook(webhook);
  const isSure = await confirmed({
    title: `Remove ${name}?`,
    text: 'It gets no more events, and its position is deleted. This cannot be undone.',
    action: 'Remove webhook',
  });
  if (!isSure) return;
  await call(pathOf(webhook.id), { method: 'DELETE' });
  toast(`${name} is removed`);
  const { view, id } = currentRoute();
  if (view === 'webhooks' && (id === undefined || id === webhook.id)) goTo('#/webhooks');
}
