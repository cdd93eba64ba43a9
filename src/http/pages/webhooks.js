import { call } from './api.js';
import { copyOf, element, say, timeOf } from './elements.js';

const pathOf = (id) => `webhooks/${encodeURIComponent(id)}`;

/** Shows all of them; how each is doing comes from the status, which was asked for anyway. */
export async function showWebhooks({ webhooks: summaries }) {
  const webhooks = await call('webhooks');
  const states = new Map(summaries.map(({ id, state }) => [id, state]));
  element('webhook-list').replaceChildren(...webhooks.map((webhook) => itemOf(webhook, states.get(webhook.id))));
  element('webhook-none').hidden = webhooks.length > 0;
}

function itemOf(webhook, state = 'healthy') {
  const item = copyOf('webhook-item');
  const replay = item.querySelector('form');
  item.querySelector('b').textContent = webhook.url;
  item.querySelector('.events').textContent = webhook.events.join(', ');
  showState(item, state);
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
    if (toggle(button, replay)) replay.querySelector('input').focus();
  });
  replay.addEventListener('submit', (event) => {
    event.preventDefault();
    void told(replayAfter(item, webhook, Number(replay.querySelector('input').value)));
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

async function test(item, webhook) {
  say('webhook-result', 'testing …');
  const { delivered, status, error } = await call(`${pathOf(webhook.id)}/test`, { method: 'POST' });
  if (delivered) say('webhook-result', `the receiver answered ${status}`);
  else say('webhook-result', `the receiver failed: ${error ?? status}`, true);
  if (!item.querySelector('.deliveries').hidden) await showDeliveries(item, webhook);
}

async function replayAfter(item, webhook, after) {
  const { state } = await call(`${pathOf(webhook.id)}/replay`, { method: 'POST', body: { after } });
  showState(item, state);
  say('webhook-result', `delivering again everything after row ${after}`);
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
  badge.dataset.state = state === 'healthy' ? 'good' : 'bad';
}

function toggle(button, part) {
  part.hidden = !part.hidden;
  button.setAttribute('aria-expanded', String(!part.hidden));
  return !part.hidden;
}
