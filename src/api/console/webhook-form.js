// The form that adds a webhook or changes one, beside the request that the receiver will see.

import { call } from './api.js';
import { nameIn } from './directory.js';
import { fill, h } from './dom.js';
import { busily, button, codeLine, field, option, pageHead, toast } from './parts.js';
import { goTo } from './route.js';
import { commandOf, isHub } from './service.js';
import { peopleField } from './suggest.js';
import { pathOf, sendTest } from './view-webhooks.js';
import { addressIn, reasonOf } from './words.js';

/** @import { Entry } from './directory.js' */
/** @import { ShownWebhook } from './webhook-words.js' */

/** Four groups of types; the names of the types stand in the titles. */
const GROUPS = [
  { title: 'Received', text: 'Somebody wrote.', types: ['message.received'] },
  { title: 'Sent', text: 'You wrote, on any device.', types: ['message.sent'] },
  { title: 'Reactions', text: 'Tapbacks, added and taken back.', types: ['reaction.added', 'reaction.removed'] },
  {
    title: 'Changes',
    text: 'Edited, unsent, delivered, read, deleted.',
    types: ['message.updated', 'message.removed', 'messages.changed'],
  },
];
const DEFAULT_TYPES = ['message.received'];

/** @param {ShownWebhook | undefined} webhook the one to change; undefined for a new one */
export function webhookForm(webhook) {
  const url = h('input', {
    class: 'input mono',
    type: 'url',
    required: true,
    inputmode: 'url',
    autocomplete: 'off',
    placeholder: 'http://127.0.0.1:5678/webhook/messages',
    value: webhook?.url ?? '',
  });
  const name = h('input', { class: 'input', maxlength: 64, autocomplete: 'off', value: webhook?.name ?? '' });
  const secret = h('input', {
    class: 'input mono',
    type: 'text',
    maxlength: 256,
    autocomplete: 'off',
    spellcheck: 'false',
    placeholder: webhook?.has_secret ? 'Stays as it is' : '',
  });
  const whose = h(
    'select',
    { class: 'input' },
    [
      ['', 'anybody'],
      ['false', 'others'],
      ['true', 'me'],
    ].map(([value, text]) => h('option', { value }, text)),
  );
  whose.value = webhook?.filter?.is_from_me === undefined ? '' : String(webhook.filter.is_from_me);
  const types = typeChoice(webhook?.events ?? DEFAULT_TYPES);
  const includes = new Set(webhook?.include ?? []);
  const headers = headerRows(webhook?.header_names ?? []);
  const result = h('p', { class: 'err', role: 'alert', id: 'webhook-form-result' });
  /** @type {readonly Entry[]} */
  let conversations = (webhook?.filter?.conversation_ids ?? []).map(entryOf);
  /** @type {readonly Entry[]} */
  let senders = (webhook?.filter?.senders ?? []).map(entryOf);
  let onFailure = webhook?.on_failure ?? 'hold';

  const settings = () => {
    const filter = {
      // Members that this form does not show stay.
      ...webhook?.filter,
      conversation_ids: conversations.length > 0 ? conversations.map(conversationId) : undefined,
      senders: senders.length > 0 ? senders.map(({ id }) => id) : undefined,
      is_from_me: whose.value === '' ? undefined : whose.value === 'true',
    };
    const hasFilter = Object.values(filter).some((value) => value !== undefined);
    const given = headers.given();
    return {
      url: url.value.trim(),
      events: types.chosen(),
      include: [...includes],
      on_failure: onFailure,
      ...(secret.value !== '' && { secret: secret.value }),
      ...(Object.keys(given).length > 0 && { headers: given }),
      ...((name.value.trim() !== '' || webhook !== undefined) && { name: name.value.trim() || null }),
      ...((hasFilter || webhook !== undefined) && { filter: hasFilter ? filter : null }),
    };
  };
  /**
   * @param {HTMLButtonElement} control
   * @param {boolean} isTested
   */
  const save = (control, isTested) =>
    busily(control, async () => {
      result.textContent = '';
      try {
        const body = settings();
        const saved = await (webhook === undefined
          ? call('webhooks', { method: 'POST', body })
          : call(pathOf(webhook.id), { method: 'PATCH', body }));
        goTo(`#/webhooks/${encodeURIComponent(saved.id)}`);
        if (isTested) await sendTest(saved);
        else toast(webhook === undefined ? 'The webhook is added' : 'The webhook is changed');
      } catch (error) {
        result.textContent = reasonOf(error);
        result.scrollIntoView({ block: 'nearest' });
      }
    });
  const people = peopleField('Only these conversations', conversations, (entries) => (conversations = entries));
  const writers = peopleField('Only written by', senders, (entries) => (senders = entries));
  const submit = h(
    'button',
    { type: 'submit', class: 'btn first' },
    webhook === undefined ? 'Add and send a test' : 'Save changes',
  );
  /** @type {HTMLFormElement} */
  const form = h(
    'form',
    {
      id: 'webhook-form',
      class: 'form',
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        void save(submit, webhook === undefined);
      },
    },
    h(
      'fieldset',
      'stack loose',
      field('Address', url, 'http or https; this machine and its network are allowed.'),
      field('Name', name, 'Optional. It stands in lists and in what doctor says.'),
    ),
    h('fieldset', 'stack', h('legend', null, 'What it gets'), types.view),
    h(
      'fieldset',
      'stack loose',
      h('legend', null, 'Only some of it'),
      h(
        'div',
        'field',
        h('span', 'label', 'Only these conversations'),
        people.box,
        h('span', 'hint', 'Nobody listed: all of them.'),
      ),
      h('div', 'field', h('span', 'label', 'Only written by'), writers.box),
      field('Written by', whose),
    ),
    !isHub() &&
      h(
        'fieldset',
        'stack',
        h('legend', null, 'With each message'),
        /** @type {const} */ ([
          ['contacts', 'Names of people', 'From Contacts, beside addresses.'],
          ['details', 'Details', 'Service, edits, reactions, attachments, links, polls.'],
        ]).map(([value, title, text]) =>
          option({
            type: 'checkbox',
            name: 'include',
            value,
            title,
            text,
            checked: includes.has(value),
            onchange: () => {
              if (includes.has(value)) includes.delete(value);
              else includes.add(value);
            },
          }),
        ),
      ),
    h(
      'fieldset',
      'stack',
      h('legend', null, 'When the receiver is down'),
      h(
        'div',
        'pick two',
        option({
          type: 'radio',
          name: 'failure',
          value: 'hold',
          title: 'Hold',
          text: 'Waits and tries until it is back. Nothing is lost, order is kept.',
          checked: onFailure === 'hold',
          onchange: () => (onFailure = 'hold'),
        }),
        option({
          type: 'radio',
          name: 'failure',
          value: 'drop',
          title: 'Drop',
          text: 'Gives up after three tries and goes on. It can be delivered again later.',
          checked: onFailure === 'drop',
          onchange: () => (onFailure = 'drop'),
        }),
      ),
    ),
    h(
      'fieldset',
      'stack',
      h('legend', null, 'Secret and headers'),
      h(
        'div',
        'row',
        h(
          'div',
          'grow',
          field('Secret', secret, 'Signs each delivery, so that your receiver knows who sent it. Shown only now.'),
        ),
        button('', 'Make one', () => makeSecret(secret)),
      ),
      headers.view,
    ),
    result,
    h(
      'div',
      'acts',
      submit,
      webhook === undefined &&
        button(
          '',
          'Add',
          ({ currentTarget }) => form.reportValidity() && save(/** @type {HTMLButtonElement} */ (currentTarget), false),
        ),
      h(
        'a',
        {
          class: 'btn bare',
          href: webhook === undefined ? '#/webhooks' : `#/webhooks/${encodeURIComponent(webhook.id)}`,
        },
        'Cancel',
      ),
    ),
  );
  return [
    pageHead(webhook === undefined ? 'Add a webhook' : 'Edit the webhook', { back: ['#/webhooks', 'All webhooks'] }),
    h(
      'div',
      'wizard',
      form,
      h(
        'aside',
        'stack loose',
        sampleCard(),
        h(
          'section',
          'card',
          h('header', null, h('h2', null, 'No receiver yet?')),
          h(
            'div',
            'body stack',
            h('p', 'quiet', 'This one prints what comes:'),
            codeLine(commandOf('webhooks listen')),
          ),
        ),
      ),
    ),
  ];
}

