import { createHash } from 'node:crypto';
import type { Event, LogEntry } from '../domain/event.ts';
import { safeFileName } from '../domain/file-name.ts';
import type { EventContent } from '../domain/subscription.ts';

/** Maximum size of a body, because receivers may refuse larger ones (decision Y3). */
const MAX_OCCURRENCE_BYTES = 256 * 1024;

/** An event in the form of MCP Events. */
export interface EventOccurrence {
  readonly eventId: string;
  readonly name: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Returns the event of a new row in the form of MCP Events. The event's id is the same in every answer and delivery. If
 * the message is too large, `data` has only its ids.
 */
export function eventOccurrence(entry: LogEntry & { readonly event: Event }, content: EventContent): EventOccurrence {
  const { type: name, data } = entry.event;
  const base = { eventId: eventId(entry), name, timestamp: data.timestamp };
  const ids = { id: data.id, conversation_id: data.conversation_id, is_from_me: data.is_from_me };
  if (content === 'ids') return { ...base, data: ids };
  const { mac: _mac, details: _details, names: _names, ...others } = data;
  // Receivers learn the names of files, not their paths on this machine.
  const files = 'attachments' in others ? { attachments: others.attachments.map(safeFileName) } : {};
  const full = { ...base, data: { ...others, ...files } };
  return Buffer.byteLength(JSON.stringify(full)) > MAX_OCCURRENCE_BYTES - 1024 ? { ...base, data: ids } : full;
}

/** Returns an id made from the guid, because a replaced database can reuse row ids. The id is valid in any header. */
function eventId({ guid, rowId }: LogEntry): string {
  return `evt_${createHash('sha256')
    .update(guid || `row ${rowId}`)
    .digest('hex')
    .slice(0, 32)}`;
}
