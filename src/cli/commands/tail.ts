import { CHANGE_EVENT_TYPES, type ChangeEvent, type Event } from '../../domain/event.ts';
import type { WebhookEventType } from '../../domain/webhook.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { eventLine } from '../output/event-line.ts';
import { fitted, json, printable } from '../output/text.ts';
import { type ConnectionOptions, withService } from '../service-connection.ts';

export interface TailOptions extends ConnectionOptions {
  readonly after?: string;
  readonly changes?: boolean;
  readonly type?: readonly WebhookEventType[];
}

/** `postern tail`: events as they happen, for as long as somebody reads them. */
export function tail(options: TailOptions, context: ClientContext): Promise<number> {
  const { stderr, isTerminal } = context;
  return withService(options, context, async ({ client, place }) => {
    const changes = wantsChanges(options);
    // Asked first: a wrong address or key shall be said, not tried again and again.
    const { newest_event: newest } = await client.status();
    const start = options.after ?? (changes ? (await client.trackedEvents()).offset : newest.row_id);
    // Not before: while nothing has answered yet, an interruption ends this command like any other.
    const signal = context.untilEnded();
    let last: string | number = start;
    if (isTerminal) {
      const from = changes ? `for events and changes` : `after row ${last}`;
      stderr(`Listening to ${place} ${from}. Stop with Ctrl+C.`);
    }
    let isLineDown = false;
    const onReconnect = (reason: string): void => {
      if (!isLineDown) stderr(printable(`${reason} Reconnecting; nothing will be missed.`));
      isLineDown = true;
    };
    const line = {
      after: start,
      signal,
      onReconnect,
      ...(options.json !== true && { include: 'contacts' as const }),
    };
    for await (const event of changes ? client.listen({ ...line, changes }) : client.listen(line)) {
      isLineDown = false;
      last = 'offset' in event ? event.offset : event.data.id;
      if (options.type?.includes(event.type) ?? true) await context.writeLine(lineOf(event, options, context));
    }
    if (isTerminal) stderr('', `To continue from here: ${changes ? '--changes ' : ''}--after ${last}`);
    return EXIT.ok;
  });
}

/** Naming a type of change asks for changes. */
function wantsChanges({ changes = false, type = [] }: TailOptions): boolean {
  return changes || type.some((name) => (CHANGE_EVENT_TYPES as readonly string[]).includes(name));
}

function lineOf(event: Event | ChangeEvent, options: TailOptions, { columns }: ClientContext): string {
  if (options.json === true) return json(event);
  const line = eventLine(event, systemClock.now());
  return columns === undefined ? line : fitted(line, columns);
}
