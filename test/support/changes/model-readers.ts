import type { LogEntry } from '../../../src/core/model/event.ts';
import { decodeOffset, encodeOffset, isAfter, type Offset } from '../../../src/core/model/offset.ts';
import type { EventConsumer, FeedReader } from '../../../src/core/model/ports/feed-ports.ts';
import { Mirror } from './mirror.ts';
import type { ModelChat } from './model-chat.ts';
import type { ModelService } from './model-service.ts';

/** Expects that an entry comes after everything before it, and belongs to a row that was delivered. */
function assertInOrder(position: Offset, { offset, event, rowId }: LogEntry, who: string): void {
  const isNext = isAfter(offset, position) && offset.rowId >= position.rowId && offset.change >= position.change;
  if (!isNext) fail(`${who}: ${JSON.stringify(offset)} came after ${JSON.stringify(position)}`);
  if (event.type === 'message.updated' && rowId > position.rowId) {
    fail(`${who}: row ${rowId} was updated before it was given`);
  }
}

export function fail(message: string): never {
  throw new Error(message);
}

/** A client with changes that disconnects, and resumes from the last offset it received. */
export class ChangesClient {
  readonly kind: 'resume' | 'live' | 'page';
  readonly mirror: Mirror;
  readonly name: string;
  #offset: string | undefined;
  #position: Offset = { rowId: 0, change: 0 };
  #generation = 0;
  #reader: FeedReader | undefined;
  #readerGeneration = 0;

  constructor(chat: ModelChat, kind: ChangesClient['kind'], number: number) {
    this.kind = kind;
    this.mirror = new Mirror(chat);
    this.name = `client ${number} (${kind})`;
  }

  get hasBegun(): boolean {
    return this.#offset !== undefined;
  }

  connect(service: ModelService): void {
    if (this.#reader !== undefined) return;
    const { feed } = service;
    const isEarly = service.detection.status().state !== 'on';
    const position = this.#resolve(service);
    const isFresh = this.#offset === undefined;
    const reader =
      isFresh && this.kind === 'live'
        ? feed.live(() => {}, { changes: true })
        : feed.resume(position, () => {}, { changes: true, backpressure: true });
    this.#generation = feed.changeGeneration();
    this.#position = position;
    this.#keep(position);
    this.#reader = reader;
    this.#readerGeneration = reader.generation();
    if (!isFresh) return;
    this.mirror.isEarly = isEarly;
    this.mirror.readAll(service);
  }

  /** Returns the position to continue from, or the one to start over at if the offset has expired. */
  #resolve({ feed }: ModelService): Offset {
    const known = this.#offset === undefined ? undefined : decodeOffset(this.#offset);
    try {
      return feed.resolve(known, { changes: true });
    } catch (error) {
      if ((error as { code?: string }).code !== 'offset_expired') throw error;
      this.#offset = undefined;
      return feed.resolve(undefined, { changes: true });
    }
  }

  disconnect(): void {
    this.#reader?.close();
    this.#reader = undefined;
  }

  /** Loses its process and its connection. */
  lose(): void {
    this.#reader = undefined;
  }

  /** Takes up to `limit` entries and keeps the first `kept` of them before the connection breaks. */
  take(service: ModelService, limit: number, kept = Number.POSITIVE_INFINITY): number {
    this.mirror.settle(service);
    if (this.kind === 'page' && this.#offset !== undefined) return this.#page(service, limit);
    const reader = this.#reader;
    if (reader === undefined) return 0;
    if (reader.generation() !== this.#readerGeneration) {
      this.#offset = undefined;
      this.disconnect();
      this.connect(service);
      return 1;
    }
    const { entries, upTo, missed } = reader.take(limit);
    if (missed > 0) fail(`${this.name}: missed ${missed}`);
    this.#give(entries.slice(0, kept));
    if (entries.length > kept) {
      this.disconnect();
      return kept;
    }
    this.#keep(upTo);
    return entries.length + (reader.isCaughtUp() ? 0 : 1);
  }

  #page(service: ModelService, limit: number): number {
    this.disconnect();
    const { feed } = service;
    let after: Offset;
    try {
      after = feed.resolve(decodeOffset(this.#offset ?? ''), { changes: true });
    } catch (error) {
      if ((error as { code?: string }).code !== 'offset_expired') throw error;
      this.#offset = undefined;
      this.connect(service);
      return 1;
    }
    const { entries, upTo } = feed.page(after, limit, { changes: true });
    this.#give(entries);
    const hasMoved = isAfter(upTo, this.#position);
    this.#keep(upTo);
    return entries.length + (hasMoved ? 1 : 0);
  }

  #give(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      assertInOrder(this.#position, entry, this.name);
      this.mirror.apply(entry);
      this.#keep(entry.offset);
    }
  }

  #keep(position: Offset): void {
    if (isAfter(this.#position, position)) {
      fail(`${this.name}: moved back from ${JSON.stringify(this.#position)} to ${JSON.stringify(position)}`);
    }
    this.#position = position;
    this.#offset = encodeOffset(position, this.#generation);
  }
}

/** A client of 0.1: it gets each new row once, in order, and nothing else. */
export class RowsClient {
  readonly #chat: ModelChat;
  readonly #received = new Set<number>();
  #last: number | undefined;
  #first = 0;
  #database = '';
  #reader: FeedReader | undefined;
  #readerGeneration = 0;

