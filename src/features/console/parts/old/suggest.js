// A field that suggests people and groups while the user types.

import { hasWords, suggestions } from '../../service/directory.ts';
import { fill, h, newId } from './dom.js';
import { avatar } from './parts.js';

/** @import { Entry } from '../../service/directory.ts' */

const WAIT_MS = 150;

/**
 * Returns a list of suggestions for a field. Calls `choose` with the chosen person or group.
 * @param {HTMLInputElement} input
 * @param {(entry: Entry) => void} choose
 */
export function suggestPeople(input, choose) {
  const id = newId();
  const list = h('ul', { class: 'suggest', id, role: 'listbox', 'aria-label': 'People and groups', hidden: true });
  /** @type {readonly Entry[]} */
  let found = [];
  let at = -1;
  let asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  for (const [name, value] of [
    ['role', 'combobox'],
    ['aria-autocomplete', 'list'],
    ['aria-controls', id],
    ['aria-expanded', 'false'],
    ['autocomplete', 'off'],
  ]) {
    if (name !== undefined && value !== undefined) input.setAttribute(name, value);
  }

  const close = () => {
    asked += 1;
    clearTimeout(timer);
    list.hidden = true;
    at = -1;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  /** @param {number} chosen */
  const select = (chosen) => {
    at = chosen;
    for (const [index, item] of [...list.children].entries()) item.setAttribute('aria-selected', String(index === at));
    if (at < 0) input.removeAttribute('aria-activedescendant');
    else input.setAttribute('aria-activedescendant', `${id}-${at}`);
    list.children[at]?.scrollIntoView({ block: 'nearest' });
  };
  /** @param {Entry} entry */
  const take = (entry) => {
    close();
    choose(entry);
  };
  const open = async () => {
    asked += 1;
    const own = asked;
    const all = await suggestions(input.value.trim());
    if (own !== asked || document.activeElement !== input) return;
    showFound(all);
  };
  /** @param {readonly Entry[]} all */
  const showFound = (all) => {
    const selected = found[at]?.id;
    found = all;
    fill(list, found.map(itemOf));
    list.hidden = found.length === 0;
    input.setAttribute('aria-expanded', String(!list.hidden));
    // Selects the person or group that the user had already selected when these suggestions arrived.
    select(selected === undefined ? -1 : found.findIndex((entry) => entry.id === selected));
  };
  /**
   * @param {Entry} entry
   * @param {number} index
   */
  const itemOf = (entry, index) =>
    h(
      'li',
      {
        role: 'option',
        id: `${id}-${index}`,
        'aria-selected': 'false',
        onpointerdown: (/** @type {Event} */ event) => {
          event.preventDefault();
          take(entry);
        },
      },
      avatar(entry.name, entry.id, 's'),
      h('span', { class: 'grow cut', dir: 'auto' }, entry.name),
      entry.detail !== entry.name && h('bdi', 'quiet small cut', entry.detail),
    );

  input.addEventListener('input', () => {
    clearTimeout(timer);
    // Removes the suggestions that no longer match. Without this, Enter could choose one of them until the new
    // suggestions arrive.
    if (!list.hidden) showFound(found.filter((entry) => hasWords(entry, input.value)));
    timer = setTimeout(() => void open(), WAIT_MS);
  });
  input.addEventListener('focus', () => {
    if (input.value === '') void open();
  });
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const entry = found[at];
    if (step !== undefined) select((at + step + found.length) % found.length);
    else if (event.key === 'Enter' && entry !== undefined) take(entry);
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return list;
}

/**
 * Returns a field to which the user adds people and groups, each with a button to remove it.
 * @param {string} label
 * @param {readonly Entry[]} chosen
 * @param {(entries: readonly Entry[]) => void} changed
 */
export function peopleField(label, chosen, changed) {
  let entries = [...chosen];
  const input = h('input', { 'aria-label': label, placeholder: 'Add a name, number or group', spellcheck: 'false' });
  /** @param {Entry} entry */
  const add = (entry) => {
    input.value = '';
    if (!entries.some(({ id }) => id === entry.id)) entries = [...entries, entry];
    show();
    changed(entries);
  };
  const addTyped = () => {
    const text = input.value.trim();
    if (text !== '') add({ id: text, name: text, detail: text, isGroup: false });
  };
  const list = suggestPeople(input, add);
  const box = h('div', 'tokens');
  const show = () => {
    const tokens = entries.map((entry) =>
      h(
        'span',
        { class: 'token', title: entry.id },
        h('span', { class: 'cut', dir: 'auto' }, entry.name),
        h(
          'button',
          {
            type: 'button',
            'aria-label': `Remove ${entry.name}`,
            onclick: () => {
              entries = entries.filter((one) => one !== entry);
              show();
              changed(entries);
              input.focus();
            },
          },
          '×',
        ),
      ),
    );
    for (const token of box.querySelectorAll('.token')) token.remove();
    box.prepend(...tokens);
  };
  box.append(input, list);
  show();
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && input.value.trim() !== '') {
      event.preventDefault();
      addTyped();
    } else if (event.key === 'Backspace' && input.value === '' && entries.length > 0) {
      entries = entries.slice(0, -1);
      show();
      changed(entries);
    }
  });
  input.addEventListener('blur', addTyped);
  return { box, input };
}
