// The box for searching or jumping to people, groups, views and actions by name.

import { signal } from '@preact/signals';
import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { typeAhead } from '../parts/catch-letters.ts';
import { isComposing } from '../parts/composing.ts';
import { Icon } from '../parts/parts.tsx';
import { Quoting } from '../parts/quoting.tsx';
import { opened } from '../parts/view.tsx';
import { type Entry, hasWords, suggestions } from '../service/directory.ts';
import { type NavigationItem, navigationItems } from '../service/navigation.ts';
import { consoleOf, placeName, WAY_BACK } from '../service/place.ts';
import { hasLetters, keepPreference, schemeNow } from '../service/preferences.ts';
import { goTo, pathOfConversation } from '../service/route.ts';
import { macs, may, mayOwn, serves } from '../service/service.ts';
import { GO, Keys, showShortcuts } from './shortcuts.tsx';

type Group = 'Conversations' | 'Views' | 'Macs' | 'Actions';

interface Choice {
  readonly group: Group;
  readonly icon: string;
  readonly text: string;
  readonly detail: string;
  /** The shortcut, which is shown in place of the detail. */
  readonly keys?: string;
  readonly run: () => unknown;
}

const WAIT_MS = 120;

const linkTo = (icon: string, text: string, detail: string, hash: string): Choice => ({
  group: 'Actions',
  icon,
  text,
  detail,
  run: () => goTo(hash),
});

function viewChoice({ view, icon, text }: Omit<NavigationItem, 'isHere'>): Choice {
  const [letter] = Object.entries(GO).find(([, name]) => name === view) ?? [];
  return {
    ...linkTo(icon, text, '', `#/${view}`),
    group: 'Views',
    ...(letter !== undefined && hasLetters() && { keys: `g ${letter}` }),
  };
}

/** Returns an action that leaves this page for another console. */
const leadTo = (address: string) => (): void => location.assign(address);

const macChoice = (icon: string, text: string, address: string): Choice => ({
  group: 'Macs',
  icon,
  text,
  detail: '',
  run: leadTo(address),
});

