// The box for searching or jumping to people, groups, views and actions by name; and the keyboard shortcuts.

import { fill, h, icon } from '../parts/old/dom.js';
import { copy } from '../parts/old/parts.js';
import { suggestions } from '../service/directory.ts';
import { keepPreference, schemeNow } from '../service/preferences.ts';
import { currentRoute, goTo, pathOfConversation } from '../service/route.ts';
import { isHub, isOwner, may } from '../service/service.ts';
import { navigationItems } from './shell.js';

/** @typedef {{ readonly icon: string, readonly text: string, readonly detail: string, readonly run: () => unknown }} Choice */

const WAIT_MS = 120;
/** How long `g` waits for the letter of a view, in milliseconds. */
const GO_MS = 1500;
/** @type {Readonly<Record<string, string>>} */
const GO = {
  o: 'overview',
  m: 'messages',
  e: 'events',
  w: 'webhooks',
  a: 'approvals',
  k: 'keys',
  l: 'audit',
  s: 'settings',
};
let goUntil = 0;

/** @returns {readonly Choice[]} */
function actions() {
  const isDark =
    schemeNow() === 'dark' || (schemeNow() === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return [
    ...navigationItems().map(({ view, icon: name, text }) => ({
      icon: name,
      text,
      detail: 'View',
      run: () => goTo(`#/${view}`),
    })),
    { icon: 'gear', text: 'Settings', detail: 'View', run: () => goTo('#/settings') },
    ...(may('send')
      ? [{ icon: 'pen', text: 'New message', detail: 'Messages', run: () => goTo('#/messages?new') }]
      : []),
    ...(may('webhooks')
      ? [{ icon: 'plus', text: 'Add a webhook', detail: 'Webhooks', run: () => goTo('#/webhooks/new') }]
      : []),
    ...(isOwner() && !isHub()
      ? [{ icon: 'plus', text: 'Create a key', detail: 'Keys', run: () => goTo('#/keys/new') }]
      : []),
    {
      icon: 'sun',
      text: isDark ? 'Switch to light' : 'Switch to dark',
      detail: 'Theme',
      run: () => keepPreference('scheme', isDark ? 'light' : 'dark', 'auto'),
    },
    { icon: 'copy', text: 'Copy the address of this view', detail: '', run: () => copy(location.href) },
    { icon: 'info', text: 'Keyboard shortcuts', detail: '?', run: showShortcuts },
  ];
}

export function openPalette() {
  const input = h('input', {
    class: 'input',
    role: 'combobox',
    'aria-expanded': 'true',
    'aria-controls': 'choices',
    'aria-autocomplete': 'list',
    'aria-label': 'Search or jump to',
    placeholder: 'A person, a group, a view or an action',
    autocomplete: 'off',
    spellcheck: 'false',
  });
  const list = h('ul', { id: 'choices', role: 'listbox', 'aria-label': 'Results' });
  const dialog = h(
    'dialog',
    { class: 'palette', 'aria-label': 'Search or jump' },
    h('div', 'searchbox', icon('search'), input),
    list,
  );
  /** @type {readonly Choice[]} */
  let found = [];
  let at = 0;
  let asked = 0;
  /** @param {number} chosen */
  const select = (chosen) => {
    at = chosen;
    for (const [index, item] of [...list.children].entries()) item.setAttribute('aria-selected', String(index === at));
    input.setAttribute('aria-activedescendant', `choice-${at}`);
    list.children[at]?.scrollIntoView({ block: 'nearest' });
  };
  /** @param {Choice | undefined} choice */
  const take = (choice) => {
    if (choice === undefined) return;
    dialog.close();
    void choice.run();
  };
  const show = async () => {
    asked += 1;
    const own = asked;
    const words = input.value.trim().toLowerCase();
    const matching = actions().filter(({ text, detail }) => `${text} ${detail}`.toLowerCase().includes(words));
    const people = may('read') && words !== '' ? await suggestions(words) : [];
    if (own !== asked) return;
    found = [
      ...people.map(({ id, name, detail, isGroup, conversation = `any;-;${id}` }) => ({
        icon: isGroup ? 'people' : 'chat',
        text: name,
        detail,
        run: () => goTo(pathOfConversation(conversation)),
      })),
      ...matching,
      ...(may('read') && !isHub() && words !== ''
        ? [
            {
              icon: 'search',
              text: `Search messages for “${input.value.trim()}”`,
              detail: '',
              run: () => searchFor(input.value.trim()),
            },
          ]
        : []),
    ];
    fill(
      list,
      found.map(({ icon: name, text, detail }, index) =>
        h(
          'li',
          { role: 'option', id: `choice-${index}`, onclick: () => take(found[index]) },
          icon(name),
          h('span', { class: 'cut grow', dir: 'auto' }, text),
          detail !== text && h('bdi', 'quiet small cut', detail),
        ),
      ),
    );
    select(0);
  };
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void show(), WAIT_MS);
  });
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) select((at + step + found.length) % found.length);
    else if (event.key === 'Enter') take(found[at]);
    else return;
    event.preventDefault();
  });
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  void show();
}

/** @param {string} words */
async function searchFor(words) {
  goTo('#/messages');
  const messages = await import('../views/messages/messages.js');
  messages.searchFor(words);
}

/** @param {string} key */
export async function takeShortcut(key) {
  if (performance.now() < goUntil && GO[key] !== undefined) {
    goUntil = 0;
    if (navigationItems().some(({ view }) => view === GO[key]) || key === 's') goTo(`#/${GO[key]}`);
    return;
  }
  goUntil = 0;
  if (key === 'g') goUntil = performance.now() + GO_MS;
  else if (key === '?') showShortcuts();
  else if (key === 'n' && may('send')) goTo('#/messages?new');
  else if (key === '/' && may('read')) {
    if (currentRoute().view !== 'messages') goTo('#/messages');
    const { focusSearch } = await import('../views/messages/messages.js');
    // The `hashchange` event shows the messages view, but only in a later turn of the event loop. The search box cannot
    // take the focus before that.
    setTimeout(focusSearch);
  }
}

/** @type {readonly (readonly [string, string])[]} */
const SHORTCUTS = [
  ['⌘K', 'Search or jump'],
  ['/', 'Search messages'],
  ['n', 'New message'],
  ['g o', 'Overview. Other views: g, then m, e, w, a, k, l or s'],
  ['↑ ↓', 'Move through a list'],
  ['Esc', 'Close what is open, or go back to the list'],
  ['?', 'Show this list'],
];

export function showShortcuts() {
  const dialog = h('dialog', { 'aria-labelledby': 'shortcuts-title', id: 'shortcuts' });
  fill(
    dialog,
    h(
      'div',
      'in',
      h('h2', { id: 'shortcuts-title' }, 'Keyboard shortcuts'),
      h(
        'dl',
        null,
        SHORTCUTS.map(([keys, text]) => [
          h(
            'dt',
            null,
            keys.split(' ').map((key) => [h('kbd', null, key), ' ']),
          ),
          h('dd', null, text),
        ]),
      ),
      h('div', 'acts', h('button', { type: 'button', class: 'btn', onclick: () => dialog.close() }, 'Close')),
    ),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
