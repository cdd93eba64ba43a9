// A field to which the user adds people and groups.

import type { TargetedKeyboardEvent, VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { Entry } from '../service/directory.ts';
import { SuggestField } from './suggest.tsx';

interface PeopleFieldProps {
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly change: (entries: readonly Entry[]) => void;
}

export function PeopleField({ label, entries, change }: PeopleFieldProps): VNode {
  const field = useRef<HTMLInputElement>(null);
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
        <span key={entry.id} class="token" title={entry.id}>
          <span class="cut" dir="auto">
            {entry.name}
          </span>
          <button
            type="button"
            aria-label={`Remove ${entry.name}`}
            onClick={() => {
              change(entries.filter((one) => one !== entry));
              field.current?.focus();
            }}
          >
            ×
          </button>
        </span>
      ))}
      <SuggestField
        field={field}
        aria-label={label}
        placeholder="Add a name, number or group"
        spellcheck={false}
        choose={add}
        pressed={pressed}
        left={addTyped}
      />
    </div>
  );
}
