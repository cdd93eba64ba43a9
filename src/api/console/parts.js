// Components that every view uses.

import { element, fill, h, icon, newId, svg } from './dom.js';
import { reasonOf } from './words.js';

/** @import { Children } from './dom.js' */

const HUES = 6;
const TOAST_MS = 4000;

/** @param {string} id */
const hueOf = (id) => [...id].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973, 0) % HUES;

/** @param {string} name */
function initialsOf(name) {
  const letters = name
    .split(/\s+/)
    .map((word) => [...word].find((letter) => /\p{L}/u.test(letter)))
    .filter((letter) => letter !== undefined);
  return letters.length === 0 ? name.slice(-2) : letters.slice(0, 2).join('').toUpperCase();
}

/**
 * A circle with initials. The colour follows `id`, so that it stays when the name changes.
 * @param {string} name
 * @param {string} id
 * @param {'' | 's' | 'xl'} [size]
 */
export const avatar = (name, id, size = '') =>
  h('span', { class: `avatar ${size}`.trim(), 'data-hue': hueOf(id), 'aria-hidden': 'true' }, initialsOf(name));

/**
 * @param {readonly { readonly name: string, readonly id: string }[]} people
 * @param {'' | 's' | 'xl'} [size]
 */
export function face(people, size = '') {
  const [first, second] = people;
  if (first === undefined || second === undefined) return avatar(first?.name ?? '?', first?.id ?? '', size);
  return h('span', `pair ${size}`.trim(), avatar(first.name, first.id), avatar(second.name, second.id));
}

/**
 * A dot and a word.
 * @param {'good' | 'warn' | 'bad' | 'off'} kind
 * @param {string} text
 */
export const stateMark = (kind, text) => h('span', `state ${kind}`, h('span', `dot ${kind}`), text);

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
 * A button with an icon alone.
 * @param {string} name
 * @param {string} label
 * @param {(event: Event) => unknown} run
 * @param {string} [kind]
 */
export const iconButton = (name, label, run, kind = 'bare') =>
  button(`icon ${kind}`, icon(name), run, { 'aria-label': label, title: label });

/**
 * Runs something a button started: it is busy meanwhile, and a refusal becomes a toast.
 * @param {HTMLButtonElement} control
 * @param {() => Promise<unknown>} run
 */
export async function busily(control, run) {
  if (control.getAttribute('aria-busy') === 'true') return;
  control.setAttribute('aria-busy', 'true');
  try {
    await run();
  } catch (error) {
    toast(reasonOf(error), true);
  } finally {
    control.removeAttribute('aria-busy');
  }
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let toastTimer;

/**
 * Says what came of an action.
 * @param {string} text
 * @param {boolean} [isBad] It then stays until the next one.
 */
export function toast(text, isBad = false) {
  clearTimeout(toastTimer);
  const line = element('toast');
  line.className = isBad ? 'toast bad' : 'toast';
  line.textContent = text;
  toastTimer = setTimeout(() => fill(line), isBad ? 3 * TOAST_MS : TOAST_MS);
}

/** @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    toast('The browser does not allow copying here.', true);
  }
}

/**
 * A line or lines to copy.
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
 * A choice of two to five.
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
 * A filter with a count.
 * @param {Children} content
 * @param {boolean} isOn
 * @param {(isOn: boolean) => void} toggled
 */
export function chip(content, isOn, toggled) {
  /** @type {HTMLButtonElement} */
  const made = h(
    'button',
    {
      type: 'button',
      class: 'chip',
      'aria-pressed': String(isOn),
      onclick: () => {
        const next = made.getAttribute('aria-pressed') !== 'true';
        made.setAttribute('aria-pressed', String(next));
        toggled(next);
      },
    },
    content,
  );
  return made;
}

/**
 * @param {string} label
 * @param {(text: string) => void} typed
 * @param {string} [value]
 */
export const searchBox = (label, typed, value = '') =>
  h(
    'div',
    'searchbox',
    icon('search'),
    h('input', {
      class: 'input',
      type: 'search',
      'aria-label': label,
      placeholder: label,
      autocomplete: 'off',
      spellcheck: 'false',
      value,
      oninput: (/** @type {Event} */ { currentTarget }) =>
        typed(/** @type {HTMLInputElement} */ (currentTarget).value.trim()),
    }),
  );

/**
 * A label, a control, and a hint below it.
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
 * A radio button or check box with one line of consequence.
 * @param {{ readonly type: 'radio' | 'checkbox', readonly name: string, readonly value: string,
 *   readonly title: string, readonly text: string, readonly checked?: boolean, readonly onchange?: () => void }} choice
 */
export const option = ({ title, text, ...props }) =>
  h('label', 'option', h('input', props), h('b', null, title), h('small', null, text));

/**
 * The menu of a row.
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
 * A dialog that names what it is about. Resolves with true for the action.
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

const RING = 2 * Math.PI * 8;
const SOON_S = 3600;

/**
 * A ring and the time left; amber in the last hour.
 * @param {string} from
 * @param {string} until
 */
export function countdown(from, until) {
  const end = Date.parse(until);
  const leftS = (end - Date.now()) / 1000;
  const share = Math.max(0, Math.min(1, (end - Date.now()) / (end - Date.parse(from) || 1)));
  const circle = { cx: 10, cy: 10, r: 8 };
  const text =
    leftS <= 0
      ? 'over'
      : leftS < 60
        ? 'less than a minute left'
        : leftS < SOON_S
          ? `${Math.floor(leftS / 60)} min left`
          : `${Math.floor(leftS / 3600)} h left`;
  return h(
    'span',
    `left small ${leftS < SOON_S ? 'soon' : 'quiet'}`,
    svg(
      'svg',
      { viewBox: '0 0 20 20', 'aria-hidden': 'true' },
      svg('circle', circle),
      svg('circle', { ...circle, 'stroke-dasharray': `${(RING * share).toFixed(1)} ${RING.toFixed(1)}` }),
    ),
    text,
  );
}

/**
 * An event as JSON, coloured.
 * @param {unknown} value
 */
export function jsonView(value) {
  const text = JSON.stringify(value, undefined, 2);
  const pre = h('pre', 'json');
  let end = 0;
  for (const { 0: found, 1: key, 2: string, 3: figure, index } of text.matchAll(
    /("(?:[^"\\]|\\.)*")(?=\s*:)|("(?:[^"\\]|\\.)*")|(-?\d[\d.eE+-]*)|true|false|null/g,
  )) {
    const kind = key !== undefined ? 'k' : string !== undefined ? 's' : figure !== undefined ? 'n' : 'z';
    pre.append(text.slice(end, index), h('span', kind, found));
    end = index + found.length;
  }
  pre.append(text.slice(end));
  return h(
    'div',
    'code',
    pre,
    button('mini icon bare', icon('copy'), () => copy(text), { 'aria-label': 'Copy JSON' }),
  );
}

/**
 * The title of a view, with its buttons.
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