  constructor(chat: ModelChat) {
    this.#chat = chat;
  }

  connect({ feed }: ModelService): void {
    if (this.#reader !== undefined) return;
    // A client of rows cannot recognize another database by its row ids, so it starts over here.
    if (this.#database !== this.#chat.id) this.#last = undefined;
    this.#database = this.#chat.id;
    const position = this.#resolve(feed);
    if (this.#last === undefined) this.#startOver(position.rowId);
    this.#reader = feed.resume(position, () => {}, { backpressure: true });
    this.#readerGeneration = this.#reader.generation();
  }

  disconnect(): void {
    this.#reader?.close();
    this.#reader = undefined;
  }

  lose(): void {
    this.#reader = undefined;
  }

  take(limit: number): number {
    const reader = this.#reader;
    if (reader === undefined) return 0;
    const isOther = reader.generation() !== this.#readerGeneration;
    const { entries, upTo } = reader.take(limit);
    if (isOther) {
      this.#readerGeneration = reader.generation();
      this.#database = this.#chat.id;
      this.#startOver((entries[0]?.rowId ?? upTo.rowId + 1) - 1);
    }
    for (const { rowId, event, change, generation } of entries) {
      if (rowId <= (this.#last ?? 0)) fail(`a client of rows got row ${rowId} after row ${this.#last}`);
      if (change !== undefined || generation !== undefined) fail(`a client of rows got a change: ${event.type}`);
      this.#received.add(rowId);
      this.#last = rowId;
    }
    return entries.length + (reader.isCaughtUp() ? 0 : 1);
  }

  #resolve(feed: ModelService['feed']): Offset {
    try {
      return feed.resolve(this.#last === undefined ? undefined : { rowId: this.#last });
    } catch (error) {
      if ((error as { code?: string }).code !== 'after_unknown') throw error;
      this.#last = undefined;
      return feed.resolve(undefined);
    }
  }

  /** Returns the rows that it should have received; all of chat.db is published. */
  missing(): readonly number[] {
    return [...this.#chat.rows.keys()].filter((rowId) => rowId > this.#first && !this.#received.has(rowId));
  }

  #startOver(rowId: number): void {
    this.#received.clear();
    this.#first = rowId;
    this.#last = rowId;
  }
}

/** Models a webhook that gets changes at least once and in order. Its offset is stored in state.db. */
export class ModelConsumer {
  readonly mirror: Mirror;
  readonly name: string;
  #consumer: EventConsumer | undefined;

  constructor(chat: ModelChat, name: string) {
    this.mirror = new Mirror(chat);
    this.name = name;
  }

  /** If it began early, it reads again once every row has been checked; by then it has nothing left to handle. */
  settle(service: ModelService): void {
    this.mirror.settle(service);
  }

  start(service: ModelService, stored: Map<string, Offset>, storesAfterMs: number, schedule: FakeAfter): void {
    let generation = service.feed.changeGeneration();
    let last: Offset | undefined;
    this.#consumer = service.feed.consume<undefined>(
      {
        name: this.name,
        storedOffset: () => {
          const isOther = service.feed.changeGeneration() !== generation;
          generation = service.feed.changeGeneration();
          last = undefined;
          if (isOther) {
            this.mirror.isEarly = true;
            this.mirror.readAll(service);
          }
          return stored.get(this.name) ?? { rowId: 0, change: 0 };
        },
        handle: async (entry) => {
          if (service.isDead) return new Promise(() => {});
          if (last !== undefined) assertInOrder(last, entry, this.name);
          last = entry.offset;
          this.mirror.apply(entry);
          return { isDone: true };
        },
        gone: () => undefined,
        progress: (offset) => {
          const of = generation;
          schedule(storesAfterMs, () => {
            if (!service.isDead && service.feed.changeGeneration() === of) stored.set(this.name, offset);
          });
        },
      },
      { changes: true },
    );
    this.#consumer.start();
  }
}

export type FakeAfter = (ms: number, run: () => void) => void;
