// Parts that float above a view: the menu of a row, and the box that asks for confirmation before an action.

import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { moveFocus, stepOf } from './choices.tsx';
import { Button, Icon } from './parts.tsx';
import { reported } from './toast.ts';
import { useUniqueId } from './unique-id.ts';
import { opened } from './view.tsx';

/** An item of a menu, or a line between two. */
export type MenuItem =
  | { readonly icon: string; readonly text: string; readonly run: () => unknown; readonly isBad?: boolean }
  | '-';

/** Opens the menu below its button, or above if there is no room. */
function place(list: HTMLElement, opener: Element): void {
  const { bottom, top, right } = opener.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  list.style.top = `${bottom + height + 8 > innerHeight ? Math.max(8, top - height - 4) : bottom + 4}px`;
  list.style.left = `${Math.max(8, Math.min(right - width, innerWidth - width - 8))}px`;
}

interface ItemsProps {
  readonly items: readonly MenuItem[];
  readonly close: () => void;
}

const MenuItems = ({ items, close }: ItemsProps): VNode => (
  <>
    {items.map((item) =>
      item === '-' ? (
        <hr key="-" />
      ) : (
        <button
          key={item.text}
          type="button"
          role="menuitem"
          class={item.isBad ? 'bad' : undefined}
          onClick={() => {
            close();
            void reported(item.run);
          }}
        >
          <Icon name={item.icon} />
          {item.text}
        </button>
      ),
    )}
  </>
);

interface MenuProps {
  readonly label: string;
  readonly icon?: string;
  readonly items: readonly MenuItem[];
}

/** A button, by default with three dots, and its menu. */
export function Menu({ label, icon = 'dots', items }: MenuProps): VNode {
  const id = useUniqueId();
  const isOpen = useSignal(false);
  const list = useRef<HTMLDivElement>(null);
  const toggled = ({ newState }: Pick<ToggleEvent, 'newState'>): void => {
    isOpen.value = newState === 'open';
    const opener = list.current?.previousElementSibling;
    if (!isOpen.value || list.current === null || !opener) return;
    place(list.current, opener);
    list.current.querySelector('button')?.focus();
  };
  return (
    <span class="menu">
      <button
        type="button"
        class="btn mini icon bare"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        popovertarget={id}
      >
        <Icon name={icon} />
      </button>
      <div
        class="pop"
        id={id}
        ref={list}
        popover="auto"
        role="menu"
        aria-label={label}
        onToggle={toggled}
        onKeyDown={(event) => {
          const step = /^Arrow(?:Up|Down)$/.test(event.key) ? stepOf(event.key) : undefined;
          if (step === undefined) return;
          event.preventDefault();
          moveFocus([...event.currentTarget.querySelectorAll('button')], step);
        }}
      >
        <MenuItems items={items} close={() => list.current?.hidePopover()} />
      </div>
    </span>
  );
}

interface Question {
  readonly title: string;
  readonly text: ComponentChildren;
  readonly action: string;
  readonly isBad?: boolean;
}

/**
 * Asks the user before an action. Resolves with the values of the fields in `text` if the user chooses the action;
 * undefined if not.
 */
export function confirmed({ title, text, action, isBad = true }: Question): Promise<FormData | undefined> {
  let given: FormData | undefined;
  const dialog = opened(
    <dialog aria-labelledby="question">
      <form
        class="in"
        method="dialog"
        onSubmit={({ currentTarget }) => {
          given = new FormData(currentTarget);
        }}
      >
        <h2 id="question">{title}</h2>
        <p class="soft">{text}</p>
        <div class="acts">
          <button type="submit" class={`btn ${isBad ? 'bad' : 'first'}`}>
            {action}
          </button>
          {/* The focus begins here: Enter must not run an action that cannot be undone. */}
          <Button autofocus run={() => dialog.close()}>
            Cancel
          </Button>
        </div>
      </form>
    </dialog>,
  );
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(given));
  });
}
