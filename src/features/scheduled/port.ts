import type { Port } from '../../core/model/port.ts';
import type { ScheduledSends } from './ports.ts';
import { scheduledProblem } from './problems.ts';
import type { ScheduledSend } from './scheduled.ts';

/**
 * The scheduled sends of a caller. A limited key sees those that it scheduled, and those that the owner scheduled on
 * the phone in conversations that the key may read.
 */
export const SCHEDULED: Port<ScheduledSends> = {
  name: 'scheduled messages',
  narrow(all, key) {
    const isVisible = ({ source, key_id: keyId, message_id: id, to }: ScheduledSend): boolean =>
      source === 'phone' ? key.has('read') && key.mayRead({ id: id ?? '', conversation_id: to }) : keyId === key.keyId;
    const get = (id: string): ScheduledSend => {
      const entry = all.get(id);
      if (!isVisible(entry)) throw scheduledProblem('scheduled_not_found');
      return entry;
    };
    return {
      list: (query) => all.list({ ...query, keyId: key.keyId }).filter(isVisible),
      get,
      cancel: (id) => all.cancel(get(id).id),
    };
  },
};
