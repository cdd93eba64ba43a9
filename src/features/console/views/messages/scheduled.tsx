// Messages that Postern sends later. They stand in the thread as those that Messages itself sends later.

import { effect, signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { ScheduledSend } from '../../../../client/scheduled-types.ts';
import { Exactly } from '../../parts/exactly.tsx';
import { busily, toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { may, serves } from '../../service/service.ts';
import { addressIn, counted, timeOf } from '../../service/words.ts';
import { openState, recipient } from './open-state.ts';
import { thread } from './thread.tsx';

const KEPT_MS = 120_000;

/** The messages that were scheduled through Postern, in all conversations. */
const waiting = signal<readonly ScheduledSend[]>([]);
let readAt = Number.NEGATIVE_INFINITY;

/** Reads the scheduled messages, at most once in `KEPT_MS`. */
export async function readScheduled(): Promise<void> {
  if (!may('send') || !serves('listScheduled') || Date.now() - readAt < KEPT_MS) return;
  readAt = Date.now();
  waiting.value = await call<readonly ScheduledSend[]>('scheduled?source=postern', { isByItself: true }).catch(
    () => [],
  );
}

async function cancel(id: string): Promise<void> {
  await call(`scheduled/${encodeURIComponent(id)}`, { method: 'DELETE' });
  toast('Cancelled: nothing is sent');
  waiting.value = waiting.value.filter((one) => one.id !== id);
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

const Later = ({ id, text, attachments, send_at: at, state }: ScheduledSend): VNode => (
  <>
    <div class="content">
      <div class="held">
        <p class="body bubble" dir="auto">
          <Exactly text={text || counted(attachments.length, 'attachment')} />
        </p>
      </div>
    </div>
    <div class="under">
      <span>{state === 'sending' ? 'Being sent' : `Postern sends it ${timeOf(at)}`}</span>
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

/** Keeps the sends of the open conversation in its thread. */
export function showScheduled(): void {
  effect(() => {
    const names = namesOfRecipient();
    thread.showLater(waiting.value.filter(({ to }) => names.includes(to)).map(elementOf));
  });
}
