import type { LastPublished } from '../../schema/fleet-records.ts';
import { CHAIN_START } from '../protocol/event-message.ts';
import type { HubDatabase } from './database.ts';
import { deleteOldEvents } from './event-deletion.ts';
import { EventIndex } from './event-index.ts';
import { HoleTable } from './hole-table.ts';
import type { PairCopies } from './pair-copies.ts';
import { PlaceTable } from './place-table.ts';
import { PositionTable } from './position-table.ts';
import { type MacSource, SourceTable } from './source-table.ts';
import type {
  FilledRow,
  Hole,
  MacEvent,
  ReceivedEvent,
  StoredEvent,
  StreamMessage,
  StreamPlace,
} from './stored-event.ts';

/** Writes the copy of the stream in hub.db (decision N1). */
export class EventStore {
  readonly index: EventIndex;
  readonly #database: HubDatabase;
  readonly #holes: HoleTable;
  readonly #places: PlaceTable;
  readonly #copies: PairCopies | undefined;
  readonly #sources: SourceTable;
  readonly #position: PositionTable;
  #newest = 0;

  constructor(database: HubDatabase, copies?: PairCopies, backfillHours?: number) {
    this.#database = database;
    this.#copies = copies;
    this.index = new EventIndex(database);
    this.#holes = new HoleTable(database);
    this.#sources = new SourceTable(database);
    this.#places = new PlaceTable(database, backfillHours);
    this.#position = new PositionTable(database);
    this.#load();
  }

  /** The name of this copy in offsets. */
  get copy(): string {
    return this.#database.id.slice(0, 8);
  }

  /** The number of the newest event; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** The last message examined, whether or not it was an event. */
  get position(): StreamPlace | undefined {
    return this.#position.last;
  }

  /** Returns the highest row seen from a Mac and epoch; undefined before the first. */
  lastRow(mac: string, epoch: string): number | undefined {
    return this.#sources.find(mac, epoch)?.lastRow;
  }

  /** Like `index.numberAt`, also for the place of a copy that was merged with the other Mac's event. */
  numberAt(offset: StreamPlace): number | undefined {
    return this.index.numberAt(offset) ?? this.#copies?.numberAt(offset);
  }

  /** Returns the message that was last copied from a place. */
  messageAt(stream: string, sequence: number): StreamMessage | undefined {
    const { position } = this;
    if (position?.stream === stream && position.sequence === sequence) return position;
    const event = this.index.messageAt(stream, sequence);
    const merged = this.#copies?.messageAt(stream, sequence);
    return (merged?.atMs ?? 0) > (event?.atMs ?? 0) ? merged : event;
  }

  /** The sequence after which the stream may lack rows that no Mac has named yet. It is the floor of offsets. */
  get doubtfulAfter(): number | undefined {
    return this.#position.doubtfulAfter;
  }

  set doubtfulAfter(sequence: number | undefined) {
    this.#position.doubtfulAfter = sequence;
  }

  get hasHoles(): boolean {
    return this.#sources.areWaiting;
  }

  /** Returns the open holes, the oldest of each Mac first. */
  holes(): readonly Hole[] {
    return this.#holes.list();
  }

