// A field to which the user adds people and groups.

import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Entry } from '../service/directory.ts';
import { SuggestField } from './suggest.tsx';
import { Token } from './token.tsx';

interface PeopleFieldProps {
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly change: (entries: readonly Entry[]) => void;
  /** Why a form with these entries cannot be sent; empty if it can. */
  readonly problem?: string;
  /** Called when the form was not sent because of the problem, which the page then has to show. */
  readonly refused?: () => void;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: boolean | undefined;
}

export function PeopleField({ label, entries, change, problem = '', refused, ...props }: PeopleFieldProps): VNode {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.setCustomValidity(problem), [problem]);
  const add = (entry: Entry): void => {
    if (field.current !== null) field.current.value = '';
    if (!entries.some(({ id }) => id === entry.id)) change([...entries, entry]);
  };
  const addTyped = (): void => {
    const text = field.current?.value.trim() ?? '';
    if (text !== '') add({ id: text, name: text, detail: text, isGroup: false });
  };
  const pressed = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const { value } = event.currentTarget;
    if (event.key === 'Enter' && value.trim() !== '') {
      event.preventDefault();
      addTyped();
    } else if (event.key === 'Backspace' && value === '' && entries.length > 0) change(entries.slice(0, -1));
  };
  return (
    <div class="tokens">
      {entries.map((entry) => (
        <Token
          key={entry.id}
          name={entry.name}
          title={entry.id}
          remove={() => {
            change(entries.filter((one) => one !== entry));
            field.current?.focus();
          }}
        />
      ))}
      <SuggestField
        {...props}
        field={field}
        aria-label={label}
        placeholder="Add a name, number or group"
        spellcheck={false}
        choose={add}
        pressed={pressed}
        left={addTyped}
        onInvalid={(event) => {
          event.preventDefault();
          refused?.();
          const { form } = event.currentTarget;
          if (form?.querySelector('input:invalid') === event.currentTarget) event.currentTarget.focus();
        }}
      />
    </div>
  );
}
