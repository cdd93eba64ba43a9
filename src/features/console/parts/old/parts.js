// Components that every view uses.

import { hueOf } from '../../service/directory.ts';
import { copy } from '../toast.ts';
import { h, icon } from './dom.js';

export { busily, toast } from '../toast.ts';

/** @import { Children } from './dom.js' */

/**
 * @param {string} kind
 * @param {...Children} children
 */
export const tag = (kind, ...children) => h('span', `tag ${kind}`.trim(), ...children);

/**
 * @param {string} kind `first`, `bare`, `bad`, `mini`, `icon` or a mixture
 * @param {Children} content
 * @param {(event: Event) => unknown} run
 * @param {Record<string, unknown>} [props]
 */
export const button = (kind, content, run, props = {}) =>
  h('button', { type: 'button', class: `btn ${kind}`.trim(), onclick: run, ...props }, content);

/**
 * Shows one or more lines with a button that copies them.
 * @param {string} text
 * @param {string} [label]
 */
export const codeLine = (text, label = 'Copy') =>
  h(
    'div',
    'code',
    h('pre', null, text),
    button('mini icon bare', icon('copy'), () => copy(text), { 'aria-label': label }),
  );

/**
 * @param {string} name
 * @param {string} title
 * @param {string} text
 * @param {...Children} rest
 */
export const empty = (name, title, text, ...rest) =>
  h('div', 'empty', h('span', 'mark', icon(name)), h('h2', null, title), h('p', null, text), ...rest);

const NOTE_ICONS = { '': 'info', accent: 'info', warn: 'alert', bad: 'alert' };

/**
 * @param {'' | 'accent' | 'warn' | 'bad'} kind
 * @param {...Children} children
 */
export const note = (kind, ...children) =>
  h('div', `note ${kind}`.trim(), icon(NOTE_ICONS[kind]), h('div', 'grow', ...children));

/**
 * Returns the title of a view, with its buttons.
 * @param {string} title
 * @param {{ readonly text?: string, readonly back?: readonly [href: string, label: string],
 *   readonly actions?: Children, readonly beside?: Children }} [more]
 */
export const pageHead = (title, { text, back, actions, beside } = {}) =>
  h(
    'div',
    'head',
    back && h('a', { class: 'btn icon bare', href: back[0], 'aria-label': back[1] }, icon('left')),
    h('h1', { dir: 'auto' }, title),
    beside,
    actions && h('div', 'row push', actions),
    text && h('p', null, text),
  );

/**
 * Returns a card with a table, whose last column has the actions.
 * @param {string} name
 * @param {string} id of its body
 * @param {readonly (string | readonly [name: string, kind: string])[]} heads
 * @param {Children} rows
 */
export const tableCard = (name, id, heads, rows) =>
  h(
    'section',
    'card',
    h(
      'table',
      'table cards',
      h('caption', 'unseen', name),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          heads.map((head) => {
            const [text, kind] = typeof head === 'string' ? [head] : head;
            return h('th', { scope: 'col', class: kind }, text);
          }),
          h('th', { scope: 'col' }, h('span', 'unseen', 'Actions')),
        ),
      ),
      h('tbody', { id }, rows),
    ),
  );

/** @param {string} name */
function initialsOf(name) {
  const letters = name
    .split(/\s+/)
    .map((word) => [...word].find((letter) => /\p{L}/u.test(letter)))
    .filter((letter) => letter !== undefined);
  return letters.length === 0 ? name.slice(-2) : letters.slice(0, 2).join('').toUpperCase();
}

/**
 * Returns a circle with initials. Its colour follows `id`, so that it stays the same when the name changes.
 * @param {string} name
 * @param {string} id
 * @param {'' | 's' | 'xl'} [size]
 */
export const avatar = (name, id, size = '', hue = hueOf(id)) =>
  h('span', { class: `avatar ${size}`.trim(), 'data-hue': hue, 'aria-hidden': 'true' }, initialsOf(name));
