import type { Event, EventType } from '../../domain/event.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { eventLine } from '../output/event-line.ts';
import { fitted, json, printable } from '../output/text.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';

export interface TailOptions extends ConnectionOptions {
  readonly after?: number;
  readonly type?: readonly EventType[];
}

/** `postern tail`: events as they happen, for as long as somebody reads them. */
export function tail(options: TailOptions, context: ClientContext): Promise<number> {
  const { stderr, isTerminal } = context;
  return withService(options, context, async ({ client, place }) => {
    // Asked first: a wrong address or key shall be said, not tried again and again.
    const { newest_event: newest } = await client.status();
    // Not before: while nothing has answered yet, an interruption ends this command like any other.
    const signal = context.untilEnded();
    let last = options.after ?? newest.row_id;
    if (isTerminal) stderr(`Listening to ${place} after row ${last}. Stop with Ctrl+C.`);
    let isLineDown = false;
    const onReconnect = (reason: string): void => {
      if (!isLineDown) stderr(printable(`${reason} Reconnecting; nothing will be missed.`));
      isLineDown = true;
    };
    for await (const event of client.listen({
      after: last,
      signal,
      onReconnect,
      ...(options.json !== true && { include: 'contacts' }),
    })) {
      isLineDown = false;
      last = Number(event.data.id);
      if (options.type?.includes(event.type) ?? true) await context.writeLine(lineOf(event, options, context));
    }
    if (isTerminal) stderr('', `To continue from here: --after ${last}`);
    return EXIT.ok;
  });
}

function lineOf(event: Event, options: TailOptions, { columns }: ClientContext): string {
  if (options.json === true) return json(event);
  const line = eventLine(event, systemClock.now());
  return columns === undefined ? line : fitted(line, columns);
}
