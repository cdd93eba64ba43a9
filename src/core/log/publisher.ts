import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Cursor, isReplaced } from '../model/cursor.ts';
import { isChatDbAway } from '../model/errors.ts';
import type { PendingRow } from '../model/event.ts';
import type { Print } from '../model/fingerprint.ts';
import { type Offset, rowOffset } from '../model/offset.ts';
import type { Change } from '../model/ports/changes-ports.ts';
import type { CursorStore, MessageLog } from '../model/ports/feed-ports.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { ChangeStream } from './change-stream.ts';
import type { Channel } from './channel.ts';
import { LateJoins } from './late-joins.ts';
import { aged, type RowAges } from './row-ages.ts';

/**
 * Longest time a row may wait for its chat or its attachments, counted from when the row was first seen (decisions C2
 * and U2).
 */
const PARTS_WAIT_MS = 2000;
/** Longest time an outgoing row may wait for its sent flag (decision C2). */
const SENT_FLAG_WAIT_MS = 1000;
/** Longest time an incoming row waits because Messages may still mark it as outgoing. */
const OWN_WAIT_MS = 500;

/** Maximum rows per batch. After a batch, caught-up members get up to `DRAIN_WAIT_MS` to take it (decision C7). */
const BATCH_ROWS = 256;
const DRAIN_WAIT_MS = 250;
/** How long a row may remain unpublished after it was first seen, before health reports it. */
const MAX_LAG_MS = 30_000;
/** Delay before the next attempt after a failure, unless chat.db is unavailable. */
const RETRY_MS = 1000;

