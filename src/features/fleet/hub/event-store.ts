import { CHAIN_START } from '../protocol/event-message.ts';
import { deleteOldEvents } from './event-deletion.ts';
import { EventIndex } from './event-index.ts';
import { type HubDatabase, STREAM_ID } from './hub-database.ts';
import type { PairCopies } from './pair-copies.ts';
import { PlaceTable } from './place-table.ts';
import { PositionTable } from './position-table.ts';
import type {
  FilledRow,
  Hole,
  MacEvent,
  NewestRow,
  ReceivedEvent,
  StoredEvent,
  StreamMessage,
  StreamPlace,
} from './stored-event.ts';
import { isOfChanges, macOf, NOTHING, queueOf, WaitingTable } from './waiting-table.ts';

/** Maximum number of events released in one step, which takes a few milliseconds. */
const STEP = 256;

/** Writes the copy of the stream in hub.db (decision N1). */
export class EventStore {
  readonly index: EventIndex;
  readonly #database: HubDatabase;
  readonly #waiting: WaitingTable;
  readonly #places: PlaceTable;
  readonly #copies: PairCopies | undefined;
  readonly #position: PositionTable;

  constructor(database: HubDatabase, copies?: PairCopies, backfillHours?: number) {
    this.#database = database;
    this.#copies = copies;
    this.index = new EventIndex(database);
    this.#waiting = new WaitingTable(database);
    this.#places = new PlaceTable(database, backfillHours);
    this.#position = new PositionTable(database);
  }

  /** The id that offsets contain for this hub's copy of the stream. */
  get copy(): string {
    return this.#database.id.slice(0, 8);
  }

  /** The number of the newest event; 0 before the first. */
  get newest(): number {
    return this.#database.number('SELECT max(number) FROM event') ?? 0;
  }

  /** The place of the newest message read from the stream, whether or not it was an event. */
  get position(): StreamPlace | undefined {
    return this.#position.last;
  }

  /** Returns the highest row seen from a Mac and epoch; undefined before the first. */
  lastRow(mac: string, epoch: string): number | undefined {
    const sql = 'SELECT last_row FROM source WHERE queue = ? AND epoch = ?';
    return this.#database.number(sql, queueOf(mac, epoch), epoch);
  }

  /** Like `index.numberAt`, but also finds messages that were merged with an event of the other Mac of a pair. */
  numberAt(offset: StreamPlace): number | undefined {
    return this.index.numberAt(offset) ?? this.#copies?.numberAt(offset);
  }

  /** Returns the newest message known at a sequence of a stream; undefined if there is none. */
  messageAt(stream: string, sequence: number): StreamMessage | undefined {
    const { position } = this;
    if (position?.stream === stream && position.sequence === sequence) return position;
    const event = this.index.messageAt(stream, sequence);
    const merged = this.#copies?.messageAt(stream, sequence);
    return (merged?.atMs ?? 0) > (event?.atMs ?? 0) ? merged : event;
  }

  /** Sequence after which the stream may lack rows that no Mac has announced. It is the `floor` of new offsets. */
  get doubtfulAfter(): number | undefined {
    return this.#position.doubtfulAfter;
  }

  set doubtfulAfter(sequence: number | undefined) {
    this.#position.doubtfulAfter = sequence;
  }

  /** Returns the names of the queues with waiting events; see `queueOf`. */
  waitingQueues(): readonly string[] {
    return this.#waiting.queues();
  }

  /** Returns the missing rows that a queue waits for; undefined if there are none, or if the queue `#isBlocked`. */
  hole(queue: string): Hole | undefined {
    return this.#isBlocked(queue) ? undefined : this.#waiting.hole(queue);
  }

  /** Counts the ranges of missing rows that a queue waits for, up to 1,000. */
  holes(queue: string): number {
    return this.#waiting.holes(queue);
  }

