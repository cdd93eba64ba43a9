// Parts that float above a view: the menu of a row, and the box that asks for confirmation before an action.

import { fill, h, icon, newId } from './dom.js';
import { button } from './parts.js';

/** @import { Children } from './dom.js' */

/**
 * Returns the menu of a row.
 * @param {string} label
 * @param {readonly (readonly [name: string, text: string, run: () => unknown, kind?: 'bad'] | '-')[]} items
 */
export function menu(label, items) {
  const id = newId();
  const list = h('div', { class: 'pop', id, popover: 'auto', role: 'menu', 'aria-label': label });
  for (const item of items) {
    if (item === '-') {
      list.append(h('hr'));
      continue;
    }
    const [name, text, run, kind] = item;
    const chosen = () => {
      list.hidePopover();
      void run();
    };
    list.append(h('button', { type: 'button', role: 'menuitem', class: kind, onclick: chosen }, icon(name), text));
  }
  const opener = button('mini icon bare', icon('dots'), () => {}, {
    'aria-label': label,
    'aria-haspopup': 'menu',
    'aria-expanded': 'false',
    popovertarget: id,
  });
  list.addEventListener('toggle', (event) => {
    const isOpen = /** @type {ToggleEvent} */ (event).newState === 'open';
    opener.setAttribute('aria-expanded', String(isOpen));
    if (!isOpen) return;
    const { bottom, top, right } = opener.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = list;
    list.style.top = `${bottom + height + 8 > innerHeight ? Math.max(8, top - height - 4) : bottom + 4}px`;
    list.style.left = `${Math.max(8, Math.min(right - width, innerWidth - width - 8))}px`;
    list.querySelector('button')?.focus();
  });
  list.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const all = [...list.querySelectorAll('button')];
    all[
      (all.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement)) + step + all.length) % all.length
    ]?.focus();
  });
  return h('span', 'menu', opener, list);
}

/**
 * Asks the user before an action. Resolves to true if the user chooses the action.
 * @param {{ readonly title: string, readonly text: Children, readonly action: string, readonly isBad?: boolean }} question
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text, action, isBad = true }) {
  const dialog = h('dialog', { 'aria-labelledby': 'question' });
  fill(
    dialog,
    h(
      'div',
      'in',
      h('h2', { id: 'question' }, title),
      h('p', 'soft', text),
      h(
        'div',
        'acts',
        button(isBad ? 'bad' : 'first', action, () => dialog.close('yes')),
        button('', 'Cancel', () => dialog.close(), { autofocus: true }),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
  });
}
