import { join } from 'node:path';
import { afterEach } from '@jest/globals';
import type { SearchHit } from '../../src/client/types.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import type { Offset } from '../../src/core/model/offset.ts';
import type { ConsumerTask, EventConsumer, RowFeed } from '../../src/core/model/ports/feed-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { DECODERS } from '../../src/features/rows.ts';
import { ChatIndexSource, IndexReader } from '../../src/features/search/index/index-source.ts';
import { IndexWriter } from '../../src/features/search/index/index-writer.ts';
import { openSearch, type RunningSearch } from '../../src/features/search/index/open-search.ts';
import { parseSearch } from '../../src/features/search/language/search-text.ts';
import { Finder } from '../../src/features/search/query/finder.ts';
import type { SearchQuery } from '../../src/features/search/types.ts';
import { chatDatabases } from './chat-databases.ts';
import type { Schema } from './chat-fixture.ts';
import { eventually } from './eventually.ts';
import { FakeClock } from './fake-clock.ts';
import { collectingLog } from './log.ts';

type SearchFeed = Pick<RowFeed, 'lastPublished' | 'changeGeneration' | 'resolve' | 'consume'>;

/** An event log that a test writes entry by entry, handled in order and at the test's pace. */
export class ScriptedFeed implements SearchFeed {
  last: Offset = { rowId: 0, change: 0 };
  generation = 1;
  /** The error that `resolve` throws, if any. */
  refusal: Error | undefined;
  /** Offsets at which readers began. */
  readonly begun: Offset[] = [];
  #task: ConsumerTask<unknown> | undefined;

  lastPublished(): Offset {
    return this.last;
  }

  changeGeneration(): number {
    return this.generation;
  }

  resolve(offset: Offset): Offset {
    if (this.refusal !== undefined) throw this.refusal;
    return offset;
  }

  consume<Outcome>(task: ConsumerTask<Outcome>): EventConsumer {
    this.#task = task;
    const offset = task.storedOffset();
    this.begun.push(offset);
    const stop = (): void => {
      if (this.#task === task) this.#task = undefined;
    };
    return {
      offset,
      ended: Promise.resolve(),
      start: () => undefined,
      stop,
      seek: () => undefined,
      wake: () => undefined,
    };
  }

  async add(entry: Omit<LogEntry, 'guid'>): Promise<void> {
    this.last = entry.offset;
    await this.#task?.handle({ guid: '', ...entry });
    this.#task?.progress(entry.offset);
  }

  changed(change: number, row: number, event: LogEntry['event']): Promise<void> {
    return this.add({ rowId: row, offset: { rowId: this.last.rowId, change }, change, event });
  }

  removed(change: number, row: number): Promise<void> {
    const data = { id: String(row), guid: '', conversation_id: '' };
    return this.changed(change, row, { type: 'message.removed', data });
  }

  /** Starts the log over. */
  replace(): void {
    this.#task?.storedOffset();
  }
}

export const ANYTHING: SearchQuery = { terms: [], excluded: [], senders: [], conversations: [], hasAttachment: false };

export const bodies = (hits: readonly SearchHit[]): string[] => hits.map(({ message }) => message.body);
export const ids = (hits: readonly SearchHit[]): number[] => hits.map(({ message }) => Number(message.id));

/** Creates real databases, indexes and queries; only the event log is scripted. */
export function searchFixture() {
  const { folder, open } = chatDatabases();
  const running: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of running.splice(0)) await close();
  });
  let files = 0;

  return {
    folder,
    /** Creates an empty chat.db on which search can be started as often as needed. */
    create: (schema?: Schema) => {
      files += 1;
      const { fixture, connection } = open(schema, undefined, 'reactions', [], DECODERS);
      const path = join(folder, `search-${files}.db`);
      const feed = new ScriptedFeed();
      const log = collectingLog();
      const source = new ChatIndexSource(connection);
      const reader = new IndexReader(connection);
      const finder = new Finder(reader);
      const writer = new IndexWriter(reader);
      const found: { stale: number } = { stale: 0 };
      const opened: string[] = [];
      /** Rows that the writer was asked to index at once. */
      const put: number[] = [];
      const clock = new FakeClock();
      let search: RunningSearch | undefined;
      const current = (): RunningSearch => {
        if (search === undefined) throw new Error('search is not started');
        return search;
      };
      const close = async (): Promise<void> => {
        await search?.close();
        finder.close();
        writer.close();
      };
      running.push(close);
      /** Parses a text that a person types into a query. */
      const ask = (text: string, more: Partial<SearchQuery> = {}): SearchQuery => {
        const { terms, excluded, hasAttachment } = parseSearch(text, { isScoped: true });
        return { ...ANYTHING, terms, excluded, hasAttachment, ...more };
      };
      return {
        ...{ fixture, connection, path, feed, log, found, opened, put, clock, ask, close },
        start: async (place = path): Promise<void> => {
          feed.last = { ...feed.last, rowId: new ChatLog(connection).newest().offset.rowId };
          search = await openSearch(true, {
            path: place,
            source,
            feed,
            messages: new ChatLog(connection),
            onOpened: (file) => void opened.push(file),
            // The test decides which day it is; everything else runs in real time.
            clock: { ...systemClock, now: () => clock.now() },
            log,
            work: {
              find: async (...args) => {
                const answer = finder.find(...args);
                found.stale += answer.stale.length;
                return answer;
              },
              add: async (...args) => writer.add(...args),
              put: async (...args) => {
                put.push(...args[1].map(({ row }) => row));
                return writer.put(...args);
              },
              advance: async (...args) => writer.advance(...args),
              merge: async (...args) => writer.merge(...args),
            },
          });
          search.start();
        },
        complete: () =>
          eventually(() => {
            if (!current().status().isComplete) throw new Error(JSON.stringify(current().status()));
          }),
        status: () => current().status(),
        page: async (query: SearchQuery, limit = 50, cursor?: string) => {
          const { items, next } = await current().search(query, { limit, cursor });
          return { items, next };
        },
        find: async (text: string, more: Partial<SearchQuery> = {}) =>
          (await current().search(ask(text, more), { limit: 200 })).items,
      };
    },
  };
}