/** @param {string} id */
const entryOf = (id) => ({
  id,
  name: nameIn(id) ?? (id.includes(';') ? addressIn(id) : id),
  detail: id,
  isGroup: id.includes(';+;'),
});

/** A person's conversation, if only the address was chosen. @param {Entry} entry */
const conversationId = ({ id }) => (id.includes(';') ? id : `any;-;${id}`);

/** @param {HTMLInputElement} secret */
function makeSecret(secret) {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  secret.value = `whsec_${btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, '')}`;
  secret.select();
  toast('Give this secret to the receiver now: it is not shown again');
}

/** Groups, and each type for those who want to choose. @param {readonly string[]} chosen */
function typeChoice(chosen) {
  const groups = GROUPS.filter(({ title }) => !isHub() || title !== 'Changes');
  const boxes = new Map(
    groups
      .flatMap(({ types }) => types)
      .map((type) => [
        type,
        h('input', { type: 'checkbox', name: 'event', value: type, checked: chosen.includes(type) }),
      ]),
  );
  const view = h('div', 'stack');
  const pick = h('div', 'pick two');
  const options = groups.map(({ title, text, types }) => {
    const one = option({ type: 'checkbox', name: 'group', value: title, title, text });
    one.title = types.join(', ');
    const box = /** @type {HTMLInputElement} */ (one.querySelector('input'));
    box.addEventListener('change', () => {
      for (const type of types) {
        const each = boxes.get(type);
        if (each !== undefined) each.checked = box.checked;
      }
    });
    return { one, box, types };
  });
  const follow = () => {
    for (const { box, types } of options) {
      const on = types.filter((type) => boxes.get(type)?.checked === true).length;
      box.checked = on === types.length;
      box.indeterminate = on > 0 && on < types.length;
    }
  };
  follow();
  for (const box of boxes.values()) box.addEventListener('change', follow);
  fill(
    pick,
    options.map(({ one }) => one),
  );
  fill(
    view,
    pick,
    h(
      'details',
      null,
      h('summary', 'quiet small', 'Choose each type'),
      h(
        'div',
        'filters',
        [...boxes].map(([type, box]) => h('label', 'check mono', box, type)),
      ),
    ),
  );
  return { view, chosen: () => [...boxes].filter(([, box]) => box.checked).map(([type]) => type) };
}