export interface PublisherParts {
  readonly messages: MessageLog;
  readonly channel: Channel;
  readonly cursor: CursorStore;
  /** The stream for readers with changes, and a function that returns the prints of the newest rows up to an offset. */
  readonly changes?: { readonly stream: ChangeStream; readonly printsUpTo: (at: Offset) => ReadonlyMap<number, Print> };
  /** Reports whether an incoming message may be the row of an unconfirmed send (decision U1). */
  readonly isAwaited?: (row: PendingRow) => boolean;
  /** Stores how old rows were when they were first seen (decision U4). */
  readonly ages?: Pick<RowAges, 'note' | 'restart'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Publishes new rows in row id order, one event each (decision C1), once they are complete (decisions C2, U1, U2). */
export class Publisher {
  readonly #parts: PublisherParts;
  #cursor: Cursor | undefined;
  /** False if the newest cursor could not be stored. A restart would then begin at the older, stored cursor. */
  #isStored = true;
  /**
   * Every unpublished row up to `upTo` existed at `atMs` (monotonic time). `seenMs` is the same moment in Unix time.
   */
  readonly #sightings: { readonly upTo: number; readonly atMs: number; readonly seenMs: number }[] = [];
  readonly #lateJoins = new LateJoins();
  #isRunning = false;
  #isRequested = false;
  #isClosed = false;
  #run: Promise<void> = Promise.resolve();
  #cancelWake: Cancel | undefined;
  #wasAway = false;
  /** True if the last run failed although chat.db was available. */
  #isFailing = false;
  #lastPublishedAtMs: number | undefined;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /** Loads the stored cursor, so that readers may join before chat.db is open. */
  start(): void {
    this.#cursor = this.#parts.cursor.load();
    if (this.#cursor === undefined) return;
    this.#parts.channel.restart(this.#cursor.offset);
    this.#parts.changes?.stream.restart(this.#cursor.offset.rowId);
  }

  /** The position up to which rows are published; undefined before chat.db was first read. */
  get cursor(): Cursor | undefined {
    return this.#cursor;
  }

  /** Publishes new rows. May be called at any time. Never throws: the commit detector reports that chat.db is away. */
  publishPending(): void {
    if (this.#isClosed) return;
    this.#isRequested = true;
    if (this.#isRunning) return;
    this.#run = this.#work();
  }

  /** The newest event: its row id, and the monotonic time at which this process published it. */
  get lastPublished(): { readonly rowId: number; readonly atMs: number | undefined } {
    return { rowId: this.#cursor?.offset.rowId ?? 0, atMs: this.#lastPublishedAtMs };
  }

  /**
   * Returns a sentence if publishing fails or a row has waited too long for its event; otherwise undefined. If this
   * check is the first to see a row, the row's wait begins now.
   */
  warning(): string | undefined {
    if (this.#isFailing) {
      return 'New rows cannot be published as events; the next attempt follows in a second. See the log.';
    }
    const published = this.#cursor?.offset.rowId;
    if (published === undefined) return undefined;
    try {
      const newest = this.#parts.messages.newest().offset.rowId;
      if (newest <= published) return undefined;
      this.#noteSighting(newest);
    } catch {
      return undefined; // chat.db is unavailable, which the database's health reports
    }
    const oldest = this.#sightings[0];
    const lagMs = oldest === undefined ? 0 : this.#parts.clock.monotonic() - oldest.atMs;
    if (oldest === undefined || lagMs <= MAX_LAG_MS) return undefined;
    return `Events are behind: row ${oldest.upTo} has waited ${Math.round(lagMs / 1000)} s to be published.`;
  }

  /** Stops publishing. Resolves once nothing is being published. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWake?.();
    await this.#run;
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    try {
      while (this.#isRequested) {
        this.#isRequested = false;
        await this.#publishSettled();
        this.#noteLateJoins();
        await this.#publishChanges();
      }
      this.#isFailing = false;
    } catch (error) {
      this.#wasAway = true;
      if (isChatDbAway(error)) return;
      this.#isFailing = true;
      this.#parts.log.error('could not publish new rows, retrying', { error });
      this.#cancelWake?.();
      if (!this.#isClosed) this.#cancelWake = this.#parts.clock.after(RETRY_MS, () => this.publishPending());
    } finally {
      this.#isRunning = false;
    }
  }

  async #publishSettled(): Promise<void> {
    const { messages, channel, clock } = this.#parts;
    let cursor = this.#currentCursor();
    if (this.#wasAway) {
      this.#wasAway = false;
      channel.wake(); // wakes readers that wait for chat.db
      this.#parts.changes?.stream.channel?.wake();
    }
    while (!this.#isClosed) {
      // Takes the time before reading the rows. The process may be suspended in between, while missing parts of a row
      // arrive. With a later time, the row would seem to have waited for these parts in vain.
      const askedAtMs = clock.monotonic();
      const pending = messages.pendingRows(cursor.offset, BATCH_ROWS, this.#hasChanges());
      if (pending.length === 0) this.#sightings.length = 0; // rows seen but not published were deleted
      const settled = this.#aged(this.#settled(pending, askedAtMs));
      const newest = settled.at(-1);
      if (newest === undefined) {
        if (!this.#isStored) this.#store(cursor);
        return;
      }
      channel.publish(settled.filter(({ isSilent }) => isSilent !== true));
      channel.skipTo(newest.offset);
      this.#lastPublishedAtMs = clock.monotonic();
      cursor = { offset: newest.offset, guid: newest.guid, inode: cursor.inode };
      this.#store(cursor, settled);
      if (this.#hasChanges()) this.#lateJoins.note(settled);
      while ((this.#sightings[0]?.upTo ?? Number.POSITIVE_INFINITY) <= newest.rowId) this.#sightings.shift();
      await this.#drained();
      const mayHaveMore = pending.length === BATCH_ROWS || this.#sightings.length > 0;
      if (!mayHaveMore || this.#isRequested) return;
      // By now the rows may belong to a different database (decision C5).
      cursor = this.#currentCursor();
    }
  }

  /** Stores as changes that earlier rows were joined to their chats. */
  #noteLateJoins(): void {
    const { messages, cursor: store, clock } = this.#parts;
    const changes = this.#lateJoins.take(messages);
    if (changes.length === 0 || this.#cursor === undefined || !this.#hasChanges()) return;
    store.save(this.#cursor, new Map(), changes, clock.now());
  }

  /** Publishes changes from the log, until there are rows to publish. */
  async #publishChanges(): Promise<void> {
    const { changes } = this.#parts;
    while (!this.#isClosed && changes?.stream.publishChanges() === true) {
      await this.#drained();
      if (this.#isRequested) return;
    }
  }

  /** Lets requests and sockets run, then waits for the members that were caught up before this batch (decision C7). */
  async #drained(): Promise<void> {
    const { channel, changes, clock } = this.#parts;
    await nextTurn();
    await channel.drained(clock, DRAIN_WAIT_MS);
    await changes?.stream.channel?.drained(clock, DRAIN_WAIT_MS);
  }

  /**
   * Returns the cursor to continue from. Starts over if there is none, or if chat.db was replaced (decisions C4, C5).
   */
  #currentCursor(): Cursor {
    const { messages, channel, changes, ages, cursor: store, log } = this.#parts;
    const known = this.#cursor;
    if (known !== undefined) {
      const identity = messages.identity(known.offset);
      if (!isReplaced(known, identity)) {
        this.#noteSighting(identity.highestRowId);
        if (identity.inode !== known.inode) this.#store({ ...known, inode: identity.inode });
        return this.#cursor ?? known;
      }
    }
    const newest = messages.newest();
    // Stored before it is used: if storing fails, the next run again finds that chat.db was replaced.
    store.restart(newest, changes?.stream.isOn === true ? changes.printsUpTo(newest.offset) : undefined);
    this.#cursor = newest;
    this.#isStored = true;
    this.#sightings.length = 0;
    this.#lateJoins.clear();
    const rowId = newest.offset.rowId;
    ages?.restart(rowId);
    if (known === undefined) log.info('first start: events begin after the newest row', { row_id: rowId });
    else {
      log.warn('the Messages database was replaced; its existing rows are not published', {
        was_at_row_id: known.offset.rowId,
        now_at_row_id: rowId,
      });
    }
    channel.restart(newest.offset);
    changes?.stream.restart(rowId);
    return newest;
  }

  #hasChanges(): boolean {
    return this.#parts.changes?.stream.channel !== undefined;
  }

  /** Stores the published position. Readers that ask for changes receive rows only once the rows' prints are stored. */
  #store(cursor: Cursor, rows: readonly PendingRow[] = []): void {
    const { changes } = this.#parts;
    const before = this.#cursor?.offset.rowId ?? 0;
    this.#cursor = cursor;
    this.#isStored = false;
    if (changes === undefined || !this.#hasChanges()) this.#parts.cursor.save(cursor);
    else if (changes.stream.lastRowId < before) this.#storeBehind(cursor, changes.stream);
    else this.#storeWithPrints(cursor, rows, changes.stream);
    this.#isStored = true;
  }

  #storeWithPrints(cursor: Cursor, rows: readonly PendingRow[], stream: ChangeStream): void {
    const prints = new Map<number, Print>();
    for (const { rowId, print } of rows) if (print !== undefined) prints.set(rowId, print);
    const copies = rows.flatMap(({ copies = [] }) => copies);
    const changes = copies.map((rowId): Change => ({ kind: 'updated', rowId, changes: ['mirror'] }));
    this.#parts.cursor.save(cursor, prints, changes, this.#parts.clock.now());
    stream.publishRows(rows.filter(({ isSilent }) => isSilent !== true));
    stream.skipTo(cursor.offset.rowId);
  }

  /** Catches up with rows whose prints could not be stored. Reads these rows again, because they may have changed. */
  #storeBehind(cursor: Cursor, stream: ChangeStream): void {
    const { messages } = this.#parts;
    for (;;) {
      const pending = messages.pendingRows(rowOffset(stream.lastRowId), BATCH_ROWS, true);
      const rows = pending.filter(({ rowId }) => rowId <= cursor.offset.rowId);
      const last = rows.at(-1);
      if (last === undefined) break;
      this.#storeWithPrints({ ...cursor, offset: last.offset, guid: last.guid }, rows, stream);
    }
    this.#parts.cursor.save(cursor);
  }

