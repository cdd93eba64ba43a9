// The people of a key's lists as a form field. Everyone and nobody are explicit choices.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { Segments } from '../../parts/choices.tsx';
import { PeopleField } from '../../parts/people-field.tsx';
import { useUniqueId } from '../../parts/unique-id.ts';
import type { Entry } from '../../service/directory.ts';
import { nameOfEntry } from './key-words.ts';

/** `'*'` for everyone, `''` for nobody, or the chosen people. An empty list means that none is chosen yet. */
export type Chosen = '*' | '' | readonly Entry[];

export const entriesOf = (list: '*' | readonly string[]): Chosen => {
  if (list === '*') return list;
  return list.length === 0
    ? ''
    : list.map((id) => ({ id, name: nameOfEntry(id), detail: id, isGroup: id.includes(';+;') }));
};

export const idsOf = (list: Chosen): '*' | readonly string[] =>
  list === '*' ? list : (list || []).map(({ id }) => id);

/** The choices of the field: value and label. */
const WAYS = [
  ['some', 'People'],
  ['all', 'Everybody'],
  ['none', 'Nobody'],
] as const;

interface ListFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly list: Chosen;
  readonly change: (list: Chosen) => void;
}

export function ListField({ label, hint, list, change }: ListFieldProps): VNode {
  const id = useUniqueId();
  /** The people who were chosen before the choice of all or none. */
  const kept = useSignal<readonly Entry[]>([]);
  const isRefused = useSignal(false);
  const way = list === '*' ? 'all' : list === '' ? 'none' : 'some';
  const isMissing = way === 'some' && list.length === 0;
  const problem = isMissing ? 'Add somebody, or choose everybody or nobody.' : '';
  const isWrong = isRefused.value && isMissing;
  const changeTo = (now: Chosen): void => {
    isRefused.value = false;
    change(now);
  };
  return (
    <div class="field">
      <span class="label">{label}</span>
      <Segments
        label={label}
        choices={WAYS}
        value={way}
        choose={(chosen) => {
          if (typeof list !== 'string') kept.value = list;
          changeTo({ all: '*' as const, none: '' as const, some: kept.value }[chosen]);
        }}
      />
      {typeof list !== 'string' && (
        <PeopleField
          label={label}
          entries={list}
          change={changeTo}
          problem={problem}
          refused={() => (isRefused.value = true)}
          aria-invalid={isWrong || undefined}
          aria-describedby={id}
        />
      )}
      <span class={isWrong ? 'err' : 'hint'} id={id}>
        {isWrong ? problem : { some: hint, all: 'Includes people who are new to you.', none: '' }[way]}
      </span>
    </div>
  );
}
