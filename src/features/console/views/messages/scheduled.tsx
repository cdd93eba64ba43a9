// Messages that Postern sends later. They stand in the thread as those that Messages itself sends later.

import { effect, signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { ScheduledSend } from '../../../../client/scheduled-types.ts';
import { counted } from '../../../../core/model/figures.ts';
import { Exactly } from '../../parts/exactly.tsx';
import { Button } from '../../parts/parts.tsx';
import { busily, toast } from '../../parts/toast.ts';
import { call, currentKey, statusOf } from '../../service/api.ts';
import { repeatable } from '../../service/repeatable.ts';
import { may, serves } from '../../service/service.ts';
import { addressIn, fieldTimeOf, timeOf } from '../../service/words.ts';
import { openState, recipient } from './open-state.ts';
import { WhenField } from './send-later.tsx';
import { thread } from './thread.tsx';

const KEPT_MS = 120_000;
/** Delay after a send is due, and before a late one or one that could not be read is read again. */
const DUE_MS = 2000;
const AGAIN_MS = 30_000;

/** The messages that were scheduled through Postern, in all conversations. */
const waiting = signal<readonly ScheduledSend[]>([]);
let readAt = Number.NEGATIVE_INFINITY;
/** Id of the message that somebody is changing. */
const changing = signal<string | undefined>(undefined);

/** Reads the scheduled messages, at most once in `KEPT_MS`. */
export async function readScheduled(): Promise<void> {
  if (currentKey() === '' || !may('send') || !serves('listScheduled') || Date.now() - readAt < KEPT_MS) return;
  readAt = Date.now();
  try {
    waiting.value = await call<readonly ScheduledSend[]>('scheduled?source=postern', { isByItself: true });
  } catch {
    readAgainIn(AGAIN_MS);
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

function readAgainIn(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    readAt = Number.NEGATIVE_INFINITY;
    void readScheduled();
  }, ms);
}

/** Reads them again when the first one is due, and before, because others can change and cancel them. */
function watchFirst(): void {
  const [first] = waiting.value;
  clearTimeout(timer);
  if (first === undefined) return;
  const dueMs = Date.parse(first.send_at) - Date.now();
  readAgainIn(dueMs > 0 ? Math.min(dueMs + DUE_MS, KEPT_MS) : AGAIN_MS);
}

/** Reads the scheduled messages again once the time of one has come. */
export async function noteTime(): Promise<void> {
  if (!waiting.value.some(({ send_at: at }) => Date.parse(at) <= Date.now())) return;
  readAt = Number.NEGATIVE_INFINITY;
  await readScheduled();
}

const pathOf = (id: string): string => `scheduled/${encodeURIComponent(id)}`;

function forget(id: string): void {
  waiting.value = waiting.value.filter((one) => one.id !== id);
}

async function cancel(id: string): Promise<void> {
  await call(pathOf(id), { method: 'DELETE' });
  toast('Cancelled: nothing is sent');
  const element = elements.get(id);
  if (element?.matches(':hover') !== true) {
    forget(id);
    return;
  }
  // Stays until the pointer leaves it, so that a second click does not cancel the next message.
  waiting.value = waiting.value.map((one) => (one.id === id ? { ...one, state: 'cancelled' } : one));
  element.addEventListener('pointerleave', () => forget(id), { once: true });
}

const created = repeatable();

/**
 * Schedules the changed message before it cancels the old one, so that none is lost if the second request fails. If
 * Messages has the old one already, withdraws the changed one. Without an answer, both stay.
 */
async function change(old: ScheduledSend, text: string, at: string): Promise<void> {
  const { id, to, service, fallback } = old;
  const body = { recipient: to, body: text, send_at: at, service, fallback };
  const { scheduled: made } = await created([id, text, at], (idempotencyKey) =>
    call<{ readonly scheduled?: ScheduledSend }>('messages', { method: 'POST', idempotencyKey, body }),
  );
  if (made !== undefined) noteScheduled(made);
  const said = made === undefined ? 'The changed message waits for approval' : 'Changed';
  try {
    await call(pathOf(id), { method: 'DELETE' });
    forget(id);
    toast(said);
  } catch (error) {
    if (statusOf(error) === 409) {
      if (made !== undefined) await cancel(made.id);
      throw error;
    }
    readAt = Number.NEGATIVE_INFINITY;
    await readScheduled();
    toast(`${said}. The old message may still be sent: cancel it if it is still here.`, true);
  }
  if (made !== undefined) elements.get(made.id)?.querySelector('button')?.focus();
}

export function noteScheduled(send: ScheduledSend): void {
  waiting.value = [...waiting.value, send].toSorted((a, b) => a.send_at.localeCompare(b.send_at));
}

/** Returns the names that a send may use for the recipient whom the page shows. */
function namesOfRecipient(): readonly (string | undefined)[] {
  const { id = '', isNew, conversation } = openState.value;
  if (isNew) return [recipient.value?.id, recipient.value?.conversation];
  return id.includes(';-;') ? [id, addressIn(id), ...(conversation?.participants ?? [])] : [id];
}

/** The elements of the sends. One stays the same when the send changes, so that its button keeps the focus. */
const elements = new Map<string, HTMLElement>();

function elementOf(send: ScheduledSend): HTMLElement {
  const element = elements.get(send.id) ?? document.createElement('li');
  elements.set(send.id, element);
  element.className = 'msg mine later';
  element.dataset.time = send.send_at;
  element.dataset.sender = '';
  render(<Later {...send} />, element);
  return element;
}

function Later(send: ScheduledSend): VNode {
  const { id, text, attachments, send_at: at, state } = send;
  if (changing.value === id && state === 'scheduled') return <ChangeForm send={send} />;
  const states: Readonly<Record<string, string>> = { sending: 'Being sent', cancelled: 'Cancelled' };
  return (
    <>
      <div class="content">
        <div class="held">
          <p class="body bubble" dir="auto">
            <Exactly text={text || counted(attachments.length, 'attachment')} />
          </p>
        </div>
      </div>
      <div class="under">
        <span>{states[state] ?? `Postern sends it ${timeOf(at)}`}</span>
        {state === 'scheduled' && attachments.length === 0 && (
          <button
            type="button"
            class="link"
            onClick={() => {
              changing.value = id;
            }}
          >
            Change
          </button>
        )}
        {state === 'scheduled' && (
          <button
            type="button"
            class="link"
            onClick={({ currentTarget }) => void busily(currentTarget, () => cancel(id))}
          >
            Cancel
          </button>
        )}
      </div>
    </>
  );
}

/** The message as fields, in its place. */
function ChangeForm({ send }: { readonly send: ScheduledSend }): VNode {
  const { id, text, send_at: at } = send;
  const time = fieldTimeOf(Date.parse(at));
  const close = (): void => {
    changing.value = undefined;
    setTimeout(() => elements.get(id)?.querySelector('button')?.focus());
  };
  const save = async (form: FormData): Promise<void> => {
    const [words, chosen] = [form.get('text'), form.get('at')];
    if (typeof words !== 'string' || typeof chosen !== 'string') return;
    // The field has no seconds.
    const next = chosen === time ? at : new Date(chosen).toISOString();
    if (words !== text || next !== at) await change(send, words, next);
    close();
  };
  return (
    <form
      class="change stack"
      onSubmit={(event) => {
        event.preventDefault();
        const { currentTarget: form, submitter } = event;
        if (submitter instanceof HTMLButtonElement) void busily(submitter, () => save(new FormData(form)));
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
      }}
    >
      <textarea
        class="input"
        name="text"
        aria-label="Message"
        dir="auto"
        rows={3}
        required
        defaultValue={text ?? ''}
        ref={focusFirst}
      />
      <div class="row wrap">
        <WhenField class="input grow" defaultValue={time} />
        <button type="submit" class="btn first">
          Save
        </button>
        <Button run={close}>Leave it</Button>
      </div>
    </form>
  );
}

function focusFirst(field: HTMLTextAreaElement | null): void {
  field?.focus();
  field?.form?.scrollIntoView({ block: 'nearest' });
}

/** Keeps the sends of the open conversation in its thread. */
export function showScheduled(): void {
  effect(watchFirst);
  effect(() => {
    const names = namesOfRecipient();
    thread.showLater(waiting.value.filter(({ to }) => names.includes(to)).map(elementOf));
  });
}
