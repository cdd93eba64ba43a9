import type {
  ScheduledOnPhone,
  ScheduledSends,
  ScheduledStore,
  StoredScheduled,
} from '../../domain/ports/scheduled.ts';
import { problem } from '../../domain/problems.ts';
import { isOver, SCHEDULED_STATES, type ScheduledSend } from '../../domain/scheduled.ts';

/**
 * The scheduled sends of all keys and of the phone, as the owner sees them. `cancel` cancels an entry, or throws
 * `too_late`.
 */
export function allScheduled(
  store: ScheduledStore,
  onPhone: ScheduledOnPhone,
  cancel: (entry: StoredScheduled) => void,
): ScheduledSends {
  const ofPhone = (id: string): ScheduledSend | undefined =>
    id.startsWith('phone-') ? onPhone().find((one) => one.id === id) : undefined;
  const stored = (id: string): StoredScheduled => {
    const entry = store.get(id);
    if (entry === undefined) throw problem('scheduled_not_found');
    return entry;
  };
  return {
    list({ state, source }) {
      const states = state === undefined ? SCHEDULED_STATES.slice(0, 2) : [state];
      const own = source === 'phone' ? [] : store.list({ states }).map(shownScheduled);
      const isPhoneAsked = source !== 'postern' && states.includes('scheduled');
      const all = [...own, ...(isPhoneAsked ? onPhone() : [])];
      return all.toSorted((a, b) => a.send_at.localeCompare(b.send_at));
    },
    get: (id) => ofPhone(id) ?? shownScheduled(stored(id)),
    cancel(id) {
      if (ofPhone(id) !== undefined) throw problem('scheduled_on_phone');
      cancel(stored(id));
    },
  };
}

/** Returns the entry as its owner is shown it. */
export function shownScheduled(stored: StoredScheduled): ScheduledSend {
  const { sendAtMs: _at, sendUntilMs: _until, createdMs: _created, begunMs: _begun, ...rest } = stored;
  const { members: _members, isApproved: _approved, requestId: _request, ...shown } = rest;
  return isOver(shown) ? { ...shown, text: null } : shown;
}
