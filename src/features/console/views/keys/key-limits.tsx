// The limits of a key as form fields, for a new key and for changing one.

import type { VNode } from 'preact';
import { type ApprovalMode, type Caps, type KeySettings, maxCap } from '../../../../client/key-types.ts';
import { DAY_MS } from '../../../../core/model/durations.ts';
import type { Scope } from '../../../../core/model/key.ts';
import { type Choices, Field, RadioOptions } from '../../parts/choices.tsx';
import { Note } from '../../parts/parts.tsx';
import { type Chosen, idsOf } from './key-people.tsx';
import type { Rights } from './key-words.ts';

/** The choices for a key so far. */
export interface Draft extends Pick<KeySettings, 'approval' | 'caps' | 'dry_run'> {
  readonly scopes: readonly Scope[];
  readonly read: Chosen;
  readonly send: Chosen;
  /** Days until it expires, `never`, or `keep` to leave the time unchanged. */
  readonly days: string;
}

export interface DraftProps<Kind extends Draft = Draft> {
  readonly draft: Kind;
  readonly set: (now: Partial<Kind>) => void;
}

export const rightsIn = ({ read, send, ...rest }: Draft): Rights => ({
  ...rest,
  read: read && idsOf(read),
  send: send && idsOf(send),
});

/** Returns the settings that a request to the API gives to the key. */
export const settingsIn = ({ read, send, approval, caps, dry_run, days }: Draft): object => ({
  read: idsOf(read),
  send: idsOf(send),
  approval,
  caps,
  dry_run,
  ...(days !== 'keep' && {
    expires_at: days === 'never' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
  }),
});

const APPROVALS: Choices<ApprovalMode> = [
  ['always', 'Every send waits for you', 'You see the exact text and decide. Best for agents.'],
  ['new', 'Only first messages wait', 'If you have written to somebody before, sends to them go out at once.'],
  ['never', 'It sends at once', 'Within the limits below.'],
];

const CAPS: readonly (readonly [name: keyof Caps, label: string])[] = [
  ['per_day', 'Sends a day'],
  ['per_minute', 'Sends a minute'],
  ['new_contacts_per_day', 'New people a day'],
];

export const LimitFields = (props: DraftProps): VNode =>
  props.draft.scopes.includes('send') && props.draft.send !== '' ? (
    <SendLimits {...props} />
  ) : (
    <Note>
      <p>It cannot send, so its expiry is the only limit to set.</p>
    </Note>
  );

const SendLimits = ({ draft: { approval, caps, dry_run: isDry }, set }: DraftProps): VNode => (
  <>
    <div class="pick" role="radiogroup" aria-label="Approval">
      <RadioOptions name="approval" choices={APPROVALS} value={approval} choose={(now) => set({ approval: now })} />
    </div>
    <div class="three">
      {CAPS.map(([name, label]) => (
        <Field key={name} label={label} hint={`0 to ${maxCap(name)}`}>
          <input
            class="input"
            type="number"
            min={0}
            max={maxCap(name)}
            step={1}
            required
            defaultValue={String(caps[name])}
            onInput={({ currentTarget }) => set({ caps: { ...caps, [name]: Number(currentTarget.value) } })}
          />
        </Field>
      ))}
    </div>
    <div class="field">
      <span class="label">Try first</span>
      <label class="check">
        <input
          type="checkbox"
          checked={isDry}
          onChange={({ currentTarget }) => set({ dry_run: currentTarget.checked })}
        />
        <span>
          Only pretend to send <span class="quiet small">(the answer says what would happen)</span>
        </span>
      </label>
    </div>
  </>
);

const ENDS = [
  ['90', 'in 90 days'],
  ['30', 'in 30 days'],
  ['7', 'in 7 days'],
  ['never', 'never'],
] as const;

/** A field for the time when a key expires. `kept` is the text of the choice that leaves the time unchanged. */
export const ExpiryField = ({ draft, set, kept }: DraftProps & { readonly kept?: string }): VNode => (
  <Field label="Ends">
    <select class="input" value={draft.days} onChange={({ currentTarget }) => set({ days: currentTarget.value })}>
      {kept !== undefined && <option value="keep">{kept}</option>}
      {ENDS.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  </Field>
);
