import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { encodeEvent, eventId } from '../protocol/event-message.ts';
import type { RowEvent } from '../protocol/fleet-reads-schema.ts';
import { HEADERS } from '../protocol/layout.ts';
import type { HubParts } from './hub-parts.ts';
import type { FilledRow, Hole, StoredEvent } from './stored-event.ts';
import { changesOf, isOfChanges } from './waiting-table.ts';

const RETRY_MS = { first: 2000, longest: 60_000 };
/**
 * How long a hole stays open for a Mac that the fleet does not know. After that, the Mac counts as revoked, and the
 * missing rows are given up.
 */
const UNKNOWN_MS = 60_000;

export interface HoleFillerParts extends HubParts {
  /** Publishes events that no longer wait. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>;
  /** How long the stream keeps events, in milliseconds; undefined while unknown or without a limit. */
  readonly keptMs: () => number | undefined;
}

/**
 * Asks each Mac for the rows and changes that the stream lacks. Copying of the stream continues meanwhile. In each
 * queue, only the events after missing rows (a hole) wait; other queues continue. A hole stays open until its Mac has
 * supplied the rows, or they are given up.
 */
export class HoleFiller {
  readonly #parts: HoleFillerParts;
  readonly #running = new Set<string>();
  /**
   * Key: a queue whose missing rows could not be obtained. Value: the number of failures, and when the queue's Mac is
   * asked again, in monotonic milliseconds.
   */
  readonly #failures = new Map<string, { readonly count: number; readonly againMs: number }>();
  readonly #cancelPresent: Cancel;
  #isClosed = false;
  /** The Macs that have supplied unreadable rows since this hub started. */
  readonly unreadable = new Set<string>();
  /** How many rows Macs have supplied, and how often rows were given up. */
  readonly counts = { filled: 0, missing: 0 };

  constructor(parts: HoleFillerParts) {
    this.#parts = parts;
    this.#cancelPresent = parts.macs.onPresent((mac) => {
      for (const queue of [mac, changesOf(mac)]) if (this.#failures.has(queue)) void this.#fillAll(queue);
    });
  }

  /** Fills open holes whose Macs are due. Called after each change of the store, and every two seconds. */
  note(): void {
    const { store, clock } = this.#parts;
    for (const queue of store.waitingQueues()) {
      if ((this.#failures.get(queue)?.againMs ?? 0) <= clock.monotonic()) void this.#fillAll(queue);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPresent();
  }

  async #fillAll(queue: string): Promise<void> {
    const { store, clock, log } = this.#parts;
    if (this.#isClosed || this.#running.has(queue)) return;
    this.#running.add(queue);
    try {
      while (!this.#isClosed) {
        const released = store.release(queue);
        const hole = released === undefined ? store.hole(queue) : undefined;
        if (released !== undefined) await this.#parts.onEvents(released);
        else if (hole !== undefined) await this.#fill(hole);
        else break;
      }
      this.#failures.delete(queue);
      // The Mac's changes may have waited for these rows.
      if (!isOfChanges(queue)) void this.#fillAll(changesOf(queue));
    } catch (error) {
      const { count } = this.#failures.get(queue) ?? { count: 0 };
      const waitMs = Math.min(RETRY_MS.longest, RETRY_MS.first * 2 ** Math.min(count, 10));
      this.#failures.set(queue, { count: count + 1, againMs: clock.monotonic() + waitMs });
      const about = { mac: queue, reason: (error as Error).message };
      if (count === 0) log.warn('the stream lacks rows of a Mac; waiting until the Mac supplies them', about);
    } finally {
      this.#running.delete(queue);
    }
  }

  /** Asks the Mac once for the rows of a hole. The answer may contain only the first of these rows. */
  async #fill(hole: Hole): Promise<void> {
    const { reads, store, brokerClock, log, onEvents } = this.#parts;
    const { mac, epoch, after, last } = hole;
    // Measures the broker's time only if a hole seems to be too old, because this machine's clock may have been set.
    const expired = this.#expired(hole, brokerClock.now()) && this.#expired(hole, await brokerClock.measured());
    if (this.#isClosed) return;
    if (expired !== undefined) return this.#giveUp(hole, expired);
    if (after === last) return this.#giveUp(hole, 'it is unknown where the missing rows begin');
    const events = await reads.ask(mac, 'events', { epoch, after, before: last + 1 });
    if (this.#isClosed) return;
    if (events === null) return this.#giveUp(hole, 'the Mac no longer has the rows');
    const rows = inOrder(events, after, last);
    const supplied: FilledRow[] = [];
    for (const row of rows) {
      const sealed = this.#sealed(hole, row);
      if (sealed === undefined) break;
      supplied.push(sealed);
    }
    const unreadable = rows[supplied.length]?.row;
    const upTo = unreadable === undefined ? (rows.at(-1)?.row ?? last) : unreadable - 1;
    await onEvents(store.fill(hole, supplied, upTo));
    this.counts.filled += supplied.length;
    if (unreadable !== undefined) {
      this.unreadable.add(mac);
      return this.#giveUp({ ...hole, last: unreadable }, 'this hub cannot read the rows that the Mac supplied');
    }
    if (upTo === last) log.info('a Mac supplied rows that the stream lacked', { mac, last });
  }

  /** Returns why a hole is too old to wait for its Mac; undefined if it is not. `nowMs` is the broker's time. */
  #expired({ mac, openedMs }: Hole, nowMs: number): string | undefined {
    const ageMs = nowMs - openedMs;
    if (ageMs > (this.#parts.keptMs() ?? Number.POSITIVE_INFINITY)) {
      return 'the stream no longer keeps events of that age';
    }
    return ageMs > UNKNOWN_MS && this.#isUnknown(mac) ? 'the Mac is no longer in the fleet' : undefined;
  }

  async #giveUp(hole: Hole, reason: string): Promise<void> {
    const { store, brokerClock, log } = this.#parts;
    const { queue, after, last } = hole;
    const events = store.giveUp(hole, Math.floor(brokerClock.now()));
    if (events === undefined) throw new Error('other rows of this Mac were given up less than an hour ago');
    log.error('rows of a Mac are missing for good', { mac: queue, after, last, reason });
    this.counts.missing += 1;
    await this.#parts.onEvents(events);
  }

  #isUnknown(mac: string): boolean {
    const { macs } = this.#parts;
    return macs.isLoaded && macs.get(mac) === undefined;
  }

  /** Returns a supplied row, sealed as it would be in the stream; undefined if it is not an event. */
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

/** Returns the requested rows of an answer, each once and in order. */
function inOrder(events: readonly RowEvent[], after: number, last: number): readonly RowEvent[] {
  const wanted = new Map(events.filter(({ row }) => row > after && row <= last).map((event) => [event.row, event]));
  return [...wanted.values()].sort((one, other) => one.row - other.row);
}
