// The box for searching or jumping to people, groups, views and actions by name; and the keyboard shortcuts.

import { useSignal } from '@preact/signals';
import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from '../parts/parts.tsx';
import { copy } from '../parts/toast.ts';
import { opened } from '../parts/view.tsx';
import { type Entry, suggestions } from '../service/directory.ts';
import { navigationItems } from '../service/navigation.ts';
import { consoleOf, placeName, WAY_BACK } from '../service/place.ts';
import { keepPreference, MODIFIER, schemeNow } from '../service/preferences.ts';
import { currentRoute, goTo, pathOfConversation } from '../service/route.ts';
import { macs, may, mayOwn, serves } from '../service/service.ts';
import { focusFind } from '../views/merged/merged.tsx';

interface Choice {
  readonly icon: string;
  readonly text: string;
  readonly detail: string;
  readonly run: () => unknown;
}

const WAIT_MS = 120;
/** How long `g` waits for the letter of a view, in milliseconds. */
const GO_MS = 1500;
const GO: Readonly<Record<string, string>> = {
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

const linkTo = (icon: string, text: string, detail: string, hash: string): Choice => ({
  icon,
  text,
  detail,
  run: () => goTo(hash),
});

/** Returns an action that leaves this page for another console. */
const leadTo = (address: string) => (): void => location.assign(address);

function actions(): readonly Choice[] {
  const isDark =
    schemeNow() === 'dark' || (schemeNow() === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return [
    ...navigationItems().map(({ view, icon, text }) => linkTo(icon, text, 'View', `#/${view}`)),
    linkTo('gear', 'Settings', 'View', '#/settings'),
    ...macs().map(({ id }) => ({ icon: 'mac', text: id, detail: 'Mac', run: leadTo(consoleOf(id)) })),
    ...(placeName === undefined ? [] : [{ icon: 'left', text: 'All Macs', detail: '', run: leadTo(WAY_BACK) }]),
    ...(may('send') ? [linkTo('pen', 'New message', 'Messages', '#/messages?new')] : []),
    ...(may('webhooks') ? [linkTo('plus', 'Add a webhook', 'Webhooks', '#/webhooks/new')] : []),
    ...(mayOwn('addKey') ? [linkTo('plus', 'Create a key', 'Keys', '#/keys/new')] : []),
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

/** Returns the people and groups, the actions, and the search that fit what was typed. */
async function choicesFor(typed: string): Promise<readonly Choice[]> {
  const words = typed.toLowerCase();
  const matching = actions().filter(({ text, detail }) => `${text} ${detail}`.toLowerCase().includes(words));
  if (!may('read') || words === '') return matching;
  const search = {
    icon: 'search',
    text: `Search messages for “${typed}”`,
    detail: '',
    run: () => searchFor(typed),
  };
  return [...(await suggestions(words)).map(choiceOf), ...matching, ...(serves('searchMessages') ? [search] : [])];
}

function choiceOf({ id, name, detail, isGroup, conversation = `any;-;${id}`, mac }: Entry): Choice {
  const hash = pathOfConversation(conversation);
  const choice = linkTo(isGroup ? 'people' : 'chat', name, detail, hash);
  return mac === undefined ? choice : { ...choice, detail: `${mac} · ${detail}`, run: leadTo(consoleOf(mac, hash)) };
}

export function openPalette(): void {
  const dialog = opened(<Palette take={take} />);
  function take(choice: Choice | undefined): void {
    if (choice === undefined) return;
    dialog.close();
    void choice.run();
  }
}

function Palette({ take }: { readonly take: (choice: Choice | undefined) => void }): VNode {
  const found = useSignal<readonly Choice[]>([]);
  const at = useSignal(0);
  const asked = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const show = async (typed: string): Promise<void> => {
    asked.current += 1;
    const own = asked.current;
    const choices = await choicesFor(typed.trim());
    if (own !== asked.current) return;
    found.value = choices;
    at.value = 0;
  };
  useLayoutEffect(() => void show(''), []);
  const pressed = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const { length } = found.value;
    if (step !== undefined && length > 0) at.value = (at.value + step + length) % length;
    else if (event.key === 'Enter') take(found.value[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      class="palette"
      aria-label="Search or jump"
      onClick={({ target, currentTarget }) => target === currentTarget && currentTarget.close()}
    >
      <div class="searchbox">
        <Icon name="search" />
        <input
          class="input"
          role="combobox"
          aria-expanded
          aria-controls="choices"
          aria-autocomplete="list"
          aria-activedescendant={`choice-${at.value}`}
          aria-label="Search or jump to"
          placeholder="A person, group, view or action"
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget: { value } }) => {
            clearTimeout(timer.current);
            timer.current = setTimeout(() => void show(value), WAIT_MS);
          }}
          onKeyDown={pressed}
        />
      </div>
      <Choices found={found.value} at={at.value} take={take} />
    </dialog>
  );
}

interface ChoicesProps {
  readonly found: readonly Choice[];
  readonly at: number;
  readonly take: (choice: Choice) => void;
}

const Choices = ({ found, at, take }: ChoicesProps): VNode => (
  <ul id="choices" role="listbox" aria-label="Results">
    {found.map((choice, index) => (
      <li
        key={`${choice.text} ${choice.detail}`}
        role="option"
        id={`choice-${index}`}
        aria-selected={index === at}
        ref={(item) => {
          if (index === at) item?.scrollIntoView({ block: 'nearest' });
        }}
        onClick={() => take(choice)}
      >
        <Icon name={choice.icon} />
        <span class="cut grow" dir="auto">
          {choice.text}
        </span>
        {choice.detail !== choice.text && <bdi class="quiet small cut">{choice.detail}</bdi>}
      </li>
    ))}
  </ul>
);

async function searchFor(words: string): Promise<void> {
  goTo('#/messages');
  const messages = await import('../views/messages/messages.tsx');
  messages.searchFor(words);
}

export async function takeShortcut(key: string): Promise<void> {
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
    if (!serves('listMessages')) {
      setTimeout(focusFind);
      return;
    }
    const { focusSearch } = await import('../views/messages/messages.tsx');
    // The `hashchange` event shows the messages view, but only in a later turn of the event loop. The search box cannot
    // take the focus before that.
    setTimeout(focusSearch);
  }
}

const SHORTCUTS: readonly (readonly [keys: string, text: string])[] = [
  [`${MODIFIER}K`, 'Search or jump'],
  ['/', 'Search'],
  ['n', 'New message'],
  ['g o', 'Overview. Other views: g, then m, e, w, a, k, l or s'],
  ['↑ ↓', 'Move through a list'],
  ['Esc', 'Close what is open, or go back to the list'],
  ['?', 'Show this list'],
];

function showShortcuts(): void {
  const dialog = opened(
    <dialog aria-labelledby="shortcuts-title" id="shortcuts">
      <div class="in">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <dl>
          {SHORTCUTS.map(([keys, text]) => [
            <dt key={keys}>{keys.split(' ').map((key) => [<kbd key={key}>{key}</kbd>, ' '])}</dt>,
            <dd key={text}>{text}</dd>,
          ])}
        </dl>
        <div class="acts">
          <button type="button" class="btn" onClick={() => dialog.close()}>
            Close
          </button>
        </div>
      </div>
    </dialog>,
  );
}
