import type { Cancel } from '../../domain/ports/host.ts';
import type { RowEvent } from '../../schema/fleet-reads.ts';
import { encodeEvent, eventId, isChangesEpoch } from '../protocol/event-message.ts';
import { HEADERS } from '../protocol/layout.ts';
import type { HubParts } from './hub-parts.ts';
import type { FilledRow, Hole, StoredEvent } from './stored-event.ts';

/** Time limit for one attempt at a hole, in milliseconds. Rows supplied until then are kept. */
const ATTEMPT_MS = 10_000;
const RETRY_MS = { first: 2000, longest: 60_000 };
/** After this time, a Mac that the fleet does not know counts as revoked. */
const UNKNOWN_MS = 60_000;
/**
 * Rows that a Mac loses for good end every client's connection. A Mac may do that once an hour, counting all that it
 * loses within five seconds as one loss; after that its own events wait. Lost changes end fewer connections, and each
 * beginning of a chain of changes counts as a loss.
 */
const LOSS_MS = { one: 5000, again: 3_600_000 };
const MAX_LOSSES = { rows: 1, changes: 4 };

export interface HoleFillerParts extends HubParts {
  /** Publishes events that no longer wait. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>;
  /** How long the stream keeps events, in milliseconds; undefined while unknown or without a limit. */
  readonly keptMs: () => number | undefined;
}

/**
 * Reads rows that the stream lacks from their Macs, each Mac independently, while the stream is copied. Only the events
 * behind a hole wait. A hole stays open until its Mac has supplied the rows, or no Mac can any more.
 */
export class HoleFiller {
  readonly #parts: HoleFillerParts;
  readonly #running = new Set<string>();
  /** For each unit that failed: how often, and when it is asked again. */
  readonly #failures = new Map<string, { readonly count: number; readonly againMs: number }>();
  readonly #cancelPresent: Cancel;
  /** When each unit began to lose something for good in the last hour, on the monotonic clock. */
  readonly #losses = new Map<string, readonly number[]>();
  #isClosed = false;
  /** Numbers of rows that Macs supplied, and of holes that were given up. */
  readonly counts = { filled: 0, missing: 0 };

  constructor(parts: HoleFillerParts) {
    this.#parts = parts;
    this.#cancelPresent = parts.macs.onPresent((mac) => {
      for (const unit of [mac, unitOfChanges(mac)]) if (this.#failures.has(unit)) void this.#fillAll(unit);
    });
  }

  /** Fills open holes whose Macs are due. Called after each change of the store, and every two seconds. */
  note(): void {
    const { store, clock } = this.#parts;
    if (!store.hasHoles) return;
    for (const unit of new Set(store.holes().map(unitOf))) {
      if ((this.#failures.get(unit)?.againMs ?? 0) <= clock.monotonic()) void this.#fillAll(unit);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPresent();
  }

  async #fillAll(unit: string): Promise<void> {
    const { store, clock, log } = this.#parts;
    if (this.#isClosed || this.#running.has(unit)) return;
    this.#running.add(unit);
    try {
      for (;;) {
        const holes = store.holes();
        const hole = holes.find((one) => unitOf(one) === unit);
        if (hole === undefined || this.#isClosed) break;
        // Changes come after the rows that they are about.
        if (unit !== hole.mac && holes.some((one) => unitOf(one) === hole.mac)) return;
        await this.#fill(hole);
      }
      this.#failures.delete(unit);
    } catch (error) {
      const { count } = this.#failures.get(unit) ?? { count: 0 };
      const waitMs = Math.min(RETRY_MS.longest, RETRY_MS.first * 2 ** Math.min(count, 10));
      this.#failures.set(unit, { count: count + 1, againMs: clock.monotonic() + waitMs });
      const reason = (error as Error).message;
      if (count === 0) {
        log.warn('the stream lacks rows of a Mac; waiting until the Mac supplies them', { mac: unit, reason });
      }
    } finally {
      this.#running.delete(unit);
    }
  }

  async #fill(hole: Hole): Promise<void> {
    const { reads, store, clock, log, keptMs } = this.#parts;
    const { mac, epoch, last } = hole;
    const endMs = clock.monotonic() + ATTEMPT_MS;
    const ageMs = clock.now() - hole.openedMs;
    if (ageMs > (keptMs() ?? Number.POSITIVE_INFINITY)) return this.#giveUp(hole, 'they are too old by now');
    if (ageMs > UNKNOWN_MS && this.#isUnknown(mac)) return this.#giveUp(hole, 'the Mac is no longer in the fleet');
    if (hole.after === last) return this.#giveUp(hole, 'nobody knows the first of them');
    for (let { after } = hole; ; ) {
      const events = await reads.ask(mac, 'events', { epoch, after, before: last + 1 });
      if (this.#isClosed) return;
      if (events === null) return this.#giveUp(hole, 'it has another database by now');
      const rows = inOrder(events, after, last);
      const supplied = rows.flatMap((row) => this.#sealed(hole, row) ?? []);
      after = rows.at(-1)?.row ?? last;
      await this.#publish(store.fill({ ...hole, after }, supplied, after >= last));
      this.counts.filled += supplied.length;
      if (after >= last) {
        log.info('a Mac supplied rows that the stream lacked', { mac, after: hole.after, last });
        return;
      }
      if (clock.monotonic() >= endMs) throw new Error('it supplies them slowly');
    }
  }

  async #giveUp(hole: Hole, reason: string): Promise<void> {
    const { store, clock, log } = this.#parts;
    const { mac, epoch, after, last } = hole;
    const nowMs = clock.monotonic();
    const losses = (this.#losses.get(unitOf(hole)) ?? []).filter((atMs) => nowMs - atMs < LOSS_MS.again);
    if (!losses.some((atMs) => nowMs - atMs <= LOSS_MS.one)) {
      const most = isChangesEpoch(epoch) ? MAX_LOSSES.changes : MAX_LOSSES.rows;
      if (losses.length >= most) throw new Error('it lost other rows less than an hour ago');
      this.#losses.set(unitOf(hole), [...losses, nowMs]);
    }
    if (isChangesEpoch(epoch)) log.info('earlier changes of a Mac are not known', { mac, after, last, reason });
    else {
      log.error('rows of a Mac are missing for good', { mac, after, last, reason });
      this.counts.missing += 1;
    }
    await this.#publish(store.giveUp(hole));
  }

  #isUnknown(mac: string): boolean {
    const { macs } = this.#parts;
    return macs.isLoaded && macs.get(mac) === undefined;
  }

  async #publish(events: readonly StoredEvent[]): Promise<void> {
    if (events.length > 0) await this.#parts.onEvents(events);
  }

  /** Seals a row as the stream would hold it; undefined if it is not an event. */
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

/** The rows and the changes of a Mac are units of their own: what holds up changes holds up no rows. */
function unitOf({ mac, epoch }: Pick<Hole, 'mac' | 'epoch'>): string {
  return isChangesEpoch(epoch) ? unitOfChanges(mac) : mac;
}

function unitOfChanges(mac: string): string {
  return `${mac} changes`;
}

/** Returns the requested rows of an answer, each once and in order. */
function inOrder(events: readonly RowEvent[], after: number, last: number): readonly RowEvent[] {
  const wanted = new Map(events.filter(({ row }) => row > after && row <= last).map((event) => [event.row, event]));
  return [...wanted.values()].sort((one, other) => one.row - other.row);
}