/** Headers for each delivery. The value of a known one is never shown. @param {readonly string[]} known */
function headerRows(known) {
  const list = h('ul', 'stack');
  /** @type {Set<string>} */
  const removed = new Set();
  /** @param {string} [name] */
  const add = (name) => {
    const nameField = h('input', {
      class: 'input',
      'aria-label': 'Name of the header',
      placeholder: 'Authorization',
      autocomplete: 'off',
      value: name ?? '',
      readonly: name !== undefined,
    });
    const value = h('input', {
      class: 'input',
      'aria-label': 'Value of the header',
      type: 'password',
      placeholder: name === undefined ? 'Bearer …' : 'Stays as it is',
      autocomplete: 'off',
    });
    const item = h(
      'li',
      { class: 'row', 'data-name': name ?? '' },
      nameField,
      value,
      button('', 'Remove', () => {
        if (name !== undefined) removed.add(name);
        item.remove();
        adder.focus();
      }),
    );
    list.append(item);
    return nameField;
  };
  for (const name of known) add(name);
  const adder = button('', 'Add a header', () => add().focus());
  return {
    view: h('div', 'stack', list, h('div', null, adder)),
    given() {
      /** @type {Record<string, string | null>} */
      const headers = {};
      for (const name of removed) headers[name] = null;
      for (const item of list.children) {
        const [name, value] = item.querySelectorAll('input');
        const isKnown = /** @type {HTMLElement} */ (item).dataset.name !== '';
        if (name !== undefined && value !== undefined && (value.value !== '' || !isKnown))
          headers[name.value] = value.value;
      }
      return headers;
    },
  };
}

const SAMPLE = `POST /webhook/messages
X-Webhook-Delivery: 6f1c…
X-Webhook-Signature: sha256=9f2c…

{
  "type": "message.received",
  "data": {
    "id": "48210",
    "conversation_id": "any;-;+15550100",
    "sender": "+15550100",
    "body": "I can bring the ladder",
    …
  }
}`;

const sampleCard = () =>
  h(
    'section',
    'card',
    h('header', null, h('h2', null, 'What your receiver gets')),
    h('div', 'body', codeLine(SAMPLE, 'Copy the example')),
  );
