import { problem } from '../domain/problems.ts';
import type { ScheduledSends } from '../features/scheduled/ports.ts';
import type { ScheduledSend } from '../features/scheduled/scheduled.ts';
import type { LimitedKey } from './limited-key.ts';
import type { ReadableChats } from './readable.ts';

/**
 * Returns the scheduled sends that a key may see: those that it scheduled, and those that the owner scheduled on the
 * phone in conversations that the key may read.
 */
export function limitedScheduled(all: ScheduledSends, key: LimitedKey, chats: ReadableChats): ScheduledSends {
  const isVisible = ({ source, key_id: keyId, to }: ScheduledSend): boolean =>
    source === 'phone' ? key.stored.scopes.includes('read') && chats.has(to) : keyId === key.stored.id;
  const get = (id: string): ScheduledSend => {
    const entry = all.get(id);
    if (!isVisible(entry)) throw problem('scheduled_not_found');
    return entry;
  };
  return {
    list: (query) => all.list(query).filter(isVisible),
    get,
    cancel: (id) => all.cancel(get(id).id),
  };
}
