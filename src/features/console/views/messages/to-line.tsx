// The line above the messages that takes the recipient of a new message.

import { createRef, type VNode } from 'preact';
import { SuggestField } from '../../parts/suggest.tsx';
import { reported } from '../../parts/toast.ts';
import { Token } from '../../parts/token.tsx';
import { conversationOf, type Entry, isAddress } from '../../service/directory.ts';
import { openState, recipient } from './open-state.ts';
import { thread } from './thread.tsx';

const field = createRef<HTMLInputElement>();

export const focusRecipient = (): void => field.current?.focus();

/** Returns the address or id of the recipient; empty if there is none yet. */
export const chosenRecipient = (): string => recipient.value?.id ?? field.current?.value.trim() ?? '';

/** Chooses the recipient, and shows the messages with them. */
function choose(entry: Entry): void {
  recipient.value = entry;
  if (field.current !== null) field.current.value = '';
  if (entry.conversation === undefined) thread.close();
  else void reported(() => thread.open(entry.conversation ?? ''));
}

function chooseTyped(): void {
  const id = field.current?.value.trim() ?? '';
  if (!isAddress(id)) return;
  const conversation = conversationOf(`any;-;${id}`)?.id;
  choose({ id, name: id, detail: id, isGroup: false, ...(conversation !== undefined && { conversation }) });
}

/** `done` is called once somebody is chosen. */
export function ToLine({ done }: { readonly done: () => void }): VNode {
  const entry = recipient.value;
  return (
    <div class="to-line" hidden={!openState.value.isNew}>
      <label for="recipient" class="quiet">
        To
      </label>
      <div class="grow to-field" hidden={entry !== undefined}>
        <SuggestField
          id="recipient"
          class="input"
          aria-label="To"
          placeholder="A name, number or group"
          spellcheck={false}
          field={field}
          choose={(one) => {
            choose(one);
            done();
          }}
          pressed={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            chooseTyped();
            if (recipient.value !== undefined) done();
          }}
          left={chooseTyped}
        />
      </div>
      {entry && (
        <Token
          name={entry.name}
          title={entry.id}
          remove={() => {
            recipient.value = undefined;
            thread.close();
            setTimeout(focusRecipient);
          }}
        >
          {entry.detail !== entry.name && <bdi class="quiet small cut">{entry.detail}</bdi>}
        </Token>
      )}
    </div>
  );
}