  /** Returns the rows before the first row that must still wait at `askedAtMs`. Schedules a run for the others. */
  #settled(pending: readonly PendingRow[], askedAtMs: number): readonly PendingRow[] {
    const { clock, isAwaited = () => false } = this.#parts;
    this.#cancelWake?.();
    const newest = pending.at(-1);
    if (newest !== undefined) this.#noteSighting(newest.rowId);
    for (const [index, row] of pending.entries()) {
      const seenAtMs = this.#sightingOf(row.rowId)?.atMs ?? askedAtMs;
      const endsAtMs = waitEndsAt(row, seenAtMs, isAwaited);
      if (endsAtMs > Math.max(askedAtMs, seenAtMs)) {
        this.#cancelWake = clock.after(Math.max(0, endsAtMs - clock.monotonic()), () => this.publishPending());
        return pending.slice(0, index);
      }
    }
    return pending;
  }

  /** Returns the rows with their ages. Stores the ages before any reader receives a row. */
  #aged(rows: readonly PendingRow[]): readonly PendingRow[] {
    const { ages, clock } = this.#parts;
    if (ages === undefined || rows.length === 0) return rows;
    const nowMs = clock.now();
    const found = ages.note(
      rows.map((row) => ({ row, seenMs: this.#sightingOf(row.rowId)?.seenMs ?? nowMs })),
      nowMs,
    );
    return found.size === 0 ? rows : aged(rows, found);
  }

  #sightingOf(rowId: number) {
    return this.#sightings.find(({ upTo }) => upTo >= rowId);
  }

  #noteSighting(rowId: number): void {
    if (rowId <= Math.max(this.#cursor?.offset.rowId ?? 0, this.#sightings.at(-1)?.upTo ?? 0)) return;
    const { clock } = this.#parts;
    this.#sightings.push({ upTo: rowId, atMs: clock.monotonic(), seenMs: clock.now() });
  }
}

/**
 * Returns the time at which the wait for a row ends, on the clock of `seenAtMs`. Returns `seenAtMs` itself if there is
 * nothing to wait for. `isAwaited` reports whether the row may belong to a running send. `isAwaited` is called only for
 * incoming messages, and only if no other reason to wait was found.
 */
function waitEndsAt(row: PendingRow, seenAtMs: number, isAwaited: (row: PendingRow) => boolean): number {
  if (row.isIncomplete) return seenAtMs + PARTS_WAIT_MS;
  if (row.isUnsent) return seenAtMs + SENT_FLAG_WAIT_MS;
  const mayBeOwn = row.lacksHandle || (row.event.type === 'message.received' && isAwaited(row));
  return mayBeOwn ? seenAtMs + OWN_WAIT_MS : seenAtMs;
}
