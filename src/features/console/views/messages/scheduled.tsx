// Scheduled messages of the open conversation, above the box for writing.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { ScheduledSend } from '../../../../client/scheduled-types.ts';
import { Exactly } from '../../parts/exactly.tsx';
import { Button, Icon } from '../../parts/parts.tsx';
import { toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { may, serves } from '../../service/service.ts';
import { addressIn, timeOf } from '../../service/words.ts';
import { openState, recipient } from './open-state.ts';

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

export function Scheduled(): VNode {
  const names = namesOfRecipient();
  const here = waiting.value.filter(({ to }) => names.includes(to));
  return (
    <ul id="scheduled" aria-label="Scheduled" hidden={here.length === 0}>
      {here.map(({ id: one, text, send_at: at, state }) => (
        <li key={one} class="row">
          <Icon name="clock" />
          <span class="small quiet nowrap">{state === 'sending' ? 'Being sent' : `Goes out ${timeOf(at)}`}</span>
          <span class="grow cut" dir="auto">
            <Exactly text={text ?? ''} />
          </span>
          {state === 'scheduled' && (
            <Button kind="mini" run={() => cancel(one)}>
              Cancel
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
