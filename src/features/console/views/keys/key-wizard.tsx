// Creates a key in four steps. The third step ends by creating it, and the fourth shows its secret.

import { signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { DEFAULT_CAPS, PRESETS } from '../../../../client/key-types.ts';
import { Fieldset } from '../../parts/choices.tsx';
import { watchHeld } from '../../parts/held-watch.ts';
import { Icon, Note, PageHead } from '../../parts/parts.tsx';
import { busily } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { goTo } from '../../service/route.ts';
import { forgetKeys } from '../../service/service.ts';
import { reasonOf } from '../../service/words.ts';
import type { SecretKey } from './key-actions.tsx';
import { ConnectStep } from './key-connect.tsx';
import { ExpiryField, LimitFields, rightsIn, settingsIn } from './key-limits.tsx';
import type { Chosen } from './key-people.tsx';
import { type NewDraft, PeopleStep, PurposeStep } from './key-purpose.tsx';
import { RightList } from './key-rights.tsx';
import { readsWith, rightsOf } from './key-words.ts';

const STEPS = ['What for', 'Who', 'Limits', 'Connect'];
const NEXT = ['Choose people', 'Set limits', 'Create key', 'Done'];

const newDraft = (): NewDraft => ({
  preset: 'assistant',
  ...PRESETS.assistant,
  name: '',
  read: [],
  send: [],
  caps: DEFAULT_CAPS,
  days: '90',
  dry_run: false,
});

const draft = signal(newDraft());
/** The created key, with its secret. */
const made = signal<SecretKey | undefined>(undefined);

const set = (now: Partial<NewDraft>): void => {
  draft.value = { ...draft.value, ...now };
};

/** Returns the step to show when the address asks for a step: the last one whose earlier steps are done. */
export function stepFor(wanted: number): number {
  // Once the key exists, the wizard stays at step 4, because an earlier step would create a second key. Only a return
  // to step 1 starts a new draft.
  if (made.value !== undefined && wanted === 1) {
    made.value = undefined;
    draft.value = newDraft();
  }
  if (made.value !== undefined) return 4;
  const most = draft.value.name.trim() === '' ? 1 : isUndecided(draft.value) ? 2 : 3;
  return Math.min(Math.max(1, wanted), most);
}

/** Reports whether the user has yet to choose whom the key may read or write to. Choosing nobody counts as a choice. */
function isUndecided({ scopes, read, send }: NewDraft): boolean {
  const isOpen = (list: Chosen): boolean => typeof list !== 'string' && list.length === 0;
  return (readsWith(scopes) && isOpen(read)) || (scopes.includes('send') && isOpen(send));
}

async function make(): Promise<void> {
  const { name, scopes } = draft.value;
  made.value = await call<SecretKey>('keys?include=clients', {
    method: 'POST',
    body: { name: name.trim(), scopes, ...settingsIn(draft.value) },
  });
  forgetKeys();
  watchHeld(0);
  goTo('#/keys/new?step=4', { replaces: true });
}

export const Wizard = ({ step }: { readonly step: number }): VNode => (
  <>
    <PageHead title="Create a key" back={['#/keys', 'All keys']} />
    <ol class="steps">
      {STEPS.map((name, index) => (
        <li
          key={name}
          class={index + 1 < step ? 'done' : undefined}
          aria-current={index + 1 === step ? 'step' : undefined}
        >
          <span class="row">
            {index + 1 < step && <Icon name="check" />}
            {name}
          </span>
        </li>
      ))}
    </ol>
    <div class="wizard">
      <StepForm key={step} step={step} />
      <aside class="card">
        <header>
          <h2>What it can do</h2>
        </header>
        <div class="body">
          <RightList rights={rightsOf(rightsIn(draft.value))} />
        </div>
      </aside>
    </div>
  </>
);

function StepForm({ step }: { readonly step: number }): VNode {
  const problem = useSignal('');
  const form = useRef<HTMLFormElement>(null);
  const next = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (step === 4) return;
    form.current?.querySelector<HTMLElement>('input:checked, [aria-pressed="true"], input')?.focus();
  }, [step]);
  const create = async (): Promise<void> => {
    problem.value = '';
    try {
      await make();
    } catch (error) {
      problem.value = reasonOf(error);
    }
  };
  return (
    <form
      class="form"
      id="key-form-new"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        if (step < 3) goTo(`#/keys/new?step=${step + 1}`);
        else if (step === 4) goTo('#/keys');
        else if (next.current !== null) void busily(next.current, create);
      }}
    >
      <Step step={step} />
      <p class="err" role="alert" id="key-result">
        {problem.value}
      </p>
      <div class="acts">
        {(step === 2 || step === 3) && (
          <a class="btn" href={`#/keys/new?step=${step - 1}`}>
            Back
          </a>
        )}
        <button type="submit" class="btn first" ref={next}>
          {NEXT[step - 1]}
        </button>
      </div>
    </form>
  );
}

function Step({ step }: { readonly step: number }): VNode | null {
  if (step === 1) return <PurposeStep draft={draft.value} set={set} />;
  if (step === 2) return <PeopleStep draft={draft.value} set={set} />;
  if (step === 4) return made.value === undefined ? null : <ConnectStep {...made.value} />;
  const isPowerless = rightsOf(rightsIn(draft.value)).every(({ kind }) => kind === 'no');
  return (
    <Fieldset title="How far may it go?" class="stack loose">
      {isPowerless ? (
        <Note kind="warn">
          <p>This key can do nothing yet.</p>
          <div class="acts">
            <a class="btn mini" href="#/keys/new?step=2">
              Choose people
            </a>
          </div>
        </Note>
      ) : (
        <LimitFields draft={draft.value} set={set} />
      )}
      <div class="two">
        <ExpiryField draft={draft.value} set={set} />
      </div>
    </Fieldset>
  );
}
