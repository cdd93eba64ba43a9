import type { ScheduledState } from '../../client/types.ts';
import { localTimeZone, systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { stateStyle } from '../output/style.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json, oneLine } from '../output/text.ts';
import { shownTime } from '../output/time.ts';
import { type ConnectionOptions, Refusal, withService } from '../service-connection.ts';

const SHORT_ID = 8;

/** `postern scheduled list`: by time, in this time zone. */
export function listScheduled(
  { state, ...options }: ConnectionOptions & { readonly state?: ScheduledState },
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const entries = await client.scheduled.list(state === undefined ? {} : { state });
    if (options.json === true) {
      context.stdout(json(entries, 2));
      return EXIT.ok;
    }
    const columns: readonly Column[] = [
      { title: 'ID' },
      { title: 'STATE', style: stateStyle },
      { title: `AT (${localTimeZone()})` },
      { title: 'TO', isFlexible: true, least: 12 },
      { title: 'TEXT', isFlexible: true, least: 20 },
    ];
    const rows = entries.map(({ id, source, state: now, send_at: at, to, text, problem }) => [
      context.columns === undefined || source === 'phone' ? id : id.slice(0, SHORT_ID),
      source === 'phone' ? 'on the phone' : now,
      shownTime(at, systemClock.now()),
      to,
      oneLine(text ?? problem ?? ''),
    ]);
    sayTable(context, columns, rows, 'No message is scheduled.');
    return EXIT.ok;
  });
}

/** `postern scheduled cancel`: by the beginning of an id. */
export function cancelScheduled(given: string, options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const entries = await client.scheduled.list();
    const found = entries.filter(({ id }) => id.startsWith(given));
    if (found.length > 1)
      throw new Refusal(EXIT.refusedInput, `${found.length} scheduled messages begin with ${given}.`);
    const id = found[0]?.id ?? given;
    await client.scheduled.cancel(id);
    context.stdout(options.json === true ? json({ id, state: 'cancelled' }, 2) : 'Cancelled: it is not sent.');
    return EXIT.ok;
  });
}
