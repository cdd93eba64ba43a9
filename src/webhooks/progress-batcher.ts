import type { Cancel, Clock, Log } from '../domain/ports/host.ts';
import type { WebhookStore } from '../domain/ports/webhooks.ts';
import type { DeliveryRecord } from '../domain/webhook.ts';

/** Deliveries of one webhook that may be done and not yet stored: a crash repeats these and the running one (F4). */
const MAX_RECORDS = 4;
/** What is done is stored after this long at the latest. */
const FLUSH_AFTER_MS = 20;
/** Until it is tried again when it could not be stored. */
const RETRY_MS = 1000;
/** Of one webhook while nothing can be stored: as many as are shown (section H). */
const MAX_WAITING = 100;

export interface ProgressBatcherParts {
  readonly store: Pick<WebhookStore, 'advanceMany'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Told what became of each delivery, for the counts (section H). */
  readonly onOutcome?: (outcome: DeliveryRecord['outcome']) => void;
}

/**
 * How far each webhook is, on its way into the state database: what all lanes finish within a moment is written
 * in one transaction, because a transaction costs more than what is in it.
 */
export class ProgressBatcher {
  readonly #parts: ProgressBatcherParts;
  #steps = new Map<string, { rowId: number; readonly records: DeliveryRecord[] }>();
  #cancelFlush: Cancel | undefined;

  constructor(parts: ProgressBatcherParts) {
    this.#parts = parts;
  }

  /** The webhook is done up to `rowId`. */
  note(id: string, rowId: number, record?: DeliveryRecord): void {
    let step = this.#steps.get(id);
    if (step === undefined) {
      step = { rowId, records: [] };
      this.#steps.set(id, step);
    }
    step.rowId = rowId;
    if (record !== undefined) {
      step.records.push(record);
      this.#parts.onOutcome?.(record.outcome);
    }
    // At the end of this turn the lane has sent its next event: storing costs no time that it could use.
    if (step.records.length === MAX_RECORDS) setImmediate(() => this.flush());
    this.#cancelFlush ??= this.#parts.clock.after(FLUSH_AFTER_MS, () => this.flush());
  }

  /** The webhook has been put elsewhere, durably: what was noted before must not move it back. */
  move(id: string, rowId: number): void {
    const step = this.#steps.get(id);
    if (step !== undefined) step.rowId = rowId;
  }

  /** Stores what is noted, now or a second later. A failure costs repeats after a crash, not the deliveries to come. */
  flush(): void {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    if (this.#steps.size === 0) return;
    const { store, clock, log } = this.#parts;
    const steps = [...this.#steps].map(([id, step]) => ({ id, ...step }));
    this.#steps = new Map();
    try {
      store.advanceMany(steps);
    } catch (error) {
      log.error('how far the webhooks are could not be stored; it is tried again', { error });
      for (const { id, ...step } of steps) this.#steps.set(id, { ...step, records: step.records.slice(-MAX_WAITING) });
      this.#cancelFlush = clock.after(RETRY_MS, () => this.flush());
    }
  }
}
