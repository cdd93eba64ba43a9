import type { ScheduledState } from '../../client/types.ts';
import { EXIT } from '../../core/cli/context.ts';
import { stateStyle } from '../../core/cli/output/style.ts';
import type { Column } from '../../core/cli/output/table.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import { shownTime } from '../../core/cli/output/time.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { shortId } from '../../core/cli/shown-names.ts';
import { localTimeZone, systemClock } from '../../core/runtime/clock.ts';

/** `postern scheduled list`: lists scheduled messages in order of time. Shows times in this time zone. */
export async function listScheduled(
  { state }: { readonly state?: ScheduledState },
  { client, columns: width, list }: Served,
): Promise<void> {
  const entries = await client.scheduled.list(state === undefined ? {} : { state });
  const columns: readonly Column[] = [
    { title: 'ID' },
    { title: 'STATE', style: stateStyle },
    { title: `AT (${localTimeZone()})` },
    { title: 'TO', isFlexible: true, least: 12 },
    { title: 'TEXT', isFlexible: true, least: 20 },
  ];
  const rows = entries.map(({ id, source, state: now, send_at: at, to, text, problem }) => [
    width === undefined || source === 'phone' ? id : shortId(id),
    source === 'phone' ? 'on the phone' : now,
    shownTime(at, systemClock.now()),
    to,
    oneLine(text ?? problem ?? ''),
  ]);
  list(entries, columns, rows, 'No message is scheduled.');
}

/** Returns the entry with this id; without one, all whose ids begin with it. */
export function entriesNamed<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  given: string,
): readonly Entry[] {
  const exact = entries.find(({ id }) => id === given);
  return exact === undefined ? entries.filter(({ id }) => id.startsWith(given)) : [exact];
}

/** `postern scheduled cancel`: cancels the scheduled message whose id is `given` or begins with it. */
export async function cancelScheduled(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const entries = await client.scheduled.list();
  const found = entriesNamed(entries, given);
  if (found.length > 1) {
    throw new Refusal(
      EXIT.refusedInput,
      `${found.length} scheduled messages have an id that begins with ${given}.`,
      '`postern scheduled list` shows them.',
    );
  }
  const id = found[0]?.id ?? given;
  await client.scheduled.cancel(id);
  answer({ id, state: 'cancelled' }, 'Cancelled: it will not be sent.');
}
