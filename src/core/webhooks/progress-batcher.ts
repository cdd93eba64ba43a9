import type { Offset } from '../model/offset.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { EndedDelivery, WebhookStore } from '../model/ports/webhooks-ports.ts';
import type { DeliveryRecord } from '../model/webhook.ts';

/**
 * Maximum number of finished deliveries of one webhook that are not stored yet. After a crash, these and the running
 * delivery are made again (decision F4).
 */
const MAX_RECORDS = 4;
/** Longest time from the end of a delivery until it is stored. */
const FLUSH_AFTER_MS = 20;
/** Delay before the next attempt to store, after one failed. */
const RETRY_MS = 1000;
/**
 * Maximum number of records kept per webhook while storing fails: as many as the list of deliveries shows (decision H).
 */
const MAX_WAITING = 100;

export interface ProgressBatcherParts {
  readonly store: Pick<WebhookStore, 'advance'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the record of each ended delivery, for the counts (decision H). */
  readonly onOutcome?: (record: DeliveryRecord, webhookId: string) => void;
}

/**
 * Stores the progress of all webhooks. Writes everything finished within `FLUSH_AFTER_MS` in one transaction, because a
 * transaction costs more than its rows.
 */
export class ProgressBatcher {
  readonly #parts: ProgressBatcherParts;
  #steps = new Map<string, { offset: Offset; readonly records: EndedDelivery[] }>();
  #cancelFlush: Cancel | undefined;

  constructor(parts: ProgressBatcherParts) {
    this.#parts = parts;
  }

  /** Records that everything up to `offset` is done at this webhook. */
  note(id: string, offset: Offset, record?: EndedDelivery): void {
    let step = this.#steps.get(id);
    if (step === undefined) {
      step = { offset, records: [] };
      this.#steps.set(id, step);
    }
    step.offset = offset;
    if (record !== undefined) {
      step.records.push(record);
      this.#parts.onOutcome?.(record, id);
    }
    // Stores in a later turn of the event loop, because the next event is sent within the current turn.
    if (step.records.length === MAX_RECORDS) setImmediate(() => this.flush());
    this.#cancelFlush ??= this.#parts.clock.after(FLUSH_AFTER_MS, () => this.flush());
  }

  /**
   * Replaces the offset that waits to be stored for this webhook, if there is one, and keeps the records. Otherwise the
   * next flush would overwrite the webhook's new offset in the store with the old one.
   */
  move(id: string, offset: Offset): void {
    const step = this.#steps.get(id);
    if (step !== undefined) step.offset = offset;
  }

  /**
   * Stores the recorded progress, or tries again in a second. While storing fails, deliveries continue, but a crash
   * would repeat those that are not stored.
   */
  flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#steps.size === 0) return;
    const { store, clock, log } = this.#parts;
    const steps = [...this.#steps].map(([id, step]) => ({ id, ...step }));
    this.#steps = new Map();
    try {
      store.advance(steps);
    } catch (error) {
      log.error('could not store webhook progress, retrying', { error });
      for (const { id, ...step } of steps) this.#steps.set(id, { ...step, records: step.records.slice(-MAX_WAITING) });
      this.#cancelFlush = clock.after(RETRY_MS, () => this.flush());
    }
  }
}
