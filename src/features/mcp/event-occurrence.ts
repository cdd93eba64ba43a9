import { createHash } from 'node:crypto';
import type { Event, LogEntry } from '../../core/model/event.ts';
import { safeFileName } from '../../core/model/file-name.ts';
import type { EventContent } from './subscriptions/subscription.ts';

/** Maximum size in bytes of the body that delivers an event, because receivers may refuse larger ones (decision Y3). */
const MAX_OCCURRENCE_BYTES = 256 * 1024;

/** An event in the form of MCP Events. */
export interface EventOccurrence {
  readonly eventId: string;
  readonly name: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Returns the event of a new row in the form of MCP Events. Its `eventId` is the same in every answer and delivery.
 * `data` has only ids and `is_from_me` if `content` is `ids`, or if the whole message would be too large.
 */
export function eventOccurrence(entry: LogEntry & { readonly event: Event }, content: EventContent): EventOccurrence {
  const { type: name, data } = entry.event;
  const base = { eventId: eventId(entry), name, timestamp: data.timestamp };
  const ids = { id: data.id, conversation_id: data.conversation_id, is_from_me: data.is_from_me };
  if (content === 'ids') return { ...base, data: ids };
  const { details: _details, names: _names, ...others } = data;
  // Receivers learn the names of files, not their paths on this machine.
  const files = 'attachments' in others ? { attachments: others.attachments.map(safeFileName) } : {};
  const full = { ...base, data: { ...others, ...files } };
  return Buffer.byteLength(JSON.stringify(full)) > MAX_OCCURRENCE_BYTES - 1024 ? { ...base, data: ids } : full;
}

/**
 * Returns an id derived from the row's guid, because a replaced chat.db can reuse row ids. Uses the row id only if the
 * guid is unknown. The id has no characters that a header forbids.
 */
function eventId({ guid, rowId }: LogEntry): string {
  return `evt_${createHash('sha256')
    .update(guid || `row ${rowId}`)
    .digest('hex')
    .slice(0, 32)}`;
}
