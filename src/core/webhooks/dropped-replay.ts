import type { LogEntry } from '../model/event.ts';
import type { Offset } from '../model/offset.ts';
import type { Handled } from '../model/ports/feed-ports.ts';
import type { EndedDelivery } from '../model/ports/webhooks-ports.ts';
import type { StoredWebhook } from '../model/webhook.ts';
import { goneRecord } from './delivery-record.ts';
import type { DeliveryWorkerParts } from './delivery-worker.ts';
import type { HeldDeliveries } from './held-deliveries.ts';

type ReplayParts = Pick<DeliveryWorkerParts, 'events' | 'store' | 'progress' | 'clock'>;

/** Delivers the dropped events of one webhook again, before its next event (decision P6). */
export class DroppedReplay {
  readonly #parts: ReplayParts;
  readonly #held: HeldDeliveries;
  #state: 'none' | 'asked' | 'begun' = 'none';

  constructor(parts: ReplayParts, held: HeldDeliveries) {
    this.#parts = parts;
    this.#held = held;
  }

  /** True if dropped events are to be delivered before the next event. */
  get isDue(): boolean {
    return this.#state !== 'none';
  }

  ask(): void {
    if (this.#state === 'none') this.#state = 'asked';
  }

  /** Continues a replay that a restart has interrupted. */
  restore({ id, held }: StoredWebhook): void {
    const next = this.#parts.store.nextReplayed(id);
    if (next !== undefined) this.#state = next.rowId === held?.row_id ? 'begun' : 'asked';
  }

  /**
   * Delivers the next dropped event with `deliver`, or ends the replay. `offset` returns the webhook's current offset.
   */
  async next(
    webhook: StoredWebhook,
    offset: () => Offset,
    deliver: (entry: LogEntry) => Promise<Handled<EndedDelivery>>,
  ): Promise<void> {
    const { events, store, progress, clock } = this.#parts;
    const { id } = webhook;
    if (this.#state === 'asked') this.#held.postpone();
    this.#state = 'begun';
    const dropped = store.nextReplayed(id);
    if (dropped === undefined) {
      this.#held.resume();
      this.#state = 'none';
      return;
    }
    const entry = events.dropped(dropped, webhook, offset());
    const handled =
      entry === undefined
        ? { isDone: true as const, record: goneRecord(id, dropped.rowId, dropped.rowId, clock) }
        : await deliver(entry);
    if (!handled.isDone) return;
    store.endReplayed(id, dropped, handled.record?.outcome === 'dropped');
    if (handled.record === undefined) return;
    // Without its position: what was dropped again is still stored, unless a resend has delivered it meanwhile.
    progress.note(id, offset(), { ...handled.record, position: undefined });
  }
}
