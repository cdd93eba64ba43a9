// Controls of forms and filters: segments, chips, fields, options.

import { fill, h, newId } from './dom.js';

/** @import { Children } from './dom.js' */

/**
 * Returns a control for choosing one of two to five values.
 * @template {string} Value
 * @param {string} label
 * @param {readonly (readonly [Value, string])[]} choices
 * @param {Value} value
 * @param {(value: Value) => void} chosen
 */
export function segments(label, choices, value, chosen) {
  const group = h('div', { class: 'seg', role: 'group', 'aria-label': label });
  const buttons = choices.map(([each, text]) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(each === value),
        onclick: () => {
          for (const one of buttons) one.setAttribute('aria-pressed', String(one === buttons[at(each)]));
          chosen(each);
        },
      },
      text,
    ),
  );
  /** @param {Value} each */
  const at = (each) => choices.findIndex(([one]) => one === each);
  group.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
    const from = buttons.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
    if (step !== undefined && from >= 0) buttons[(from + step + buttons.length) % buttons.length]?.focus();
  });
  return fill(group, buttons);
}

/**
 * Returns a label, a control, and a hint below it.
 * @param {string} label
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} control
 * @param {Children} [hint]
 */
export function field(label, control, hint) {
  const id = control.id || newId();
  control.id = id;
  if (hint !== undefined) control.setAttribute('aria-describedby', `${id}-hint`);
  return h(
    'div',
    'field',
    h('label', { for: id }, label),
    control,
    hint !== undefined && h('span', { class: 'hint', id: `${id}-hint` }, hint),
  );
}

/**
 * Returns a radio button or check box with one line about its consequence.
 * @param {{ readonly type: 'radio' | 'checkbox', readonly name: string, readonly value: string,
 *   readonly title: string, readonly text: string, readonly checked?: boolean, readonly onchange?: () => void }} choice
 */
export const option = ({ title, text, ...props }) =>
  h('label', 'option', h('input', props), h('b', null, title), h('small', null, text));
