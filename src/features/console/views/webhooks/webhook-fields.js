// Fields of a webhook's form: its events, in groups or one by one, and its headers.

import { option } from '../../parts/old/choices.js';
import { fill, h } from '../../parts/old/dom.js';
import { button } from '../../parts/old/parts.js';
import { isHub } from '../../service/service.ts';

/** Groups of event types. The tooltip of a group lists its types. */
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

/**
 * Returns checkboxes for the groups of event types. They unfold to one checkbox for each type.
 * @param {readonly string[]} chosen
 */
export function typeChoice(chosen) {
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

/** Returns fields for additional headers. Never shows the value of a stored header. @param {readonly string[]} known */
export function headerRows(known) {
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
      placeholder: name === undefined ? 'Bearer …' : 'Unchanged',
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
