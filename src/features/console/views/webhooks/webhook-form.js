// The form that adds or changes a webhook, beside the request that the receiver will get.

import { field, option } from '../../parts/old/choices.js';
import { h } from '../../parts/old/dom.js';
import { busily, button, codeLine, pageHead, toast } from '../../parts/old/parts.js';
import { peopleField } from '../../parts/old/suggest.js';
import { call } from '../../service/api.ts';
import { nameIn } from '../../service/directory.ts';
import { goTo } from '../../service/route.ts';
import { commandOf, isHub } from '../../service/service.ts';
import { addressIn, reasonOf } from '../../service/words.ts';
import { pathOf, sendTest } from './webhook-actions.js';
import { headerRows, typeChoice } from './webhook-fields.js';

/** @import { Entry } from '../../service/directory.ts' */
/** @import { ShownWebhook } from './webhook-words.js' */

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
    placeholder: webhook?.has_secret ? 'Unchanged' : '',
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
      // Keeps the members of the webhook's filter that this form does not show.
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
        else toast(webhook === undefined ? 'Webhook added' : 'Webhook changed');
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
      field('Address', url, 'An http or https URL, also on this machine or its network.'),
      field('Name', name, 'Optional. Shown in lists and by “postern doctor”.'),
    ),
    h('fieldset', 'stack', h('legend', null, 'What it gets'), types.view),
    h(
      'fieldset',
      'stack loose',
      h('legend', null, 'Only some events'),
      h(
        'div',
        'field',
        h('span', 'label', 'Only these conversations'),
        people.box,
        h('span', 'hint', 'If you list none, it gets all conversations.'),
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
          ['contacts', 'Names of people', 'From Contacts, next to each address.'],
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
          text: 'Keeps trying until the receiver is back. Nothing is lost, and the order is kept.',
          checked: onFailure === 'hold',
          onchange: () => (onFailure = 'hold'),
        }),
        option({
          type: 'radio',
          name: 'failure',
          value: 'drop',
          title: 'Drop',
          text: 'Gives up after three tries and continues. You can deliver dropped events again later.',
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
            h('p', 'quiet', 'This command prints each delivery:'),
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

/**
 * Returns the conversation id of an entry. For a person's address, that is the direct conversation with the person.
 * @param {Entry} entry
 */
const conversationId = ({ id }) => (id.includes(';') ? id : `any;-;${id}`);

/** @param {HTMLInputElement} secret */
function makeSecret(secret) {
  // Base64 of 24 bytes needs no padding. Libraries decode all of it, so no character may be left out.
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  secret.value = `whsec_${btoa(String.fromCharCode(...bytes))}`;
  secret.select();
  toast('Give this secret to the receiver now: it is not shown again');
}

const SAMPLE = [
  'POST /webhook/messages',
  'X-Webhook-Delivery: 6f1c…',
  'X-Webhook-Signature: sha256=9f2c…',
  '',
  '{',
  '  "type": "message.received",',
  '  "data": {',
  '    "id": "48210",',
  '    "conversation_id": "any;-;+15550100",',
  '    "sender": "+15550100",',
  '    "body": "I can bring the ladder",',
  '    …',
  '  }',
  '}',
].join('\n');

const sampleCard = () =>
  h(
    'section',
    'card',
    h('header', null, h('h2', null, 'What your receiver gets')),
    h('div', 'body', codeLine(SAMPLE, 'Copy the example')),
  );
