// One limited key: what it can do, its limits, and a check of its rights for one person or group.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { DEFAULT_CAPS, type KeyRecord } from '../../../../client/key-types.ts';
import { Card, PageHead } from '../../parts/parts.tsx';
import { busily, toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { goTo } from '../../service/route.ts';
import { forgetKeys } from '../../service/service.ts';
import { agoOf, reasonOf, timeOf } from '../../service/words.ts';
import { KeyMenu, pathOfKey } from './key-actions.tsx';
import { type Draft, type DraftProps, ExpiryField, LimitFields, rightsIn, settingsIn } from './key-limits.tsx';
import { entriesOf, ListField } from './key-people.tsx';
import { CheckCard, RightList } from './key-rights.tsx';
import { expiryOf, kindOf, readsWith, rightsOf } from './key-words.ts';

interface KeyProps {
  readonly record: KeyRecord;
}

const draftOf = ({ scopes, read, send, approval, caps, dry_run }: KeyRecord): Draft => ({
  scopes,
  read: entriesOf(read),
  send: entriesOf(send),
  approval,
  caps: caps ?? DEFAULT_CAPS,
  days: 'keep',
  dry_run,
});

/** Returns the members of `now` that differ from those of `before`. */
const changedFrom = (before: object, now: object): object => {
  const old = new Map(Object.entries(before).map(([name, value]) => [name, JSON.stringify(value)]));
  return Object.fromEntries(Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== old.get(name)));
};

export function KeyPage({ record }: KeyProps): VNode {
  const { id, name, scopes, created_at: created, last_used_at: used } = record;
  const [before] = useState(() => draftOf(record));
  const draft = useSignal(before);
  const [, kind] = kindOf(scopes);
  return (
    <>
      <PageHead
        title={name}
        back={['#/keys', 'All keys']}
        text={`${kind} · made ${timeOf(created)} · ${used === null ? 'never used' : `used ${agoOf(used)}`}`}
      >
        <KeyMenu id={id} name={name} />
      </PageHead>
      <div class="wizard">
        <KeyForm
          record={record}
          before={before}
          draft={draft.value}
          set={(now) => {
            draft.value = { ...draft.value, ...now };
          }}
        />
        <aside class="stack loose">
          <Card title="What it can do">
            <div class="body">
              <RightList rights={rightsOf(rightsIn(draft.value))} />
            </div>
          </Card>
          <CheckCard id={id} />
        </aside>
      </div>
    </>
  );
}

function KeyForm({ record, before, draft, set }: KeyProps & DraftProps & { readonly before: Draft }): VNode {
  const problem = useSignal('');
  const submit = useRef<HTMLButtonElement>(null);
  const save = async (): Promise<void> => {
    problem.value = '';
    try {
      // Sends only what was changed here: the rest may have changed elsewhere.
      const body = changedFrom(settingsIn(before), settingsIn(draft));
      await call(pathOfKey(record.id), { method: 'PATCH', body });
      forgetKeys();
      toast('Saved');
      goTo('#/keys');
    } catch (error) {
      problem.value = reasonOf(error);
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (submit.current !== null) void busily(submit.current, save);
      }}
    >
      {readsWith(draft.scopes) && (
        <ListField
          label="It may read"
          hint="It sees no other conversations: not in lists, search or events."
          list={draft.read}
          change={(read) => set({ read })}
        />
      )}
      {draft.scopes.includes('send') && (
        <ListField
          label="It may write to"
          hint="If somebody joins a listed group, the key may no longer write to it."
          list={draft.send}
          change={(send) => set({ send })}
        />
      )}
      <LimitFields draft={draft} set={set} />
      <ExpiryField
        draft={draft}
        set={set}
        kept={record.expires_at === null ? 'never, as now' : `${expiryOf(record).text}, as now`}
      />
      <p class="err" role="alert">
        {problem.value}
      </p>
      <div class="acts">
        <button type="submit" class="btn first" ref={submit}>
          Save changes
        </button>
        <a class="btn bare" href="#/keys">
          Cancel
        </a>
      </div>
    </form>
  );
}
