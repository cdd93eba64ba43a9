// The form that adds a webhook or changes one.

import { call } from './api.js';
import { copyOf, element, say } from './elements.js';

const form = element('webhook-form');
const field = (name) => form.elements.namedItem(name);
const boxes = () => [...form.querySelectorAll('[name="event"]')];
/** The webhook being changed; undefined for a new one. */
let changed;
let whenSaved;

/** Opens the form. `saved` is called with the webhook once the service has it. */
export function openWebhookForm(webhook, saved) {
  changed = webhook;
  whenSaved = saved;
  empty();
  element('webhook-form-title').textContent = webhook === undefined ? 'Add a webhook' : 'Change the webhook';
  field('secret').placeholder = webhook?.has_secret ? 'As it is' : 'None';
  if (webhook !== undefined) fill(webhook);
  say('webhook-form-result', '');
  form.hidden = false;
  field('url').focus();
}

function empty() {
  form.reset();
  element('webhook-headers').replaceChildren();
}

function close() {
  form.hidden = true;
  empty();
}

function fill({ url, name, events, include, on_failure: onFailure, filter, header_names: headers }) {
  field('url').value = url;
  field('name').value = name ?? '';
  for (const box of boxes()) box.checked = events.includes(box.value);
  for (const box of form.querySelectorAll('[name="include"]')) box.checked = include.includes(box.value);
  field('on_failure').value = onFailure;
  field('conversations').value = (filter?.conversation_ids ?? []).join('\n');
  field('senders').value = (filter?.senders ?? []).join('\n');
  field('whose').value = filter?.is_from_me === undefined ? '' : String(filter.is_from_me);
  for (const header of headers) addHeader(header);
}

/** An existing header shows only its name: the service never reveals its value. */
function addHeader(name) {
  const item = copyOf('header-item');
  const [nameField, valueField] = item.querySelectorAll('input');
  if (name !== undefined) {
    nameField.value = name;
    nameField.readOnly = true;
    valueField.placeholder = 'As it is';
    item.dataset.known = '';
  }
  item.querySelector('button').addEventListener('click', () => {
    if (name === undefined) item.remove();
    else {
      item.hidden = true;
      item.dataset.removed = '';
    }
    element('add-header').focus();
  });
  element('webhook-headers').append(item);
  return nameField;
}

const linesOf = (name) =>
  field(name)
    .value.split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

function headersIn() {
  const headers = {};
  for (const item of element('webhook-headers').children) {
    const [{ value: name }, { value }] = item.querySelectorAll('input');
    if (item.dataset.removed !== undefined) headers[name] = null;
    else if (value !== '' || item.dataset.known === undefined) headers[name] = value;
  }
  return headers;
}

/** The form's values as the API accepts them. */
function settings() {
  const conversations = linesOf('conversations');
  const senders = linesOf('senders');
  const whose = field('whose').value;
  const filter = {
    ...(conversations.length > 0 && { conversation_ids: conversations }),
    ...(senders.length > 0 && { senders }),
    ...(whose !== '' && { is_from_me: whose === 'true' }),
  };
  const hasFilter = Object.keys(filter).length > 0;
  const name = field('name').value.trim();
  const secret = field('secret').value;
  const headers = headersIn();
  return {
    url: field('url').value.trim(),
    events: boxes()
      .filter(({ checked }) => checked)
      .map(({ value }) => value),
    include: [...form.querySelectorAll('[name="include"]:checked')].map(({ value }) => value),
    on_failure: field('on_failure').value,
    ...(secret !== '' && { secret }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...((name !== '' || changed !== undefined) && { name: name === '' ? null : name }),
    ...((hasFilter || changed !== undefined) && { filter: hasFilter ? filter : null }),
  };
}

async function save() {
  try {
    const body = settings();
    const saved =
      changed === undefined
        ? await call('webhooks', { method: 'POST', body })
        : await call(`webhooks/${encodeURIComponent(changed.id)}`, { method: 'PATCH', body });
    close();
    await whenSaved(saved);
  } catch (error) {
    say('webhook-form-result', error.message, true);
  }
}

export function offerWebhookForm() {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void save();
  });
  element('cancel-webhook').addEventListener('click', () => {
    close();
    element('add-webhook').focus();
  });
  element('add-header').addEventListener('click', () => addHeader().focus());
  element('make-secret').addEventListener('click', () => {
    const bytes = crypto.getRandomValues(new Uint8Array(24));
    field('secret').value = btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, '');
    field('secret').type = 'text';
    field('secret').select();
    say('webhook-form-result', 'Give this secret to the receiver now: it is not shown again.');
  });
}
