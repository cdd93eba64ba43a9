import { element } from './elements.js';
import { goTo } from './route.js';

const isTyping = () => /^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');

/** Keys that work everywhere on the page, except while somebody types. */
const KEYS = {
  '/': () => {
    goTo('#/messages');
    element('search').focus();
  },
  '?': () => element('shortcuts').showModal(),
  n: () => element('new-message').click(),
};

export function offerShortcuts() {
  addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey || element('workspace').hidden || isTyping()) return;
    if (document.querySelector('dialog[open]') !== null) return;
    if (key === 'Escape' && location.hash.startsWith('#/c/')) {
      const [, , id] = location.hash.split('/');
      goTo('#/messages');
      document.querySelector(`#conversation-list button[data-id="${CSS.escape(decodeURIComponent(id))}"]`)?.focus();
      return;
    }
    if (!Object.hasOwn(KEYS, key)) return;
    event.preventDefault();
    KEYS[key]();
  });
  const dialog = element('shortcuts');
  dialog.querySelector('button').addEventListener('click', () => dialog.close());
  element('show-shortcuts').addEventListener('click', () => dialog.showModal());
}
