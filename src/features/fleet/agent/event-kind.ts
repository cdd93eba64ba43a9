import type { MessageDetails } from '../../../core/model/details.ts';
import type { ChangeName, LogEntry } from '../../../core/model/event.ts';
import { idOfGuid } from '../protocol/event.ts';

/** The changes whose value both machines of a member know, the latest in a message's life first. */
const VALUED: readonly (readonly [ChangeName, 'retracted_at' | 'edited_at' | 'read_at' | 'delivered_at'])[] = [
  ['unsent', 'retracted_at'],
  ['edited', 'edited_at'],
  ['read', 'read_at'],
  ['delivered', 'delivered_at'],
];
const COMES_WITH: ReadonlySet<string> = new Set(['sent', ...VALUED.map(([name]) => name)]);

/**
 * Returns what makes this event one of its kind for its message: the value that changed, so that both machines of a
 * member agree. Without such a value, the machine's own number of the change. Without a guid, the machine's row as
 * well, because the events of all such rows would have one subject.
 */
export function kindOf(entry: LogEntry, machine: string, details: MessageDetails | undefined): string {
  const kind = kindByGuid(entry, machine, details);
  return entry.guid === '' ? `${kind}:${machine}:${entry.rowId}` : kind;
}

function kindByGuid({ event, change }: LogEntry, machine: string, details: MessageDetails | undefined): string {
  if (change === undefined) return 'row';
  if (event.type === 'message.removed') return 'removed';
  const own = `change:${machine}:${change}`;
  if (event.type !== 'message.updated' || details === undefined) return own;
  const { changes } = event;
  if (!changes.every((name) => COMES_WITH.has(name))) return own;
  for (const [name, key] of VALUED) {
    if (!changes.includes(name) || details[key] === null) continue;
    // Dates have whole seconds, and a message can be edited twice in one.
    return `${name}:${details[key]}${name === 'edited' ? `:${event.data.body}` : ''}`;
  }
  return own;
}

/** Returns the event as hubs show it: with an id that every machine of the member has, and with the date of an edit. */
export function eventBody({ event }: LogEntry, details: MessageDetails | undefined): Readonly<Record<string, unknown>> {
  if (event.type === 'messages.changed') return { ...event };
  const { data } = event;
  const editedAt = details?.retracted_at ?? details?.edited_at;
  const isEdit =
    event.type === 'message.updated' && event.changes.some((name) => name === 'edited' || name === 'unsent');
  return {
    ...event,
    data: {
      ...data,
      ...(data.guid !== '' && { id: idOfGuid(data.guid) }),
      ...('message_guid' in data && data.message_id !== '' && { message_id: idOfGuid(data.message_guid) }),
    },
    ...(isEdit && editedAt && { edited_at: editedAt }),
  };
}

/** Returns the body without text and attachments, for an event that is too large for the broker. */
export function withoutText(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { data } = body;
  return typeof data === 'object' ? { ...body, data: { ...data, body: '', attachments: [] } } : body;
}
