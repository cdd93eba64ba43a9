// The last step of a new key: its secret, the lines for clients, and the wait for its first request.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { KeyRecord } from '../../../../client/key-types.ts';
import type { ClientLines } from '../../../../core/model/client-lines.ts';
import { Field, Fieldset } from '../../parts/choices.tsx';
import { CodeLine, Note } from '../../parts/parts.tsx';
import { call } from '../../service/api.ts';
import { pathOfKey, type SecretKey } from './key-actions.tsx';

const LOOK_MS = 5000;

export const ConnectStep = ({ id, key: secret, clients: [first, ...rest] = [] }: SecretKey): VNode => (
  <Fieldset title="Connect it" class="stack loose">
    <Note kind="accent">
      <p>
        <strong>The key is shown only once.</strong> Copy it now. If you lose it, make a new secret.
      </p>
    </Note>
    <div class="field">
      <span class="label">Key</span>
      <CodeLine text={secret} label="Copy the key" />
    </div>
    {first && <Clients first={first} rest={rest} />}
    <FirstRequest id={id} />
  </Fieldset>
);

interface ClientsProps {
  readonly first: ClientLines;
  readonly rest: readonly ClientLines[];
}

/** The lines for the client that the user chooses. */
function Clients({ first, rest }: ClientsProps): VNode {
  const name = useSignal(first.client);
  const { client, where, lines, guide } = rest.find((each) => each.client === name.value) ?? first;
  return (
    <>
      <Field label="For which client?">
        <select class="input" value={client} onChange={({ currentTarget }) => (name.value = currentTarget.value)}>
          {[first, ...rest].map((each) => (
            <option key={each.client}>{each.client}</option>
          ))}
        </select>
      </Field>
      <div class="stack" id="client-lines">
        <p class="hint">{`${where.charAt(0).toUpperCase()}${where.slice(1)}:`}</p>
        <CodeLine text={lines.join('\n')} label={`Copy the lines for ${client}`} />
        {guide !== undefined && (
          <p>
            <a href={`guide/${guide}`}>Step by step, in the guide</a>
          </p>
        )}
      </div>
    </>
  );
}

/** Says that the key has been used, as soon as it has. */
function FirstRequest({ id }: { readonly id: string }): VNode {
  const hasArrived = useSignal(false);
  const line = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const timer = setInterval(async () => {
      if (document.hidden || line.current?.closest('[hidden]') !== null) return;
      const key = await call<KeyRecord>(pathOfKey(id), { isByItself: true }).catch(() => undefined);
      if (typeof key?.last_used_at !== 'string') return;
      clearInterval(timer);
      hasArrived.value = true;
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [id]);
  return (
    <p class="row quiet" role="status" id="first-request" ref={line}>
      <span class={`dot ${hasArrived.value ? 'good' : 'live'}`} />
      {hasArrived.value ? 'Its first request has arrived: it works.' : 'Waiting for its first request …'}
    </p>
  );
}
