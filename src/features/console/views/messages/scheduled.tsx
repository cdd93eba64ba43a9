// Scheduled messages of the open conversation, above the box for writing.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { ScheduledSend } from '../../../../client/scheduled-types.ts';
import { Exactly } from '../../parts/exactly.tsx';
import { Button, Icon } from '../../parts/parts.tsx';
import { toast } from '../../parts/toast.ts';
import { call } from '../../service/api.ts';
import { may } from '../../service/service.ts';
import { timeOf } from '../../service/words.ts';
import { openState } from './open-state.ts';

const KEPT_MS = 120_000;

/** The messages that were scheduled through Postern, in all conversations. */
const waiting = signal<readonly ScheduledSend[]>([]);
let readAt = Number.NEGATIVE_INFINITY;

/** Reads the scheduled messages, at most once in `KEPT_MS`. A service may lack the feature. */
export async function readScheduled(): Promise<void> {
  if (!may('send') || Date.now() - readAt < KEPT_MS) return;
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

export function Scheduled(): VNode {
  const { conversation } = openState.value;
  const { id = '', participants = [] } = conversation ?? {};
  const here = waiting.value.filter(({ to }) => to === id || (id.includes(';-;') && participants.includes(to)));
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
