import { type Cursor, isReplaced } from '../domain/cursor.ts';
import { isAppError } from '../domain/errors.ts';
import type { PendingRow } from '../domain/event.ts';
import type { CursorStore, MessageLog } from '../domain/ports/feed.ts';
import type { Cancel, Clock, Log } from '../domain/ports/host.ts';
import type { Channel } from './channel.ts';
import { waitEndsAt } from './settle.ts';

/** Decision C7: rows published at a stretch, and how long level members are waited for after it. */
const BATCH_ROWS = 256;
const DRAIN_WAIT_MS = 250;
/** Newest row and newest event may drift apart this long before health says so. */
const MAX_LAG_MS = 30_000;
/** Until publishing is tried again after a failure that is not chat.db's. */
const RETRY_MS = 1000;

export interface PublisherParts {
  readonly messages: MessageLog;
  readonly channel: Channel;
  readonly cursor: CursorStore;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Turns new rows into events: exactly one a row, in row id order (C1), each as soon as it is complete (C2),
 * and stores how far it came. `look` may be called at any time, as often as anybody likes.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  #cursor: Cursor | undefined;
  /** False while the mark could not be stored: a restart would publish again what lies behind the stored one. */
  #isStored = true;
  /** When rows were first seen: every unpublished row up to `upTo` was there at `atMs` (monotonic). */
  readonly #sightings: { readonly upTo: number; readonly atMs: number }[] = [];
  #isRunning = false;
  #isRequested = false;
  #isClosed = false;
  #run: Promise<void> = Promise.resolve();
  #cancelWake: Cancel | undefined;
  #wasAway = false;
  /** Publishing failed at the last look, for another reason than chat.db being away. */
  #isFailing = false;
  #lastPublishedAtMs: number | undefined;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Takes up the stored place (C4), so that readers may join before chat.db has been opened. */
  start(): void {
    this.#cursor = this.#parts.cursor.load();
    if (this.#cursor !== undefined) this.#parts.channel.restart(this.#cursor.rowId);
  }

  /** Publishes what is new. Never throws: chat.db being away is the tail's to report, and it calls again. */
  publishPending(): void {
    this.#isRequested = true;
    if (this.#isRunning || this.#isClosed) return;
    this.#run = this.#work();
  }

  /** The newest event: its row id, and when it was published since the start (monotonic). */
  get lastPublished(): { readonly rowId: number; readonly atMs: number | undefined } {
    return { rowId: this.#cursor?.rowId ?? 0, atMs: this.#lastPublishedAtMs };
  }

  /** What health should say about the pipeline, or null: publishing fails, or the newest row waits too long for it. */
  trouble(): string | null {
    if (this.#isFailing)
      return 'New rows cannot be published as events; it is tried again every second. The log says why.';
    const published = this.#cursor?.rowId;
    if (published === undefined) return null;
    try {
      const newest = this.#parts.messages.newest().rowId;
      if (newest <= published) return null;
      this.#noteSighting(newest);
    } catch {
      return null; // chat.db is away, and its own health says so
    }
    const oldest = this.#sightings[0];
    const behindMs = oldest === undefined ? 0 : this.#parts.clock.monotonic() - oldest.atMs;
    if (oldest === undefined || behindMs <= MAX_LAG_MS) return null;
    return `Events are behind: row ${oldest.upTo} has waited ${Math.round(behindMs / 1000)} s to be published.`;
  }

  /** Stops; resolves when nothing is published any more. Twice is fine. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWake?.();
    await this.#run;
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#isRequested && !this.#isClosed) {
        this.#isRequested = false;
        await this.#publishSettled();
      }
      this.#isFailing = false;
    } catch (error) {
      this.#wasAway = true;
      if (isAppError(error) && error.kind === 'unavailable') return;
      this.#isFailing = true;
      this.#parts.log.error('publishing new rows failed; it is tried again', { error });
      this.#cancelWake?.();
      if (!this.#isClosed) this.#cancelWake = this.#parts.clock.after(RETRY_MS, () => this.publishPending());
    } finally {
      this.#isRunning = false;
    }
  }

  async #publishSettled(): Promise<void> {
    const { messages: log, channel, clock } = this.#parts;
    let mark = this.#place();
    if (this.#wasAway) {
      this.#wasAway = false;
      channel.wake(); // readers that wait for chat.db
    }
    while (!this.#isClosed) {
      const arrivals = log.pendingRows(mark.rowId, BATCH_ROWS);
      if (arrivals.length === 0) this.#sightings.length = 0; // what was seen beyond the mark is gone again
      const settled = this.#settled(arrivals);
      const newest = settled.at(-1);
      if (newest === undefined) {
        if (!this.#isStored) this.#store(mark);
        return;
      }
      channel.publish(settled);
      this.#lastPublishedAtMs = clock.monotonic();
      mark = { rowId: newest.rowId, guid: newest.guid, inode: mark.inode };
      this.#store(mark);
      while ((this.#sightings[0]?.upTo ?? Number.POSITIVE_INFINITY) <= mark.rowId) this.#sightings.shift();
      // Let requests and sockets have their turn, then whoever was level (C7).
      await new Promise<void>((resolve) => void setImmediate(resolve));
      await channel.drained(clock, DRAIN_WAIT_MS);
      // Either there was no more, or something changed meanwhile: what lies there now may be another database, whose
      // rows are no continuation (C5).
      if (arrivals.length < BATCH_ROWS || this.#isRequested) return;
    }
  }

  /** The place to go on from; starts over when there is none yet (C4) or the log is another one (C5). */
  #place(): Cursor {
    const { messages: log, channel, cursor, log: logger } = this.#parts;
    const known = this.#cursor;
    if (known !== undefined) {
      const identity = log.identity(known.rowId);
      if (!isReplaced(known, identity)) {
        this.#noteSighting(identity.highestRowId);
        if (identity.inode !== known.inode) this.#store({ ...known, inode: identity.inode });
        return this.#cursor ?? known;
      }
    }
    const newest = log.newest();
    // First what may fail: then the next look finds the log as new as this one did, and everyone starts over.
    cursor.restart(newest);
    this.#cursor = newest;
    this.#isStored = true;
    this.#sightings.length = 0;
    if (known === undefined) logger.info('first start: events begin after the newest row', { row_id: newest.rowId });
    else {
      logger.warn('the messages database was replaced: what it holds now is not published as new', {
        was_at_row_id: known.rowId,
        now_at_row_id: newest.rowId,
      });
    }
    channel.restart(newest.rowId);
    return newest;
  }

  #store(mark: Cursor): void {
    this.#cursor = mark;
    this.#isStored = false;
    this.#parts.cursor.save(mark);
    this.#isStored = true;
  }

  /** The rows at the front that need not wait any longer; arranges to look again when the next one may go. */
  #settled(arrivals: readonly PendingRow[]): readonly PendingRow[] {
    const { clock } = this.#parts;
    const nowMs = clock.monotonic();
    this.#cancelWake?.();
    const newest = arrivals.at(-1);
    if (newest !== undefined) this.#noteSighting(newest.rowId);
    for (const [index, arrival] of arrivals.entries()) {
      const seenAtMs = this.#sightings.find((sighting) => sighting.upTo >= arrival.rowId)?.atMs ?? nowMs;
      const endsAtMs = waitEndsAt(arrival, seenAtMs, clock.now());
      if (endsAtMs > nowMs) {
        this.#cancelWake = clock.after(endsAtMs - nowMs, () => this.publishPending());
        return arrivals.slice(0, index);
      }
    }
    return arrivals;
  }

  #noteSighting(rowId: number): void {
    if (rowId <= Math.max(this.#cursor?.rowId ?? 0, this.#sightings.at(-1)?.upTo ?? 0)) return;
    this.#sightings.push({ upTo: rowId, atMs: this.#parts.clock.monotonic() });
  }
}
