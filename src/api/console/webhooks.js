import { call } from './api.js';
import { copyOf, element, say, timeOf } from './elements.js';
import { offerWebhookForm, openWebhookForm } from './webhook-form.js';

const TONES = { healthy: 'good', failing: 'bad', held: 'bad', paused: 'unknown' };
const EVERY_MS = 60_000;

const list = element('webhook-list');
const pathOf = (id) => `webhooks/${encodeURIComponent(id)}`;

/** Shows all webhooks and their states. */
export async function showWebhooks({ isByItself } = {}) {
  const { webhooks: summaries } = await call('status', { isByItself });
  const shown = new Map([...list.children].map((item) => [item.dataset.id, item]));
  const webhooks = (await call('webhooks', { isByItself })).map(withoutPassword);
  const known = new Map(summaries.map((summary) => [summary.id, summary]));
  list.replaceChildren(
    ...webhooks.map((webhook) => {
      const { name, state = 'healthy' } = known.get(webhook.id) ?? {};
      const item = shown.get(webhook.id) ?? itemOf(webhook);
      describe(item, { ...webhook, name }, state);
      return item;
    }),
  );
  element('webhook-none').hidden = webhooks.length > 0;
}

/** Only the list has passwords in URLs: they are for programs, not for a screen. */
function withoutPassword(webhook) {
  const url = new URL(webhook.url);
  if (url.password === '') return webhook;
  url.password = '***';
  return { ...webhook, url: url.href };
}

function describe(item, { url, events, name }, state) {
  item.querySelector('b').textContent = name ?? url;
  item.querySelector('.address').textContent = name == null ? '' : url;
  item.querySelector('.events').textContent = events.join(', ');
  showState(item, state);
}

function itemOf(webhook) {
  const item = copyOf('webhook-item');
  item.dataset.id = webhook.id;
  const replay = item.querySelector('form');
  const on = (action, run) => {
    const button = item.querySelector(`[data-do="${action}"]`);
    button.setAttribute('aria-label', `${button.textContent}: ${webhook.url}`);
    button.addEventListener('click', () => void told(run(button)));
  };
  on('test', () => test(item, webhook));
  on('deliveries', async (button) => {
    if (toggle(button, item.querySelector('.deliveries'))) await showDeliveries(item, webhook);
  });
  on('replay', async (button) => {
    if (toggle(button, replay)) replay.querySelector('select').focus();
  });
  on('edit', async () => openWebhookForm(await call(pathOf(webhook.id)), (saved) => noteSaved(saved, 'changed')));
  on('pause', async () => {
    const isPaused = item.querySelector('.state').textContent === 'paused';
    const now = await call(pathOf(webhook.id), { method: 'PATCH', body: { enabled: isPaused } });
    describe(item, now, now.state);
    say(
      'webhook-result',
      isPaused ? 'It gets what happened meanwhile, and goes on.' : 'Paused: it keeps its position.',
    );
  });
  on('remove', (button) => confirmed(button, () => remove(item, webhook)));
  const from = replay.querySelector('select');
  const row = replay.querySelector('input');
  from.addEventListener('change', () => (row.parentElement.hidden = from.value !== 'row'));
  replay.addEventListener('submit', (event) => {
    event.preventDefault();
    const body = { row: { after: Number(row.value) }, dropped: { dropped: true }, latest: { after: 'latest' } }[
      from.value
    ];
    void told(replayFrom(item, webhook, body));
    const button = item.querySelector('[data-do="replay"]');
    toggle(button, replay);
    button.focus();
  });
  return item;
}

/** Errors are shown in the section of the webhooks. */
async function told(work) {
  try {
    await work;
  } catch (error) {
    say('webhook-result', error.message, true);
  }
}

async function noteSaved({ id }, what) {
  await showWebhooks();
  say('webhook-result', `The webhook is ${what}.`);
  const item = [...list.children].find(({ dataset }) => dataset.id === id);
  item?.querySelector('[data-do="test"]').focus();
}

/** Requires a second press within a moment, because the action cannot be undone. */
async function confirmed(button, run) {
  if (button.dataset.asked !== undefined) return run();
  const text = button.textContent;
  button.dataset.asked = '';
  button.textContent = 'Remove it for good?';
  button.addEventListener(
    'blur',
    () => {
      delete button.dataset.asked;
      button.textContent = text;
    },
    { once: true },
  );
}

async function remove(item, { id }) {
  await call(pathOf(id), { method: 'DELETE' });
  item.remove();
  element('webhook-none').hidden = list.children.length > 0;
  say('webhook-result', 'Removed.');
  element('add-webhook').focus();
}

async function test(item, webhook) {
  say('webhook-result', 'testing …');
  const { delivered, status, error } = await call(`${pathOf(webhook.id)}/test`, { method: 'POST' });
  if (delivered) say('webhook-result', `the receiver answered ${status}`);
  else say('webhook-result', `the receiver failed: ${error ?? status}`, true);
  if (!item.querySelector('.deliveries').hidden) await showDeliveries(item, webhook);
}

async function replayFrom(item, webhook, body) {
  const { state } = await call(`${pathOf(webhook.id)}/replay`, { method: 'POST', body });
  showState(item, state);
  if (body.dropped) say('webhook-result', 'delivering again what was dropped');
  else if (body.after === 'latest') say('webhook-result', 'going on with what comes next');
  else say('webhook-result', `delivering again everything after row ${body.after}`);
}

async function showDeliveries(item, webhook) {
  const [{ state }, records] = await Promise.all([call(pathOf(webhook.id)), call(`${pathOf(webhook.id)}/deliveries`)]);
  showState(item, state);
  item.querySelector('tbody').replaceChildren(...records.map(rowOf));
}

function rowOf({ at, event, row_id: rowId, outcome, status, error, attempts, duration_ms: durationMs }) {
  const row = document.createElement('tr');
  for (const text of [timeOf(at), event, rowId ?? '', error ?? status ?? outcome, attempts, durationMs]) {
    row.insertCell().textContent = String(text);
  }
  return row;
}

function showState(item, state) {
  const badge = item.querySelector('.state');
  badge.textContent = state;
  badge.dataset.state = TONES[state];
  item.querySelector('[data-do="pause"]').textContent = state === 'paused' ? 'Resume' : 'Pause';
}

function toggle(button, part) {
  part.hidden = !part.hidden;
  button.setAttribute('aria-expanded', String(!part.hidden));
  return !part.hidden;
}

export function offerWebhooks() {
  offerWebhookForm();
  element('add-webhook').addEventListener('click', () =>
    openWebhookForm(undefined, (saved) => noteSaved(saved, 'added')),
  );
  setInterval(() => {
    if (document.hidden || element('webhooks').hidden || element('workspace').hidden) return;
    void showWebhooks({ isByItself: true }).catch(() => {});
  }, EVERY_MS);
}
