// The menu beside the button that sends: it lets Postern send the message at another time.

import type { VNode } from 'preact';
import { HOUR_MS } from '../../../../core/model/durations.ts';
import { confirmed, Menu, type MenuItem } from '../../parts/floating.tsx';
import { isCapable, serves } from '../../service/service.ts';
import { fieldTimeOf, hourOf } from '../../service/words.ts';

const MORNING = 8;

function tomorrowMorning(): Date {
  const time = new Date();
  time.setDate(time.getDate() + 1);
  time.setHours(MORNING, 0, 0, 0);
  return time;
}

/** The field for the time of a send. */
export const WhenField = (props: { readonly class?: string; readonly defaultValue: string }): VNode => (
  <input
    class="input"
    type="datetime-local"
    name="at"
    aria-label="When"
    required
    min={fieldTimeOf(Date.now())}
    {...props}
  />
);

/** Asks for a time. Resolves with undefined if nobody chose one. */
async function askedTime(): Promise<Date | undefined> {
  const form = await confirmed({
    title: 'Send later',
    text: <WhenField defaultValue={fieldTimeOf(tomorrowMorning().getTime())} />,
    action: 'Schedule',
    isBad: false,
  });
  const at = form?.get('at');
  return typeof at === 'string' ? new Date(at) : undefined;
}

/** Calls `send` with the time that somebody chooses. Absent if the service cannot send later. */
export function SendLater({ send }: { readonly send: (at: Date) => Promise<void> }): VNode | null {
  if (!serves('listScheduled') || !isCapable('send_at')) return null;
  const items: readonly MenuItem[] = [
    { icon: 'clock', text: 'Send in one hour', run: () => send(new Date(Date.now() + HOUR_MS)) },
    {
      icon: 'clock',
      text: `Send tomorrow at ${hourOf(tomorrowMorning())}`,
      run: () => send(tomorrowMorning()),
    },
    '-',
    {
      icon: 'clock',
      text: 'Send later …',
      run: async () => {
        const at = await askedTime();
        if (at !== undefined) await send(at);
      },
    },
  ];
  return <Menu label="Send later" icon="clock" items={items} />;
}
