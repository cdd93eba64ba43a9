import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { encodeEvent, eventId } from '../protocol/event-message.ts';
import { HEADERS } from '../protocol/layout.ts';
import type { RowEvent } from '../protocol/reads.ts';
import type { EventReader } from './event-reader.ts';
import type { EventStore } from './event-store.ts';
import type { MacReads } from './mac-reads.ts';
import type { Macs } from './macs.ts';
import type { FilledRow, Hole, StoredEvent } from './stored-event.ts';

/** Limit for one attempt at a hole; what was supplied by then stays. */
const ATTEMPT_MS = 10_000;
const RETRY_MS = { first: 2000, longest: 60_000 };
/** A Mac that the fleet does not know for this long was revoked. */
const UNKNOWN_MS = 60_000;

export interface HoleFillerParts {
  readonly reads: Pick<MacReads, 'events'>;
  readonly macs: Macs;
  readonly envelope: Envelope;
  readonly reader: EventReader;
  readonly store: EventStore;
  /** Publishes events that may be shown now. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>;
  /** How long the stream keeps events; undefined while that is unknown, or without a limit. */
  readonly keptMs: () => number | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reads rows that the stream lacks from their Macs, each Mac by itself, while the stream is copied. Only the events
 * behind a hole wait for it; it stays open until the Mac supplies its rows, or nobody can any more.
 */
export class HoleFiller {
  readonly #parts: HoleFillerParts;
  readonly #running = new Map<string, Promise<void>>();
  readonly #failures = new Map<string, number>();
  readonly #retries = new Map<string, Cancel>();
  readonly #cancelPresent: Cancel;
  #isClosed = false;
  /** Rows that Macs supplied, and holes that were given up. */
  readonly counts = { filled: 0, missing: 0 };

  constructor(parts: HoleFillerParts) {
    this.#parts = parts;
    this.#cancelPresent = parts.macs.onPresent((mac) => {
      if (this.#failures.has(mac)) this.#start(mac);
    });
  }

  /** Starts filling where holes are open. Called after each change of the store. */
  note(): void {
    if (!this.#parts.store.hasHoles) return;
    for (const mac of new Set(this.#parts.store.holes().map((hole) => hole.mac))) {
      if (!this.#retries.has(mac)) this.#start(mac);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPresent();
    for (const cancel of this.#retries.values()) cancel();
  }

  #start(mac: string): void {
    if (this.#isClosed || this.#running.has(mac)) return;
    this.#retries.get(mac)?.();
    this.#retries.delete(mac);
    const run = this.#fillAll(mac).finally(() => this.#running.delete(mac));
    this.#running.set(mac, run);
  }

  async #fillAll(mac: string): Promise<void> {
    const { store, clock, log } = this.#parts;
    try {
      for (;;) {
        const hole = store.holes().find((one) => one.mac === mac);
        if (hole === undefined || this.#isClosed) break;
        await this.#fill(hole);
      }
      this.#failures.delete(mac);
    } catch (error) {
      const failures = this.#failures.get(mac) ?? 0;
      this.#failures.set(mac, failures + 1);
      const reason = (error as Error).message;
      if (failures === 0)
        log.warn('the stream lacks rows of a Mac, waiting for the Mac to supply them', { mac, reason });
      const waitMs = Math.min(RETRY_MS.longest, RETRY_MS.first * 2 ** Math.min(failures, 10));
      if (!this.#isClosed)
        this.#retries.set(
          mac,
          clock.after(waitMs, () => this.#start(mac)),
        );
    }
  }

  async #fill(hole: Hole): Promise<void> {
    const { reads, store, clock, log, keptMs } = this.#parts;
    const { mac, epoch, last } = hole;
    const endMs = clock.monotonic() + ATTEMPT_MS;
    const ageMs = clock.now() - hole.openedMs;
    if (ageMs > (keptMs() ?? Number.POSITIVE_INFINITY)) return this.#giveUp(hole, 'they are too old by now');
    if (ageMs > UNKNOWN_MS && this.#isUnknown(mac)) return this.#giveUp(hole, 'the Mac is no longer in the fleet');
    for (let { after } = hole; ; ) {
      const events = await reads.events(mac, { epoch, after, before: last + 1 });
      if (this.#isClosed) return;
      if (events === undefined) return this.#giveUp(hole, 'it has another database by now');
      const rows = inOrder(events, after, last);
      const supplied = rows.flatMap((row) => this.#sealed(hole, row) ?? []);
      after = rows.at(-1)?.row ?? last;
      await this.#publish(store.fill({ ...hole, after }, supplied, after >= last));
      this.counts.filled += supplied.length;
      if (after >= last) {
        log.info('read from a Mac what the stream lacked', { mac, after: hole.after, last });
        return;
      }
      if (clock.monotonic() >= endMs) throw new Error('it supplies them slowly');
    }
  }

  async #giveUp(hole: Hole, reason: string): Promise<void> {
    const { store, log } = this.#parts;
    const { mac, after, last } = hole;
    log.error('rows of a Mac are missing for good', { mac, after, last, reason });
    this.counts.missing += 1;
    await this.#publish(store.giveUp(hole));
  }

  #isUnknown(mac: string): boolean {
    const { macs } = this.#parts;
    return macs.isLoaded && macs.get(mac) === undefined;
  }

  async #publish(events: readonly StoredEvent[]): Promise<void> {
    if (events.length > 0) await this.#parts.onEvents(events);
  }

  /** Seals a row as it would have come. Undefined for anything that is not an event. */
  #sealed({ mac, epoch, after }: Hole, { row, guid, type, json }: RowEvent): FilledRow | undefined {
    const { envelope, reader, log } = this.#parts;
    const messageId = eventId(mac, epoch, guid);
    const message = { mac, epoch, row, previousRow: after, type, id: messageId, instance: '', isMetadata: false };
    const { headers, body } = encodeEvent(message, json, envelope);
    const filled = { row, type, messageId, keyId: headers.get(HEADERS.key) || null, body };
    try {
      return { ...filled, read: reader.read({ mac, epoch, ...filled }) };
    } catch (error) {
      log.warn('a Mac supplied something that is not an event', { mac, row, reason: (error as Error).message });
      return undefined;
    }
  }
}

/** The rows of an answer that were asked for, each once, in order. */
function inOrder(events: readonly RowEvent[], after: number, last: number): readonly RowEvent[] {
  const wanted = new Map(events.filter(({ row }) => row > after && row <= last).map((event) => [event.row, event]));
  return [...wanted.values()].sort((one, other) => one.row - other.row);
}
