import { expect, test } from '@jest/globals';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { type EventSource, eventHandlers } from '../../src/core/http/events/handlers.ts';
import type { Exchange } from '../../src/core/http/exchange.ts';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { Publisher } from '../../src/core/log/publisher.ts';
import type { Caller } from '../../src/core/model/caller.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { MessageLog } from '../../src/core/model/ports/feed-ports.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { encodeAttributedBody } from '../../src/features/simulator/typedstream.ts';
import { chatDatabases } from '../support/chat-databases.ts';
import { plainJson } from '../support/event-json.ts';
import { eventually } from '../support/eventually.ts';
import { collectingLog } from '../support/log.ts';
import { MemoryCursor } from '../support/memory-log.ts';

const databases = chatDatabases();
const ROWS = 40;
const BODY = 'x'.repeat(400_000);
/** Maximum text of one read, which takes 5 to 10 ms. */
const MAX_READ_BYTES = 4_194_304;

/** Counts the text that each read decodes. */
class CountingLog implements MessageLog {
  readonly readBytes: number[] = [];
  readonly #log: MessageLog;

  constructor(log: MessageLog) {
    this.#log = log;
  }

  entries(...parameters: Parameters<MessageLog['entries']>) {
    return this.#counted(this.#log.entries(...parameters));
  }

  pendingRows(...parameters: Parameters<MessageLog['pendingRows']>) {
    return this.#counted(this.#log.pendingRows(...parameters));
  }

  newest() {
    return this.#log.newest();
  }

  identity(...parameters: Parameters<MessageLog['identity']>) {
    return this.#log.identity(...parameters);
  }

  #counted<Entry extends LogEntry>(entries: readonly Entry[]): readonly Entry[] {
    this.readBytes.push(entries.reduce((sum, entry) => sum + bodyOf(entry).length, 0));
    return entries;
  }
}

function bodyOf({ event }: LogEntry): string {
  return 'body' in event.data ? event.data.body : '';
}

test('large bodies are published, resumed and paged complete, a bounded part of them at a time', async () => {
  const { fixture, connection } = databases.open();
  const chat = fixture.chat('any;-;1');
  const cursor = new MemoryCursor();
  cursor.save(new ChatLog(connection).newest());
  const attributedBody = encodeAttributedBody(BODY);
  for (let n = 0; n < ROWS; n += 1) fixture.message({ chat, attributedBody });
  const messages = new CountingLog(new ChatLog(connection));
  const channel = new Channel();
  const parts = { messages, channel, clock: systemClock, log: collectingLog() };
  const publisher = new Publisher({ ...parts, cursor });
  publisher.start();
  publisher.publishPending();
  await eventually(() => expect(channel.last.rowId).toBe(ROWS));
  await publisher.close();
  expect(cursor.saved.length).toBeGreaterThan(5);

  // After a restart the channel holds none of them.
  const later = new Channel();
  later.restart(rowOffset(ROWS));
  const feed = new Feed({ ...parts, channel: later });
  const reader = feed.resume(rowOffset(0), () => {});
  const resumed: LogEntry[] = [];
  while (!reader.isCaughtUp()) resumed.push(...reader.take(256).entries);
  reader.close();
  expect(resumed.map(({ rowId }) => rowId)).toEqual(Array.from({ length: ROWS }, (_, index) => index + 1));
  expect(resumed.filter((entry) => bodyOf(entry) !== BODY)).toEqual([]);

  const query = new URLSearchParams({ after: '0', limit: '1000' });
  const source = { ready: () => undefined } as unknown as EventSource;
  const caller = { feed, json: plainJson() } as unknown as Caller;
  const exchange = { query, caller, header: () => undefined } as unknown as Exchange;
  const { content } = await eventHandlers(source).listEvents(exchange);
  const listed = JSON.parse(String(content?.text)) as readonly unknown[];
  // One answer has at most 16 MB.
  expect(listed).toEqual(resumed.slice(0, 39).map(({ event }) => event));
  expect(Math.max(...messages.readBytes)).toBeLessThanOrEqual(MAX_READ_BYTES);
});
