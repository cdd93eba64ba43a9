// A field that suggests people and groups while the user types.

import { signal } from '@preact/signals';
import type { InputHTMLAttributes, RefObject, TargetedKeyboardEvent, VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import {
  conversationOf,
  type Entry,
  type Face,
  hasWords,
  isAddress,
  peopleIn,
  suggestions,
} from '../service/directory.ts';
import { Faces } from './avatar.tsx';
import { isComposing } from './composing.ts';
import { useUniqueId } from './unique-id.ts';

const WAIT_MS = 150;
const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/**
 * The suggestions for the text of a field. The first one is selected while a name is being typed; another one that
 * somebody selects stays selected when others arrive.
 */
class Suggestions {
  readonly found = signal<readonly Entry[]>([]);
  /** Place of the selected entry; -1 if none is. */
  readonly at = signal(-1);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isChosen = false;
  /** True while the suggestions for the last letters are to come. */
  #isLate = false;
  /** Counts the searches, because an earlier one may be answered later. */
  #turn = 0;

  get selected(): Entry | undefined {
    return this.found.value[this.at.value];
  }

  close(): void {
    this.#turn += 1;
    clearTimeout(this.#timer);
    this.#isLate = false;
    this.#show([], '');
  }

  step(by: number): void {
    const { length } = this.found.value;
    // Before the first step there may be no selected entry.
    this.at.value = (Math.max(this.at.value, by < 0 ? 0 : -1) + by + length) % length;
    this.#isChosen = true;
  }

  async search(field: HTMLInputElement): Promise<void> {
    this.#turn += 1;
    const own = this.#turn;
    const all = await suggestions(field.value.trim());
    if (own !== this.#turn || document.activeElement !== field) return;
    this.#isLate = false;
    this.#show(all, field.value);
  }

  /** Returns the selected entry once the suggestions for all letters are there. */
  async awaited(field: HTMLInputElement): Promise<Entry | undefined> {
    if (this.#isLate) {
      clearTimeout(this.#timer);
      await this.search(field);
    }
    return this.selected;
  }

  /** Reports whether Enter takes a suggestion, perhaps one that is still to come. */
  canTake(field: HTMLInputElement): boolean {
    return this.selected !== undefined || (this.#isLate && isName(field.value));
  }

  typed(field: HTMLInputElement): void {
    clearTimeout(this.#timer);
    // Without this, Enter could choose a suggestion that no longer matches, until the new ones arrive.
    this.#isChosen = false;
    this.#isLate = true;
    this.#show(
      this.found.value.filter((entry) => hasWords(entry, field.value)),
      field.value,
    );
    this.#timer = setTimeout(() => void this.search(field), WAIT_MS);
  }

  #show(all: readonly Entry[], text: string): void {
    const selected = this.selected?.id;
    const chosen = this.#isChosen ? all.findIndex(({ id }) => id === selected) : -1;
    this.found.value = all;
    this.#isChosen = chosen >= 0;
    this.at.value = chosen < 0 && all.length > 0 && isName(text) ? 0 : chosen;
  }
}

/** Reports whether a text is a name or its beginning: what is typed as an address is meant as it is. */
const isName = (text: string): boolean => text.trim() !== '' && !isAddress(text.trim()) && text !== '+';

type Attributes =
  | 'class'
  | 'id'
  | 'placeholder'
  | 'spellcheck'
  | 'aria-label'
  | 'aria-describedby'
  | 'aria-invalid'
  | 'onInvalid'
  | 'value'
  | 'onInput';

interface Props extends Pick<InputHTMLAttributes<HTMLInputElement>, Attributes> {
  /** Called with the chosen person or group. */
  readonly choose: (entry: Entry) => void;
  readonly field: RefObject<HTMLInputElement | null>;
  /** Called for a key that the suggestions do not use. */
  readonly pressed?: (event: TargetedKeyboardEvent<HTMLInputElement>) => void;
  /** Called when the field has lost the focus. */
  readonly left?: () => void;
}

/** A field with a list of suggestions below it. */
export function SuggestField({ choose, field, pressed, left, ...props }: Props): VNode {
  const id = useUniqueId();
  const [shown] = useState(() => new Suggestions());
  // The error below the field would be under the list, which opens with the focus.
  const isRefused = useRef(false);
  const isOpen = shown.found.value.length > 0;
  const take = (entry: Entry): void => {
    shown.close();
    choose(entry);
  };
  const keyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (isComposing(event)) return;
    const step = STEPS[event.key];
    const { currentTarget: input } = event;
    if (isOpen && step !== undefined) shown.step(step);
    else if (event.key === 'Enter' && shown.canTake(input)) {
      void shown.awaited(input).then((entry) => {
        if (entry !== undefined) take(entry);
      });
    } else if (isOpen && event.key === 'Escape') shown.close();
    else {
      pressed?.(event);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <input
        {...props}
        ref={field}
        role="combobox"
        aria-autocomplete="list"
        aria-controls={id}
        aria-expanded={isOpen}
        aria-activedescendant={shown.at.value < 0 ? undefined : `${id}-${shown.at.value}`}
        autocomplete="off"
        onInput={(event) => {
          shown.typed(event.currentTarget);
          props.onInput?.(event);
        }}
        onInvalid={(event) => {
          isRefused.current = true;
          props.onInvalid?.(event);
          isRefused.current = false;
        }}
        onFocus={({ currentTarget }) => {
          if (currentTarget.value === '' && !isRefused.current) void shown.search(currentTarget);
        }}
        onBlur={() => {
          shown.close();
          left?.();
        }}
        onKeyDown={keyDown}
      />
      <List id={id} found={shown.found.value} at={shown.at.value} take={take} />
    </>
  );
}

function facesOf(entry: Entry): readonly Face[] {
  const group = entry.isGroup ? conversationOf(entry.id) : undefined;
  return group === undefined ? [entry] : peopleIn(group);
}

interface ListProps {
  readonly id: string;
  readonly found: readonly Entry[];
  readonly at: number;
  readonly take: (entry: Entry) => void;
}

const List = ({ id, found, at, take }: ListProps): VNode => (
  <ul
    class="suggest"
    id={id}
    role="listbox"
    aria-label="People and groups"
    hidden={found.length === 0}
    // Without this, Tab stops at a list that scrolls, which then disappears with the focus.
    tabIndex={-1}
    // Keeps the focus in the field while the list is scrolled by its bar.
    onMouseDown={(event) => event.preventDefault()}
  >
    {found.map((entry, index) => (
      <li
        key={entry.id}
        role="option"
        id={`${id}-${index}`}
        aria-selected={index === at}
        ref={(item) => {
          if (index === at) item?.scrollIntoView({ block: 'nearest' });
        }}
        onPointerDown={(event) => {
          event.preventDefault();
          take(entry);
        }}
      >
        <Faces people={facesOf(entry)} size="s" />
        <span class="cut" dir="auto">
          {entry.name}
        </span>
        {entry.detail !== entry.name && (
          <span class="quiet small cut detail">
            <bdi>{entry.detail}</bdi>
          </span>
        )}
      </li>
    ))}
  </ul>
);