  /** Adds new events and sets the position. Returns the events to publish; others must wait behind missing rows. */
  add(events: readonly ReceivedEvent[], position: StreamPlace, nowMs: number): readonly StoredEvent[] {
    const { stream, sequence } = position;
    return this.#changed(() => {
      this.#places.follow(this.position, { stream, sequence: events[0]?.sequence ?? sequence });
      const added = events.flatMap((event) => this.#addOne(stream, event, nowMs));
      this.#position.last = position;
      return added;
    });
  }

  /** Opens a hole if hub.db lacks rows that a Mac has published. The stream must have been read up to `sequence`. */
  noteLast(mac: string, { stream, epoch, sequence, row }: NewestRow, nowMs: number): void {
    const known = this.lastRow(mac, epoch);
    const isLate = known === undefined && sequence > 0 && this.#isMissing(queueOf(mac, epoch), stream, sequence);
    if (row <= (known ?? 0) || (known === undefined && !isLate)) return;
    this.#changed(() => {
      const source = this.#source(mac, epoch);
      this.#setLastRow(source, row);
      const place = { sequence: Math.max(sequence, this.position?.sequence ?? 0), atMs: nowMs };
      const missing = { after: known ?? row, last: row };
      this.#waiting.add(stream, source, { ...NOTHING, mac, epoch, row, ...place }, missing, nowMs);
    });
  }

  /** Adds rows that a Mac supplied, and moves the start of their hole to `upTo`. Returns the events to publish. */
  fill({ mac, epoch, queue }: Hole, rows: readonly FilledRow[], upTo: number): readonly StoredEvent[] {
    return this.#changed(() => {
      const hole = this.hole(queue);
      // A refilled stream may have supplied some of the rows before the Mac did.
      if (hole?.epoch !== epoch || upTo <= hole.after) return [];
      const missing = rows.filter(({ row }) => row > hole.after);
      const added = missing.flatMap((row) =>
        this.#insertLate(hole.place.stream, { mac, epoch, ...hole.place, ...row }),
      );
      this.#waiting.shrink(hole, upTo);
      return [...added, ...(this.#release(queue) ?? [])];
    });
  }

  /**
   * Gives up the rows of a hole up to `last`; from then on, offsets before these rows are refused. Returns the events
   * to publish. If the queue lost too much in the last hour, changes nothing and returns undefined.
   */
  giveUp({ epoch, queue, last }: Hole, nowMs: number): readonly StoredEvent[] | undefined {
    return this.#changed(() => {
      const hole = this.hole(queue);
      if (hole?.epoch !== epoch || last < Math.min(hole.after + 1, hole.last)) return [];
      if (!this.#waiting.addGap(queue, nowMs)) return undefined;
      this.#waiting.shrink(hole, last);
      return this.#release(queue) ?? [];
    });
  }

  /** Inserts up to `STEP` events that no longer need to wait, and returns them; undefined if there are none. */
  release(queue: string): readonly StoredEvent[] | undefined {
    return this.#changed(() => this.#release(queue));
  }

  /** Merges some of the events that the Macs of a new pair published earlier. Returns false once all are merged. */
  mergeStep(): boolean {
    return this.#changed(() => this.#copies?.mergeStep() === true);
  }

  /** Deletes some events that the stream no longer keeps, never the newest one. Returns true if there may be more. */
  cut(beforeMs: number, stream: string, firstSequence: number): boolean {
    return this.#database.transaction(() => {
      const isMore = deleteOldEvents(this.#database, beforeMs, stream, firstSequence);
      this.#copies?.cut(beforeMs);
      return isMore;
    });
  }

  #addOne(stream: string, event: ReceivedEvent, nowMs: number): readonly StoredEvent[] {
    const { mac, epoch, row, previousRow, previousSequence, type, atMs } = event;
    const known = this.lastRow(mac, epoch);
    const source = this.#source(mac, epoch);
    const [queue, isStart] = [queueOf(mac, epoch), type === CHAIN_START];
    if (row >= (known ?? 0)) this.#places.settle(source);
    if (known !== undefined && row <= known) return isStart ? [] : this.#addKnown(stream, source, event);
    const isUnknown = isStart || (previousRow > 0 && this.#isMissing(queue, stream, previousSequence));
    const isHole = known === undefined ? isUnknown : previousRow > known;
    this.#setLastRow(source, row);
    const isWaiting = this.#waiting.has(queue) || this.#isBlocked(queue);
    if (!isWaiting && !isHole) return this.#insert(stream, source, event);
    // No Mac can supply changes from before its chain began. The gap added here makes hubs refuse earlier offsets.
    if (isStart && known === undefined && !isWaiting && this.#waiting.addGap(queue, atMs)) return [];
    const missing = isHole ? { after: known ?? previousRow, last: previousRow } : undefined;
    this.#waiting.add(stream, source, isStart ? { ...event, ...NOTHING } : event, missing, nowMs);
    return [];
  }

  /** Reports whether a queue must wait: until its pair is merged or, for a queue of changes, for the Mac's rows. */
  #isBlocked(queue: string): boolean {
    const mac = macOf(queue);
    return this.#copies?.isMerging(mac) === true || (isOfChanges(queue) && this.#waiting.has(mac));
  }

  #setLastRow(source: number, row: number): void {
    this.#database.run('UPDATE source SET last_row = ? WHERE id = ?', row, source);
  }

  /**
   * Reports whether the hub missed a Mac's message at `sequence`, for an epoch new to the hub. With sequence 0, the
   * stream held nothing from the Mac; the hub then missed rows only if it knows another epoch of the Mac.
   */
  #isMissing(queue: string, stream: string, sequence: number): boolean {
    if (sequence === 0) {
      return this.#database.get('SELECT 1 FROM source WHERE queue = ? LIMIT 1 OFFSET 1', queue) !== undefined;
    }
    const sql = 'SELECT 1 FROM stream WHERE created = ? AND first_sequence <= ?';
    return this.#database.get(sql, stream, sequence) !== undefined;
  }

  /** Handles an event whose row is known: stores its additional place, or inserts a missing row that comes late. */
  #addKnown(stream: string, source: number, event: ReceivedEvent): readonly StoredEvent[] {
    const { mac, epoch, row, previousRow, sequence, atMs } = event;
    const queue = queueOf(mac, epoch);
    if (this.#waiting.has(queue)) {
      const hole = this.hole(queue);
      if (hole?.epoch === epoch && previousRow <= hole.after && row > hole.after && row <= hole.last) {
        const added = this.#insertLate(stream, event);
        this.#waiting.shrink(hole, row);
        return [...added, ...(this.#release(queue) ?? [])];
      }
      this.#waiting.move(stream, source, event);
    }
    const found = 'SELECT number, sequence = ? AND at_ms = ? FROM event WHERE source = ? AND row = ?';
    const [number, isThere] = this.#database.get(found, sequence, atMs, source, row) ?? [];
    if (number === undefined) this.#copies?.merge(stream, event);
    else {
      this.#places.find(stream, Number(number));
      if (Number(isThere) === 0) this.#places.note(stream, event, Number(number));
    }
    return [];
  }

  /** Inserts and returns an event. Returns an empty list if the other Mac of a pair has published the same event. */
  #insert(stream: string, source: number, event: MacEvent): readonly StoredEvent[] {
    if (this.#copies?.merge(stream, event) === true) return [];
    const [floor, changeFloor] = this.#floors(stream, event.sequence);
    this.#database.run(
      `INSERT INTO event (stream, sequence, message_id, at_ms, source, row, type, key_id, body, floor, change_floor)
       VALUES (${STREAM_ID}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[stream, event.sequence, event.messageId, event.atMs, source, event.row, event.type],
      ...[event.keyId, event.body, floor ?? null, changeFloor ?? null],
    );
    const stored = { ...event, number: this.newest, stream, floor, changeFloor };
    this.#copies?.add(stored);
    return [stored];
  }

  /** Inserts an event after others with a higher sequence, and therefore also stores its place in `later_place`. */
  #insertLate(stream: string, event: MacEvent): readonly StoredEvent[] {
    const added = this.#insert(stream, this.#source(event.mac, event.epoch), event);
    for (const { number } of added) this.#places.note(stream, event, number);
    return added;
  }

  #release(queue: string): readonly StoredEvent[] | undefined {
    if (this.#isBlocked(queue)) return undefined;
    const waited = this.index.waiting(queue, STEP);
    const last = waited.at(-1);
    if (last === undefined) return undefined;
    // Deletes the events from `waiting` before inserting them. Otherwise they would lower their own floors.
    this.#waiting.deleteUpTo(last);
    return waited.flatMap((event) => (event.type === NOTHING.type ? [] : this.#insertLate(event.stream, event)));
  }

  /** Returns `floor` and `changeFloor` of an event's offset, which `StreamOffset` explains. */
  #floors(stream: string, sequence: number): readonly (number | undefined)[] {
    const known = Math.min(sequence, this.doubtfulAfter ?? sequence);
    const [rows = known, all = known] = this.#waiting.floors(stream).map((floor) => floor && Math.min(floor, known));
    return [rows < sequence ? rows : undefined, all < rows ? all : undefined];
  }

  /** Returns the id of a Mac's epoch in the table `source`. Adds the epoch if it is new. */
  #source(mac: string, epoch: string): number {
    const sql = 'SELECT id FROM source WHERE queue = ? AND epoch = ?';
    const queue = queueOf(mac, epoch);
    const known = this.#database.number(sql, queue, epoch);
    if (known !== undefined) return known;
    this.#database.run('INSERT INTO source (queue, epoch, mac, last_row) VALUES (?, ?, ?, 0)', queue, epoch, mac);
    return this.#database.number(sql, queue, epoch) ?? 0;
  }

  /** Runs a transaction. If it fails, discards the state in memory and reads it again. */
  #changed<Result>(change: () => Result): Result {
    try {
      return this.#database.transaction(change);
    } catch (error) {
      this.#places.forget();
      this.#copies?.reload();
      throw error;
    }
  }
}
