// Fields of a webhook's form: its events, in groups or one by one, and its headers.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { WebhookEventType } from '../../../../core/model/webhook.ts';
import { Option } from '../../parts/choices.tsx';
import { Button } from '../../parts/parts.tsx';
import { isCapable } from '../../service/service.ts';

interface Group {
  readonly title: string;
  readonly text: string;
  readonly types: readonly WebhookEventType[];
  /** The capability without which the service has no such events. */
  readonly needs?: string;
}

const GROUPS: readonly Group[] = [
  { title: 'Received', text: 'Somebody wrote.', types: ['message.received'] },
  { title: 'Sent', text: 'You wrote, on any device.', types: ['message.sent'] },
  { title: 'Reactions', text: 'Tapbacks, added and taken back.', types: ['reaction.added', 'reaction.removed'] },
  {
    title: 'Changes',
    text: 'Edited, unsent, delivered, read, deleted.',
    types: ['message.updated', 'message.removed', 'messages.changed'],
    needs: 'changes',
  },
];

interface TypesProps {
  readonly chosen: readonly WebhookEventType[];
  readonly choose: (types: readonly WebhookEventType[]) => void;
}

/** Checkboxes for the groups of event types. They unfold to one checkbox for each type. */
export function TypeChoice({ chosen, choose }: TypesProps): VNode {
  const stored = useRef(chosen).current;
  // A type that the webhook already has is offered too, so that it can be removed.
  const groups = GROUPS.filter(
    ({ needs, types }) => needs === undefined || isCapable(needs) || types.some((type) => stored.includes(type)),
  );
  const all = groups.flatMap(({ types }) => types);
  const set = (types: readonly WebhookEventType[], isOn: boolean): void =>
    choose(all.filter((type) => (types.includes(type) ? isOn : chosen.includes(type))));
  return (
    <div class="stack">
      <div class="pick two">
        {groups.map(({ title, text, types }) => {
          const on = types.filter((type) => chosen.includes(type)).length;
          return (
            <Option
              key={title}
              type="checkbox"
              name="group"
              value={title}
              title={title}
              text={text}
              tip={types.join(', ')}
              checked={on === types.length}
              indeterminate={on > 0 && on < types.length}
              onChange={({ currentTarget }) => set(types, currentTarget.checked)}
            />
          );
        })}
      </div>
      <details>
        <summary class="quiet small">Choose each type</summary>
        <div class="filters">
          {all.map((type) => (
            <label key={type} class="check mono">
              <input
                type="checkbox"
                name="event"
                value={type}
                checked={chosen.includes(type)}
                onChange={({ currentTarget }) => set([type], currentTarget.checked)}
              />
              {type}
            </label>
          ))}
        </div>
      </details>
    </div>
  );
}

/** A header of the form; a stored one has a name that cannot be changed, and no value, which is never shown. */
export interface HeaderRow {
  readonly key: number;
  readonly name: string;
  readonly value: string;
  readonly isStored: boolean;
}

export const storedHeaders = (names: readonly string[]): readonly HeaderRow[] =>
  names.map((name, key) => ({ key, name, value: '', isStored: true }));

/** Returns what to change: null removes a header. */
export function changedHeaders(
  rows: readonly HeaderRow[],
  stored: readonly string[],
): Readonly<Record<string, string | null>> {
  const removed = stored.filter((name) => !rows.some((row) => row.isStored && row.name === name));
  return Object.fromEntries([
    ...removed.map((name) => [name, null] as const),
    ...rows.filter(({ value, isStored }) => value !== '' || !isStored).map(({ name, value }) => [name, value] as const),
  ]);
}

interface HeadersProps {
  readonly rows: readonly HeaderRow[];
  readonly change: (rows: readonly HeaderRow[]) => void;
}

/** Fields for additional headers. */
export function HeaderRows({ rows, change }: HeadersProps): VNode {
  const list = useRef<HTMLUListElement>(null);
  /** The row whose field gets the focus when it appears. */
  const added = useSignal(-1);
  const replace = (row: HeaderRow, now: Partial<HeaderRow>): void =>
    change(rows.map((each) => (each === row ? { ...row, ...now } : each)));
  return (
    <div class="stack">
      <ul class="stack" ref={list}>
        {rows.map((row) => (
          <li key={row.key} class="row" data-name={row.isStored ? row.name : ''}>
            <input
              class="input"
              aria-label="Name of the header"
              placeholder="Authorization"
              autocomplete="off"
              value={row.name}
              readOnly={row.isStored}
              ref={(field) => {
                if (field === null || added.peek() !== row.key) return;
                added.value = -1;
                field.focus();
              }}
              onInput={({ currentTarget }) => replace(row, { name: currentTarget.value })}
            />
            <input
              class="input"
              aria-label="Value of the header"
              type="password"
              placeholder={row.isStored ? 'Unchanged' : 'Bearer …'}
              autocomplete="off"
              value={row.value}
              onInput={({ currentTarget }) => replace(row, { value: currentTarget.value })}
            />
            <Button
              run={() => {
                change(rows.filter((each) => each !== row));
                list.current?.parentElement?.querySelector<HTMLElement>(':scope > div button')?.focus();
              }}
            >
              Remove
            </Button>
          </li>
        ))}
      </ul>
      <div>
        <Button
          run={() => {
            added.value = Math.max(0, ...rows.map(({ key }) => key + 1));
            change([...rows, { key: added.value, name: '', value: '', isStored: false }]);
          }}
        >
          Add a header
        </Button>
      </div>
    </div>
  );
}
