// The question which events a webhook delivers once more.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { HOUR_MS } from '../../../../core/model/durations.ts';
import { number } from '../../../../core/model/figures.ts';
import type { Message } from '../../../../core/model/message.ts';
import { Option } from '../../parts/choices.tsx';
import { confirmed } from '../../parts/floating.tsx';
import { toast } from '../../parts/toast.ts';
import { call, pageOf } from '../../service/api.ts';
import { may, serves } from '../../service/service.ts';
import { fieldTimeOf, timeOf } from '../../service/words.ts';
import { pathOf, redeliver } from './redeliver.ts';
import { nameOfWebhook, type ShownWebhook } from './webhook-words.ts';

type Which = 'dropped' | 'after' | 'latest';

/** Without the right to read messages, nobody can find the row of a time. */
const knowsTimes = (): boolean => may('read') && serves('listMessages');

interface Choice {
  readonly value: Which;
  readonly title: string;
  readonly text: string;
}

function choicesFor({ row_id: row, dropped }: ShownWebhook): readonly Choice[] {
  const what = dropped === 1 ? 'The dropped event' : `The ${number(dropped)} dropped events`;
  return [
    ...(dropped > 0
      ? [{ value: 'dropped' as const, title: what, text: 'Nothing that has arrived is delivered twice.' }]
      : []),
    {
      value: 'after',
      title: `Everything after ${knowsTimes() ? 'a time' : 'a row'}`,
      text: 'What has already arrived since then is delivered again.',
    },
    {
      value: 'latest',
      title: 'Skip to new events',
      text: `What waits is not delivered. It is at row ${number(row)}.`,
    },
  ];
}

function Fields({ webhook }: { readonly webhook: ShownWebhook }): VNode {
  const choices = choicesFor(webhook);
  const which = useSignal<Which>(choices[0]?.value ?? 'after');
  return (
    <span class="pick">
      {choices.map(({ value, ...words }) => [
        <Option
          key={value}
          type="radio"
          name="which"
          value={value}
          checked={value === which.value}
          onChange={() => {
            which.value = value;
          }}
          {...words}
        />,
        value === 'after' && which.value === value && <AfterField key="field" webhook={webhook} />,
      ])}
    </span>
  );
}

/** The field for the time or the row after which everything is delivered. */
const AfterField = ({ webhook: { row_id: row } }: { readonly webhook: ShownWebhook }): VNode =>
  knowsTimes() ? (
    <input
      class="input"
      type="datetime-local"
      name="time"
      aria-label="Time"
      required
      defaultValue={fieldTimeOf(Date.now() - HOUR_MS)}
      max={fieldTimeOf(Date.now())}
    />
  ) : (
    <input
      class="input"
      type="number"
      name="row"
      aria-label="Row"
      required
      min={0}
      max={row}
      step={1}
      defaultValue={String(Math.max(0, row - 10))}
    />
  );

/** Returns the row before the first message since a time; undefined if there is none. */
async function rowBefore(time: string): Promise<number | undefined> {
  const since = encodeURIComponent(new Date(time).toISOString());
  const { items } = await pageOf<Message>(`messages?order=asc&limit=1&since=${since}`, { isKept: true });
  return items[0] === undefined ? undefined : Number(items[0].id) - 1;
}

async function replayAfter(id: string, form: FormData): Promise<void> {
  const time = form.get('time');
  const after = typeof time === 'string' ? await rowBefore(time) : Number(form.get('row'));
  if (after === undefined) {
    toast('Nothing happened after that time.');
    return;
  }
  await call(`${pathOf(id)}/replay`, { method: 'POST', body: { after } });
  const what = typeof time === 'string' ? `${timeOf(time)} (row ${after})` : `row ${after}`;
  toast(`Delivering everything after ${what} again`);
}

/** Asks which events to deliver once more, and delivers them. */
export async function replay(webhook: ShownWebhook, again: () => Promise<unknown>): Promise<void> {
  const { id } = webhook;
  const form = await confirmed({
    title: `Replay ${nameOfWebhook(webhook)}`,
    text: <Fields webhook={webhook} />,
    action: 'Replay',
    isBad: false,
  });
  if (form === undefined) return;
  const which = form.get('which');
  if (which === 'dropped') await redeliver(id);
  else if (which === 'after') await replayAfter(id, form);
  else {
    await call(`${pathOf(id)}/replay`, { method: 'POST', body: { after: 'latest' } });
    toast('Skipped: only new events are delivered');
  }
  await again();
}
