// The list of a key's rights, and a check of them for one person or group.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import type { KeyCheck } from '../../../../client/key-types.ts';
import { Card, Icon, Note } from '../../parts/parts.tsx';
import { NameList } from '../../parts/quoting.tsx';
import { SuggestField } from '../../parts/suggest.tsx';
import { call } from '../../service/api.ts';
import { reasonOf } from '../../service/words.ts';
import { pathOfKey } from './key-actions.tsx';
import { nameOfEntry, type Right } from './key-words.ts';

const MARKS: Readonly<Record<Right['kind'], readonly [icon: string, word: string]>> = {
  yes: ['check', 'Yes: '],
  held: ['hand', 'After approval: '],
  later: ['clock', 'Not yet: '],
  no: ['x', 'No: '],
};

export const RightList = ({ rights }: { readonly rights: readonly Right[] }): VNode => (
  <ul class="can">
    {rights.map(({ kind, text }) => (
      <li key={text} class={kind}>
        <Icon name={MARKS[kind][0]} />
        <span dir="auto">
          <span class="unseen">{MARKS[kind][1]}</span>
          {text}
        </span>
      </li>
    ))}
  </ul>
);

const SENDS: Readonly<Record<KeyCheck['send'], string>> = {
  allowed: 'It may write to them at once.',
  held: 'Its sends to them wait for you.',
  refused: 'It may not write to them.',
};

const Answer = ({ read, send, reason, members }: KeyCheck): VNode => (
  <Note {...(send === 'allowed' && { kind: 'accent' })}>
    <p>
      {`It may ${read ? '' : 'not '}read this conversation. `}
      {SENDS[send]}
      {reason === 'scope_missing' && ' The key may not send at all.'}
    </p>
    {members.length > 1 && (
      <p>
        Read by <NameList names={members.map(nameOfEntry)} />.
      </p>
    )}
  </Note>
);

const WHOM = 'Name, number or group';

/** A card in which the user enters a person or group, to see whether the key may read and write there. */
export function CheckCard({ id }: { readonly id: string }): VNode {
  const field = useRef<HTMLInputElement>(null);
  const answer = useSignal<VNode | null>(null);
  const check = async (to: string): Promise<void> => {
    if (to === '') return;
    try {
      answer.value = <Answer {...(await call<KeyCheck>(`${pathOfKey(id)}/check?to=${encodeURIComponent(to)}`))} />;
    } catch (error) {
      answer.value = (
        <Note kind="bad">
          <p>{reasonOf(error)}</p>
        </Note>
      );
    }
  };
  return (
    <Card title="Check what it may do">
      <form
        class="body stack"
        onSubmit={(event) => {
          event.preventDefault();
          void check(field.current?.value.trim() ?? '');
        }}
      >
        <div class="row">
          <div class="grow to-field">
            <SuggestField
              class="input"
              field={field}
              aria-label={WHOM}
              placeholder={WHOM}
              choose={({ id: to, name }) => {
                if (field.current !== null) field.current.value = name;
                void check(to);
              }}
            />
          </div>
          <button type="submit" class="btn">
            Check
          </button>
        </div>
        <div role="status">{answer.value}</div>
      </form>
    </Card>
  );
}
