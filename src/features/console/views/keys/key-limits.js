// The limits of a key as form fields, for a new key and for changing one.

import { field, option, segments } from '../../parts/old/choices.js';
import { h, newId } from '../../parts/old/dom.js';
import { note } from '../../parts/old/parts.js';
import { peopleField } from '../../parts/old/suggest.js';
import { nameOfEntry } from './key-words.js';

/** @import { Entry } from '../../service/directory.ts' */
/** @import { Rights } from './key-words.js' */

/**
 * The people of a list: `'*'` for everyone, `''` for nobody, or the chosen ones. An empty array means that none is
 * chosen yet.
 * @typedef {'*' | '' | readonly Entry[]} People
 */

/**
 * The choices for a key so far.
 * @typedef {{ preset: string, scopes: string[], name: string, read: People, send: People,
 *   approval: string, caps: { per_day: number, per_minute: number, new_contacts_per_day: number }, days: string,
 *   dry_run: boolean }} Draft
 */

/** @param {'*' | readonly string[]} list @returns {People} */
export const entriesOf = (list) =>
  list === '*'
    ? '*'
    : list.length === 0
      ? ''
      : list.map((id) => ({ id, name: nameOfEntry(id), detail: id, isGroup: id.includes(';+;') }));

/** @param {People} list @returns {'*' | readonly string[]} */
export const idsOf = (list) => (list === '*' ? '*' : (list || []).map(({ id }) => id));

/** @param {Draft} draft @returns {Rights} */
export const rightsIn = ({ scopes, read, send, approval, caps, dry_run }) => ({
  scopes,
  read: read && idsOf(read),
  send: send && idsOf(send),
  approval,
  caps,
  dry_run,
});

/** The choices of a field for people: value and label. */
const WAYS = /** @type {const} */ ([
  ['some', 'People'],
  ['all', 'Everybody'],
  ['none', 'Nobody'],
]);

/**
 * Returns a field for the people whom a key may read or write to. Everyone and nobody are explicit choices.
 * @param {string} label
 * @param {string} hint
 * @param {People} list
 * @param {(list: People) => void} changed
 */
export function listField(label, hint, list, changed) {
  let chosen = typeof list === 'string' ? [] : list;
  /** @type {'some' | 'all' | 'none'} */
  let way = list === '*' ? 'all' : list === '' ? 'none' : 'some';
  const below = h('span', 'hint');
  const { box, input } = peopleField(label, chosen, (entries) => {
    chosen = entries;
    show();
    changed(chosen);
  });
  const show = () => {
    box.hidden = way !== 'some';
    const isMissing = way === 'some' && chosen.length === 0;
    input.setCustomValidity(isMissing ? 'Add somebody, or choose everybody or nobody.' : '');
    input.removeAttribute('aria-invalid');
    below.className = 'hint';
    below.textContent = { some: hint, all: 'Includes people who are new to you.', none: '' }[way];
  };
  input.addEventListener('invalid', (event) => {
    event.preventDefault();
    input.setAttribute('aria-invalid', 'true');
    below.className = 'err';
    below.textContent = input.validationMessage;
    if (input.form?.querySelector('input:invalid') === input) input.focus();
  });
  below.id = newId();
  input.setAttribute('aria-describedby', below.id);
  show();
  const ways = segments(label, WAYS, way, (now) => {
    way = now;
    show();
    changed(way === 'all' ? '*' : way === 'none' ? '' : chosen);
  });
  return h('div', 'field', h('span', 'label', label), ways, box, below);
}

/** @type {readonly (readonly [string, string, string])[]} */
const APPROVALS = [
  ['always', 'Every send waits for you', 'You see the exact text and decide. Best for agents.'],
  ['new', 'Only first messages wait', 'If you have written to somebody before, sends to them go out at once.'],
  ['never', 'It sends at once', 'Within the limits below.'],
];

/** @type {readonly (readonly ['per_day' | 'per_minute' | 'new_contacts_per_day', string, number])[]} */
const CAPS = [
  ['per_day', 'Sends a day', 200],
  ['per_minute', 'Sends a minute', 60],
  ['new_contacts_per_day', 'New people a day', 200],
];

/**
 * @param {Draft} draft
 * @param {() => void} changed
 */
export function limitFields(draft, changed) {
  const canSend = draft.scopes.includes('send');
  const dry = h('input', { type: 'checkbox', checked: draft.dry_run });
  dry.addEventListener('change', () => {
    draft.dry_run = dry.checked;
    changed();
  });
  return [
    canSend &&
      h(
        'div',
        { class: 'pick', role: 'radiogroup', 'aria-label': 'Approval' },
        APPROVALS.map(([value, title, text]) =>
          option({
            type: 'radio',
            name: 'approval',
            value,
            title,
            text,
            checked: draft.approval === value,
            onchange: () => {
              draft.approval = value;
              changed();
            },
          }),
        ),
      ),
    canSend &&
      h(
        'div',
        'three',
        CAPS.map(([name, label, most]) => {
          const input = h('input', {
            class: 'input',
            type: 'number',
            min: 0,
            max: most,
            step: 1,
            required: true,
            value: String(draft.caps[name]),
          });
          input.addEventListener('input', () => {
            draft.caps[name] = Number(input.value);
            changed();
          });
          return field(label, input, `0 to ${most}`);
        }),
      ),
    canSend &&
      h(
        'div',
        'field',
        h('span', 'label', 'Try first'),
        h(
          'label',
          'check',
          dry,
          h('span', null, 'Only pretend to send ', h('span', 'quiet small', '(the answer says what would happen)')),
        ),
      ),
    !canSend && note('', h('p', null, 'It cannot send, so its expiry is the only limit to set.')),
  ];
}

/**
 * Returns a field for the time when a key expires. `kept` is the text of the choice that leaves the time unchanged.
 * @param {Draft} draft
 * @param {string} [kept]
 */
export function expiryField(draft, kept) {
  const choices = [
    ...(kept === undefined ? [] : [['keep', kept]]),
    ['90', 'in 90 days'],
    ['30', 'in 30 days'],
    ['7', 'in 7 days'],
    ['never', 'never'],
  ];
  const select = h(
    'select',
    { class: 'input' },
    choices.map(([value, text]) => h('option', { value }, text)),
  );
  select.value = draft.days;
  select.addEventListener('change', () => {
    draft.days = select.value;
  });
  return field('Ends', select);
}

/** @param {Draft} draft */
export const expiresAt = ({ days }) =>
  days === 'never' ? null : new Date(Date.now() + Number(days) * 86_400_000).toISOString();