function actions(): readonly Choice[] {
  const isDark =
    schemeNow() === 'dark' || (schemeNow() === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return [
    ...[...navigationItems(), { view: 'settings', icon: 'gear', text: 'Settings' }].map(viewChoice),
    ...macs().map(({ id }) => macChoice('mac', id, consoleOf(id))),
    ...(placeName === undefined ? [] : [macChoice('left', 'All Macs', WAY_BACK)]),
    ...(may('send')
      ? [{ ...linkTo('pen', 'New message', 'Messages', '#/messages?new'), ...(hasLetters() && { keys: 'n' }) }]
      : []),
    ...(may('webhooks') ? [linkTo('plus', 'Add a webhook', 'Webhooks', '#/webhooks/new')] : []),
    ...(mayOwn('addKey') ? [linkTo('plus', 'Create a key', 'Keys', '#/keys/new')] : []),
    {
      group: 'Actions',
      icon: 'sun',
      text: isDark ? 'Switch to light' : 'Switch to dark',
      detail: 'Theme',
      run: () => keepPreference('scheme', isDark ? 'light' : 'dark', 'auto'),
    },
    { group: 'Actions', icon: 'info', text: 'Keyboard shortcuts', detail: '', keys: '?', run: showShortcuts },
  ];
}

/** Returns these people and groups, and the actions and the search that fit what was typed. */
function choicesFor(typed: string, people: readonly Entry[]): readonly Choice[] {
  const words = typed.toLowerCase();
  const matching = actions().filter(({ text, detail, group }) =>
    `${text} ${detail} ${group}`.toLowerCase().includes(words),
  );
  if (!may('read') || words === '') return matching;
  const search: Choice = {
    group: 'Actions',
    icon: 'search',
    text: `Search messages for “${typed}”`,
    detail: '',
    run: () => searchFor(typed),
  };
  return [...people.map(choiceOf), ...matching, ...(serves('searchMessages') ? [search] : [])];
}

function choiceOf({ id, name, detail, isGroup, conversation = `any;-;${id}`, mac }: Entry): Choice {
  const choice = { group: 'Conversations' as const, icon: isGroup ? 'people' : 'chat', text: name };
  if (mac === undefined) return { ...choice, detail, run: () => writeIn(conversation) };
  return { ...choice, detail: `${mac} · ${detail}`, run: leadTo(consoleOf(mac, pathOfConversation(conversation))) };
}

const keyOf = ({ text, detail }: Choice): string => `${text} ${detail}`;

/** The choices for what is typed: at once those that the page knows, then all people and groups. */
class Choosing {
  readonly found = signal(choicesFor('', []));
  /** Place of the selected choice. */
  readonly at = signal(0);
  #text = '';
  #people: readonly Entry[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The answer for the text, once it was asked for: whether nothing else was typed meanwhile. */
  #answer: Promise<boolean> | undefined;
  /** Key of the choice that somebody moved to. */
  #chosen: string | undefined;

  constructor(text: string) {
    if (text !== '') this.typed(text);
  }

  typed(text: string): void {
    clearTimeout(this.#timer);
    this.#text = text.trim();
    this.#answer = undefined;
    this.#chosen = undefined;
    this.#show(this.#people.filter((entry) => this.#text !== '' && hasWords(entry, text)));
    this.#timer = setTimeout(() => void this.#answered(), WAIT_MS);
  }

  step(by: number): void {
    const { length } = this.found.value;
    if (length === 0) return;
    this.at.value = (this.at.value + by + length) % length;
    const selected = this.found.value[this.at.value];
    this.#chosen = selected && keyOf(selected);
  }

  /** Returns the selected choice once those for all letters are there; undefined if other letters came meanwhile. */
  async awaited(): Promise<Choice | undefined> {
    return (await this.#answered()) ? this.found.value[this.at.value] : undefined;
  }

  #answered(): Promise<boolean> {
    this.#answer ??= this.#ask(this.#text);
    return this.#answer;
  }

  async #ask(text: string): Promise<boolean> {
    const people = may('read') && text !== '' ? await suggestions(text.toLowerCase()) : [];
    if (text !== this.#text) return false;
    this.#show(people);
    return true;
  }

  #show(people: readonly Entry[]): void {
    this.#people = people;
    this.found.value = choicesFor(this.#text, people);
    this.at.value = Math.max(
      0,
      this.found.value.findIndex((choice) => keyOf(choice) === this.#chosen),
    );
  }
}

/** `typed` is what somebody has typed already. */
export function openPalette(typed: string): void {
  const dialog = opened(<Palette typed={typed} take={take} />);
  dialog.querySelector('input')?.setSelectionRange(typed.length, typed.length);
  function take(choice: Choice | undefined): void {
    if (choice === undefined || !dialog.open) return;
    dialog.close();
    void choice.run();
  }
}

interface PaletteProps {
  readonly typed: string;
  readonly take: (choice: Choice | undefined) => void;
}

function Palette({ typed, take }: PaletteProps): VNode {
  const [choosing] = useState(() => new Choosing(typed));
  const { found, at } = choosing;
  const pressed = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (isComposing(event)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) choosing.step(step);
    else if (event.key === 'Enter') void choosing.awaited().then(take);
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
          defaultValue={typed}
          onInput={({ currentTarget: { value } }) => choosing.typed(value)}
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
  <div id="choices" role="listbox" aria-label="Results">
    {[...new Set(found.map(({ group }) => group))].map((name) => (
      <div key={name} role="group" aria-label={name}>
        <div class="caption" aria-hidden="true">
          {name}
        </div>
        {found.map((choice, index) =>
          choice.group === name ? (
            <Option
              key={keyOf(choice)}
              choice={choice}
              id={`choice-${index}`}
              isSelected={index === at}
              take={() => take(choice)}
            />
          ) : null,
        )}
      </div>
    ))}
  </div>
);

interface OptionProps {
  readonly choice: Choice;
  readonly id: string;
  readonly isSelected: boolean;
  readonly take: () => void;
}

const Option = ({ choice: { icon, text, keys, detail }, id, isSelected, take }: OptionProps): VNode => (
  <li
    role="option"
    id={id}
    aria-selected={isSelected}
    ref={(item) => {
      if (isSelected) item?.scrollIntoView({ block: 'nearest' });
    }}
    onClick={take}
  >
    <Icon name={icon} />
    <span class="cut" dir="auto">
      <Quoting text={text} />
    </span>
    {keys !== undefined && <Keys keys={keys} />}
    {keys === undefined && detail !== text && (
      <span class="quiet small cut detail">
        <bdi>{detail}</bdi>
      </span>
    )}
  </li>
);

async function writeIn(conversation: string): Promise<void> {
  typeAhead();
  const messages = await import('../views/messages/messages.tsx');
  messages.writeIn(conversation);
}

async function searchFor(words: string): Promise<void> {
  typeAhead();
  goTo('#/messages');
  const messages = await import('../views/messages/messages.tsx');
  messages.searchFor(words);
}
