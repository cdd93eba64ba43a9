import type {
  ScheduledOnPhone,
  ScheduledQuery,
  ScheduledSends,
  ScheduledStore,
  StoredScheduled,
} from '../../domain/ports/scheduled.ts';
import { problem } from '../../domain/problems.ts';
import { isOver, SCHEDULED_STATES, type ScheduledSend } from '../../domain/scheduled.ts';

/** Cancels an entry, or throws `too_late`. */
interface Canceller {
  cancel(entry: StoredScheduled): void;
}

/** The scheduled sends of all keys and of the phone, as the owner sees them. */
export class AllScheduled implements ScheduledSends {
  readonly #canceller: Canceller;
  readonly #store: ScheduledStore;
  readonly #onPhone: ScheduledOnPhone;

  constructor(canceller: Canceller, store: ScheduledStore, onPhone: ScheduledOnPhone) {
    this.#canceller = canceller;
    this.#store = store;
    this.#onPhone = onPhone;
  }

  list({ state, source }: ScheduledQuery): readonly ScheduledSend[] {
    const states = state === undefined ? SCHEDULED_STATES.slice(0, 2) : [state];
    const own = source === 'phone' ? [] : this.#store.list({ states }).map(shownScheduled);
    const isPhoneAsked = source !== 'postern' && states.includes('scheduled');
    const all = [...own, ...(isPhoneAsked ? this.#onPhone() : [])];
    return all.toSorted((a, b) => a.send_at.localeCompare(b.send_at));
  }

  get(id: string): ScheduledSend {
    return this.#phone(id) ?? shownScheduled(this.#stored(id));
  }

  cancel(id: string): void {
    if (this.#phone(id) !== undefined) throw problem('scheduled_on_phone');
    this.#canceller.cancel(this.#stored(id));
  }

  #phone(id: string): ScheduledSend | undefined {
    return id.startsWith('phone-') ? this.#onPhone().find((one) => one.id === id) : undefined;
  }

  #stored(id: string): StoredScheduled {
    const entry = this.#store.get(id);
    if (entry === undefined) throw problem('scheduled_not_found');
    return entry;
  }
}

/** Returns the entry as its owner is shown it. */
export function shownScheduled(stored: StoredScheduled): ScheduledSend {
  const { sendAtMs: _at, sendUntilMs: _until, createdMs: _created, begunMs: _begun, ...rest } = stored;
  const { members: _members, isApproved: _approved, requestId: _request, ...shown } = rest;
  return isOver(shown) ? { ...shown, text: null } : shown;
}
