// The first two steps of a new key: what it is for, and whose conversations it may use.

import type { VNode } from 'preact';
import { PRESETS, type Preset } from '../../../../client/key-types.ts';
import type { Scope } from '../../../../core/model/key.ts';
import { CheckOptions, type Choices, Field, Fieldset, RadioOptions } from '../../parts/choices.tsx';
import { Button, Note } from '../../parts/parts.tsx';
import type { Draft, DraftProps } from './key-limits.tsx';
import { ListField } from './key-people.tsx';
import { readsWith } from './key-words.ts';

/** The choices for a new key so far. */
export interface NewDraft extends Draft {
  /** Empty if the user chooses each scope. */
  readonly preset: Preset | '';
  readonly name: string;
}

const PURPOSES: Choices<Preset | ''> = [
  [
    'assistant',
    'An assistant',
    'Claude, ChatGPT, Cursor. Reads and writes where you allow it. Every send waits for you.',
  ],
  ['notifier', 'A notifier', 'A script that writes to people you list. It reads nothing.'],
  ['reader', 'A reader', 'A dashboard or archive. It never sends.'],
  ['approver', 'An approver', 'A shortcut on your phone that approves or denies sends. It reads and sends nothing.'],
  ['', 'Something else', 'Choose each right yourself.'],
];

/** Returns the rights with which a key for this purpose begins. */
const rightsFor = (purpose: Preset | ''): Pick<Draft, 'scopes' | 'approval'> =>
  purpose === '' ? { scopes: ['read'], approval: 'always' } : PRESETS[purpose];

const SCOPES: Choices<Scope> = [
  ['read', 'Read', 'Messages, conversations, search.'],
  ['events', 'Events', 'New messages and reactions, as they arrive.'],
  ['send', 'Send', 'Messages to people you list.'],
  ['webhooks', 'Webhooks', 'Events posted to programs on this machine.'],
  ['approve', 'Approve', 'Decide on sends that wait.'],
];

export const PurposeStep = ({ draft, set }: DraftProps<NewDraft>): VNode => (
  <Fieldset title="What is it for?" class="stack loose">
    <div class="pick">
      <RadioOptions
        name="purpose"
        choices={PURPOSES}
        value={draft.preset}
        choose={(preset) => set({ preset, ...rightsFor(preset) })}
      />
    </div>
    <div class="pick two" hidden={draft.preset !== ''}>
      <CheckOptions name="scope" choices={SCOPES} values={draft.scopes} choose={(scopes) => set({ scopes })} />
    </div>
    <Field label="Name" hint="Shown in the audit log and next to what the key sends.">
      <input
        class="input"
        required
        maxLength={64}
        autocomplete="off"
        placeholder="claude-on-my-laptop"
        value={draft.name}
        onInput={({ currentTarget }) => set({ name: currentTarget.value })}
      />
    </Field>
  </Fieldset>
);

export function PeopleStep({ draft: { scopes, read, send }, set }: DraftProps<NewDraft>): VNode {
  const reads = readsWith(scopes);
  const sends = scopes.includes('send');
  return (
    <Fieldset title="Whose conversations?" class="stack loose">
      {reads && (
        <ListField
          label="It may read"
          hint="It sees no other conversations: not in lists, search or events."
          list={read}
          change={(list) => set({ read: list })}
        />
      )}
      {sends && (
        <ListField
          label="It may write to"
          hint="It can write to nobody else."
          list={send}
          change={(list) => set({ send: list })}
        />
      )}
      {reads && sends && (
        <div>
          <Button kind="mini" run={() => set({ send: read })}>
            Use the same list as above
          </Button>
        </div>
      )}
      {reads || sends ? (
        <Note kind="warn">
          <p>With “Everybody”, a message can tell an agent to forward what it reads.</p>
        </Note>
      ) : (
        <Note>
          <p>It neither reads nor sends, so there is nobody to choose.</p>
        </Note>
      )}
    </Fieldset>
  );
}