  /**
   * Adds new events and sets the position, in one transaction. Returns the events that may be published: those behind a
   * hole wait. Known events, which a refilled stream repeats, only get a further place.
   */
  add(events: readonly ReceivedEvent[], position: StreamPlace, nowMs: number): readonly StoredEvent[] {
    const { stream, sequence } = position;
    return this.#changed(() => {
      this.#places.follow(this.position, { stream, sequence: events[0]?.sequence ?? sequence });
      const added = events.flatMap((event) => this.#addOne(stream, event, nowMs));
      this.#position.last = position;
      return added;
    });
  }

  /** Opens a hole if a Mac has published rows that are not here. The stream must have been read up to `sequence`. */
  noteLast(mac: string, epoch: string, { stream, sequence, row }: LastPublished, nowMs: number): void {
    const known = this.lastRow(mac, epoch);
    const isLate =
      known === undefined && sequence > 0 && this.#isMissing({ mac, isOfChanges: false }, stream, sequence);
    if (row <= (known ?? 0) || (known === undefined && !isLate)) return;
    this.#changed(() => {
      const source = this.#sources.get(mac, epoch);
      this.#sources.setLastRow(source, row);
      const hole = { after: known ?? row, last: row, before: row + 1, openedMs: nowMs };
      const place = { sequence: Math.max(sequence, this.position?.sequence ?? 0), atMs: nowMs };
      this.#openHole(stream, source, hole, place);
    });
  }

  /** Adds rows of a hole, in order from its start. `isComplete` closes it and adds the events that waited behind it. */
  fill({ mac, epoch, before }: Hole, rows: readonly FilledRow[], isComplete: boolean): readonly StoredEvent[] {
    const source = this.#sources.get(mac, epoch);
    return this.#changed(() => {
      const { stream, ...place } = this.#holes.placeOf(source.id, before);
      const added = rows.flatMap((row) => this.#insertLate(stream, source, { mac, epoch, ...place, ...row }));
      const last = rows.at(-1)?.row;
      if (last !== undefined) this.#holes.shrink(source.id, before, last);
      return isComplete ? [...added, ...this.#close(source, before)] : added;
    });
  }

  /** Closes a hole whose rows nobody can supply any more. Offsets before it are refused afterwards. */
  giveUp({ mac, epoch, before }: Hole): readonly StoredEvent[] {
    return this.#changed(() => {
      const source = this.#sources.get(mac, epoch);
      this.#holes.addGap(source.isOfChanges);
      return this.#close(source, before);
    });
  }

  /** Deletes some events that the stream no longer keeps, never the newest one. Returns true if there may be more. */
  cut(beforeMs: number, stream: string, firstSequence: number): boolean {
    return this.#database.transaction(() => {
      const isMore = deleteOldEvents(this.#database, { beforeMs, stream, firstSequence });
      this.#copies?.cut(beforeMs);
      return isMore;
    });
  }

  #addOne(stream: string, event: ReceivedEvent, nowMs: number): readonly StoredEvent[] {
    const { mac, epoch, row, previousRow, previousSequence, sequence, atMs } = event;
    const known = this.lastRow(mac, epoch);
    const source = this.#sources.get(mac, epoch);
    if (row >= (known ?? 0)) this.#places.settle(source.id);
    if (event.type === CHAIN_START) {
      this.#beginChanges(stream, source, known, event, nowMs);
      return [];
    }
    if (known !== undefined && row <= known) return this.#addKnown(stream, source, event);
    const isHole =
      known === undefined ? previousRow > 0 && this.#isMissing(source, stream, previousSequence) : previousRow > known;
    this.#sources.setLastRow(source, row);
    if (isHole) {
      const hole = { after: known ?? previousRow, last: previousRow, before: row, openedMs: nowMs };
      this.#openHole(stream, source, hole, { sequence, atMs });
    }
    if (!source.isWaiting && !this.#sources.waitsForRows(source)) return this.#insert(stream, source, event);
    this.#holes.wait(stream, source.id, event);
    return [];
  }

  /**
   * Begins or continues a chain of changes. What it lacks is a hole; one that nobody can fill if this hub does not know
   * the chain, because earlier changes of the Mac were not published.
   */
  #beginChanges(
    stream: string,
    source: MacSource,
    known: number | undefined,
    at: ReceivedEvent,
    openedMs: number,
  ): void {
    const { row: last } = at;
    if (known !== undefined && known >= last) return;
    this.#sources.setLastRow(source, last);
    this.#openHole(stream, source, { after: known ?? last, last, before: last + 1, openedMs }, at);
  }

  /**
   * Reports whether this hub missed the message before the first one that it has from an epoch. Sequence 0 means that
   * the stream held nothing from the Mac, so that one was missed only if the Mac is known from another epoch.
   */
  #isMissing({ mac, isOfChanges }: Pick<MacSource, 'mac' | 'isOfChanges'>, stream: string, sequence: number): boolean {
    if (sequence === 0) return this.#sources.of(mac, isOfChanges).length > 1;
    const sql = 'SELECT 1 FROM stream WHERE created = ? AND first_sequence <= ?';
    return this.#database.get(sql, stream, sequence) !== undefined;
  }

  #openHole(
    stream: string,
    source: MacSource,
    hole: Omit<Hole, 'mac' | 'epoch'>,
    at: Pick<MacEvent, 'sequence' | 'atMs'>,
  ): void {
    source.isWaiting = true;
    this.#holes.open(stream, source.id, hole, at);
  }

  /** Handles an event from a refilled stream that was seen before, or that was missing. */
  #addKnown(stream: string, source: MacSource, event: ReceivedEvent): readonly StoredEvent[] {
    const { row, previousRow, sequence, atMs } = event;
    if (this.#sources.waitsForRows(source)) return [];
    if (source.isWaiting) {
      const hole = this.#holes.around(source.id, row, previousRow);
      if (hole !== undefined) {
        const added = this.#insertLate(stream, source, event);
        this.#holes.shrink(source.id, hole.before, row);
        return row < hole.last ? added : [...added, ...this.#close(source, hole.before)];
      }
      this.#database.run(
        `UPDATE waiting SET stream = (SELECT id FROM stream WHERE created = ?), sequence = ?, at_ms = ?
         WHERE source = ? AND row = ?`,
        ...[stream, sequence, atMs, source.id, row],
      );
    }
    const found = 'SELECT number, sequence = ? AND at_ms = ? FROM event WHERE source = ? AND row = ?';
    const [number, isThere] = this.#database.get(found, sequence, atMs, source.id, row) ?? [];
    if (number === undefined) this.#copies?.merge(stream, event);
    else {
      this.#places.find(stream, Number(number));
      if (Number(isThere) === 0) this.#places.note(stream, event, Number(number));
    }
    return [];
  }

  /** Inserts an event. Returns nothing for a copy of an event that the other Mac of a pair has published. */
  #insert(stream: string, source: MacSource, event: MacEvent): readonly StoredEvent[] {
    if (this.#copies?.merge(stream, event) === true) return [];
    const floor = this.#floor(stream, event.sequence);
    this.#database.run(
      `INSERT INTO event (stream, sequence, message_id, at_ms, source, row, type, key_id, body, floor)
       VALUES ((SELECT id FROM stream WHERE created = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[stream, event.sequence, event.messageId, event.atMs, source.id, event.row, event.type],
      ...[event.keyId, event.body, floor ?? null],
    );
    this.#newest = this.#database.number('SELECT max(number) FROM event') ?? 0;
    const stored = { ...event, number: this.#newest, stream, floor };
    this.#copies?.add(stored);
    return [stored];
  }

  /** Inserts an event whose number is not in the order of its sequence. */
  #insertLate(stream: string, source: MacSource, event: MacEvent): readonly StoredEvent[] {
    const added = this.#insert(stream, source, event);
    for (const { number } of added) this.#places.note(stream, event, number);
    return added;
  }

  /** Deletes a hole and inserts the events that waited behind it, up to the next hole of its Mac. */
  #close(source: MacSource, before: number): readonly StoredEvent[] {
    this.#holes.delete(source.id, before);
    const released = [source, ...this.#sources.of(source.mac, true).filter((one) => one !== source)];
    return released.flatMap((one) => this.#release(one));
  }

  /** Inserts the events of a source that no longer have to wait. */
  #release(source: MacSource): readonly StoredEvent[] {
    const { id } = source;
    const first = this.#holes.first(id);
    source.isWaiting = first !== undefined;
    if (this.#sources.waitsForRows(source)) return [];
    // Deleted before they are inserted, so that they no longer count as missing.
    const waited = this.index.waiting(id, first ?? Number.MAX_SAFE_INTEGER);
    this.#holes.endWaiting(id, first ?? Number.MAX_SAFE_INTEGER);
    return waited.flatMap((event) => this.#insertLate(event.stream, source, event));
  }

  /** Returns the sequence up to which nothing is missing; undefined if that includes this event. */
  #floor(stream: string, sequence: number): number | undefined {
    const below = this.hasHoles ? this.#holes.floor(stream) : undefined;
    const floor = Math.min(below ?? sequence, this.doubtfulAfter ?? sequence);
    return floor >= sequence ? undefined : floor;
  }

  /** Runs a transaction. If it fails, the state in memory is read again. */
  #changed<Result>(change: () => Result): Result {
    try {
      return this.#database.transaction(change);
    } catch (error) {
      this.#sources.load();
      this.#load();
      throw error;
    }
  }

  #load(): void {
    this.#places.forget();
    // An offset cannot name a gap after the newest event. The next event reveals it.
    this.#newest = this.#database.number('SELECT max(number) FROM event') ?? 0;
    this.#position.load();
  }
}
