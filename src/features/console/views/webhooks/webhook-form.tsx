// The form that adds or changes a webhook, beside the request that the receiver will get.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { FailureMode } from '../../../../core/model/webhook.ts';
import { CheckOptions, type Choices, Field, Fieldset, RadioOptions } from '../../parts/choices.tsx';
import { Button, PageHead } from '../../parts/parts.tsx';
import { PeopleField } from '../../parts/people-field.tsx';
import { busily, toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { type Entry, nameIn } from '../../service/directory.ts';
import { goTo } from '../../service/route.ts';
import { isCapable, serves } from '../../service/service.ts';
import { addressIn, reasonOf } from '../../service/words.ts';
import { pathOf } from './redeliver.ts';
import { sendTest } from './webhook-actions.tsx';
import { changedHeaders, type HeaderRow, HeaderRows, storedHeaders, TypeChoice } from './webhook-fields.tsx';
import { Beside, SecretField } from './webhook-form-parts.tsx';
import { hashOf, type ShownWebhook } from './webhook-words.ts';

const INCLUDES = [
  ['contacts', 'Names of people', 'From Contacts, next to each address.'],
  ['details', 'Details', 'Service, edits, reactions, attachments, links, polls.'],
] as const;

const FAILURES: Choices<FailureMode> = [
  ['hold', 'Hold', 'Keeps trying until the receiver is back. Nothing is lost, and the order is kept.'],
  ['drop', 'Drop', 'Gives up after three tries and continues. You can deliver dropped events again later.'],
];

/** The contents of the form. Members with the name of a setting are that setting. */
interface Values extends Pick<ShownWebhook, 'url' | 'events' | 'include' | 'on_failure'> {
  readonly name: string;
  readonly secret: string;
  readonly headers: readonly HeaderRow[];
  readonly conversations: readonly Entry[];
  readonly senders: readonly Entry[];
  readonly whose: string;
}

function valuesOf(webhook: ShownWebhook | undefined): Values {
  const { filter } = webhook ?? {};
  return {
    url: webhook?.url ?? '',
    name: webhook?.name ?? '',
    secret: '',
    events: webhook?.events ?? ['message.received'],
    include: webhook?.include ?? [],
    on_failure: webhook?.on_failure ?? 'hold',
    headers: storedHeaders(webhook?.header_names ?? []),
    conversations: (filter?.conversation_ids ?? []).map(entryOf),
    senders: (filter?.senders ?? []).map(entryOf),
    whose: filter?.is_from_me === undefined ? '' : String(filter.is_from_me),
  };
}

/** Returns the body of the request that adds the webhook, or changes it. */
function settingsOf(values: Values, webhook: ShownWebhook | undefined): object {
  const { url, events, include, on_failure, conversations, senders, whose } = values;
  const [name, secret] = [values.name.trim(), values.secret];
  const filter = {
    // Keeps the members of the webhook's filter that this form does not show.
    ...webhook?.filter,
    conversation_ids: conversations.length > 0 ? conversations.map(conversationId) : undefined,
    senders: senders.length > 0 ? senders.map(({ id }) => id) : undefined,
    is_from_me: whose === '' ? undefined : whose === 'true',
  };
  const hasFilter = Object.values(filter).some((value) => value !== undefined);
  const headers = changedHeaders(values.headers, webhook?.header_names ?? []);
  return {
    url: url.trim(),
    events,
    include,
    on_failure,
    ...(secret !== '' && { secret }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...((name !== '' || webhook !== undefined) && { name: name || null }),
    ...((hasFilter || webhook !== undefined) && { filter: hasFilter ? filter : null }),
  };
}

interface FieldsProps {
  readonly values: Values;
  readonly set: (now: Partial<Values>) => void;
}

/** `webhook` is the one to change; undefined for a new one. */
export function WebhookForm({ webhook }: { readonly webhook: ShownWebhook | undefined }): VNode {
  const isNew = webhook === undefined;
  const values = useSignal(valuesOf(webhook));
  const problem = useSignal('');
  const form = useRef<HTMLFormElement>(null);
  const submit = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => form.current?.querySelector('input')?.focus(), []);
  const set = (now: Partial<Values>): void => {
    values.value = { ...values.value, ...now };
  };
  const save = async (isTested: boolean): Promise<void> => {
    problem.value = '';
    try {
      await saved(settingsOf(values.value, webhook), webhook, isTested);
    } catch (error) {
      problem.value = reasonOf(error);
      form.current?.querySelector('.err')?.scrollIntoView({ block: 'nearest' });
    }
  };
  return (
    <>
      <PageHead title={isNew ? 'Add a webhook' : 'Edit the webhook'} back={['#/webhooks', 'All webhooks']} />
      <div class="wizard">
        <form
          id="webhook-form"
          class="form"
          ref={form}
          onSubmit={(event) => {
            event.preventDefault();
            if (submit.current !== null) void busily(submit.current, () => save(isNew));
          }}
        >
          <Fields values={values.value} set={set} isSigned={webhook?.has_secret === true} />
          <p class="err" role="alert" id="webhook-form-result">
            {problem.value}
          </p>
          <div class="acts">
            <button type="submit" class="btn first" ref={submit}>
              {isNew ? 'Add and send a test' : 'Save changes'}
            </button>
            {isNew && <Button run={async () => form.current?.reportValidity() && save(false)}>Add</Button>}
            <a class="btn bare" href={isNew ? '#/webhooks' : hashOf(webhook.id)}>
              Cancel
            </a>
          </div>
        </form>
        <Beside {...values.value} isSigned={webhook?.has_secret === true || values.value.secret !== ''} />
      </div>
    </>
  );
}

/** Saves the settings, and goes to the webhook. */
async function saved(body: object, webhook: ShownWebhook | undefined, isTested: boolean): Promise<void> {
  const stored = await (webhook === undefined
    ? call<ShownWebhook>('webhooks', { method: 'POST', body })
    : call<ShownWebhook>(pathOf(webhook.id), { method: 'PATCH', body }));
  goTo(hashOf(stored.id));
  if (isTested) await sendTest(stored);
  else toast(webhook === undefined ? 'Webhook added' : 'Webhook changed');
}

function Fields({ values, set, isSigned }: FieldsProps & { readonly isSigned: boolean }): VNode {
  const { events, include, on_failure: onFailure, secret, headers } = values;
  const stored = useRef(include).current;
  const includes = INCLUDES.filter(([value]) => value !== 'contacts' || isCapable(value) || stored.includes(value));
  return (
    <>
      <AddressFields values={values} set={set} />
      <Fieldset title="What it gets">
        <TypeChoice chosen={events} choose={(chosen) => set({ events: chosen })} />
      </Fieldset>
      <FilterFields values={values} set={set} />
      {serves('getMessage') && (
        <Fieldset title="With each message">
          <CheckOptions name="include" choices={includes} values={include} choose={(now) => set({ include: now })} />
        </Fieldset>
      )}
      <Fieldset title="When the receiver is down">
        <div class="pick two">
          <RadioOptions
            name="failure"
            choices={FAILURES}
            value={onFailure}
            choose={(now) => set({ on_failure: now })}
          />
        </div>
      </Fieldset>
      <Fieldset title="Secret and headers">
        <SecretField secret={secret} isStored={isSigned} change={(now) => set({ secret: now })} />
        <HeaderRows rows={headers} change={(rows) => set({ headers: rows })} />
      </Fieldset>
    </>
  );
}

const AddressFields = ({ values: { url, name }, set }: FieldsProps): VNode => (
  <Fieldset class="stack loose">
    <Field label="Address" hint="An http or https URL, also on this machine or its network.">
      <input
        class="input mono"
        type="url"
        required
        inputMode="url"
        autocomplete="off"
        placeholder="http://127.0.0.1:5678/webhook"
        value={url}
        onInput={({ currentTarget }) => set({ url: currentTarget.value })}
      />
    </Field>
    <Field label="Name" hint="Optional. Shown in lists and by “postern doctor”.">
      <input
        class="input"
        maxLength={64}
        autocomplete="off"
        value={name}
        onInput={({ currentTarget }) => set({ name: currentTarget.value })}
      />
    </Field>
  </Fieldset>
);

const FilterFields = ({ values: { conversations, senders, whose }, set }: FieldsProps): VNode => (
  <Fieldset title="Only some events" class="stack loose">
    <div class="field">
      <span class="label">Only these conversations</span>
      <PeopleField
        label="Only these conversations"
        entries={conversations}
        change={(entries) => set({ conversations: entries })}
      />
      <span class="hint">If you list none, it gets all conversations.</span>
    </div>
    <div class="field">
      <span class="label">Only from these people</span>
      <PeopleField label="Only from these people" entries={senders} change={(entries) => set({ senders: entries })} />
    </div>
    <Field label="Whose messages">
      <select class="input" value={whose} onChange={({ currentTarget }) => set({ whose: currentTarget.value })}>
        <option value="">Everybody’s</option>
        <option value="false">Only those of others</option>
        <option value="true">Only your own</option>
      </select>
    </Field>
  </Fieldset>
);

const entryOf = (id: string): Entry => ({
  id,
  name: nameIn(id) ?? (id.includes(';') ? addressIn(id) : id),
  detail: id,
  isGroup: id.includes(';+;'),
});

/** Returns the conversation id of an entry. For a person's address, that is the direct conversation with the person. */
const conversationId = ({ id }: Entry): string => (id.includes(';') ? id : `any;-;${id}`);
