import { describe, expect, test } from '@jest/globals';
import type { LogEntry } from '../../src/core/model/event.ts';
import { BatchCache, type EventBatch } from '../../src/core/streams/batch.ts';
import { TEXT_FRAMES } from '../../src/core/streams/web-socket-clients.ts';
import { arrival } from '../support/memory-log.ts';

const LIMIT = 256 * 1024;

/** Returns the texts of a batch of frames, read as RFC 6455 says, section 5.2. */
function textsOf(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    expect(bytes[at]).toBe(0x81);
    let length = bytes[at + 1] ?? 0;
    at += 2;
    if (length === 126) {
      length = bytes.readUInt16BE(at);
      at += 2;
    } else if (length === 127) {
      length = Number(bytes.readBigUInt64BE(at));
      at += 8;
    }
    texts.push(bytes.subarray(at, at + length).toString('utf8'));
    at += length;
  }
  return texts;
}

const texts = new Map<LogEntry, string>();
let made = 0;
/** Batches of texts that are always ready. */
function newRuns(): { front(entries: readonly LogEntry[]): EventBatch | undefined } {
  const cache = new BatchCache(TEXT_FRAMES, (entry) => {
    made += 1;
    return texts.get(entry) ?? '';
  });
  return {
    front: (entries) => {
      const batch = cache.front(entries);
      if (batch instanceof Promise) throw new Error('a text is not ready');
      return batch;
    },
  };
}
function entriesOf(...contents: readonly string[]): LogEntry[] {
  return contents.map((content, index) => {
    const entry = arrival(index + 1);
    texts.set(entry, content);
    return entry;
  });
}

describe('a batch of frames', () => {
  test('holds one text frame an event, of every length', () => {
    const contents = [
      '',
      'a',
      'x'.repeat(125),
      'x'.repeat(126),
      'é👋'.repeat(400),
      'y'.repeat(65_535),
      'z'.repeat(65_536),
    ];
    const run = newRuns().front(entriesOf(...contents));
    expect(textsOf(run?.bytes ?? Buffer.alloc(0))).toEqual(contents);
  });

  test('is at most 256 KiB long and says when more would not have fitted', () => {
    const entries = entriesOf(...Array.from({ length: 256 }, () => 'm'.repeat(3000)));
    const run = newRuns().front(entries);
    expect(run?.bytes.length).toBeLessThanOrEqual(LIMIT);
    expect(run?.bytes.length).toBeGreaterThan(LIMIT - 3100);
    expect(run).toMatchObject({ isFull: true });
    expect(run?.last).toBe(entries[(run?.texts.length ?? 0) - 1]);
  });

  test('is one event alone when that is larger', () => {
    const contents = ['h'.repeat(LIMIT + 1), 'small'];
    const run = newRuns().front(entriesOf(...contents));
    expect(textsOf(run?.bytes ?? Buffer.alloc(0))).toEqual(contents.slice(0, 1));
  });

  test('is absent if there is no frame', () => {
    expect(newRuns().front([])).toBeUndefined();
  });
});

describe('batches', () => {
  test('are made once for all clients at the same position', () => {
    const runs = newRuns();
    const entries = entriesOf('one', 'two', 'three');
    const before = made;
    const run = runs.front(entries);
    expect(runs.front([...entries])).toBe(run);
    expect(made - before).toBe(3);
    expect(runs.front(entries)?.bytes).toBe(run?.bytes);
  });

  test('are made again for a client with more or fewer events before them', () => {
    const runs = newRuns();
    const entries = entriesOf('one', 'two', 'three');
    runs.front(entries);
    expect(runs.front(entries.slice(0, 2))?.texts).toEqual(['one', 'two']);
    expect(runs.front(entries)?.texts).toEqual(['one', 'two', 'three']);
    expect(runs.front(entries.slice(1))?.texts).toEqual(['two', 'three']);
  });

  test('that are full serve those who have taken more, too', () => {
    const runs = newRuns();
    const entries = entriesOf(...Array.from({ length: 200 }, () => 'm'.repeat(3000)));
    const run = runs.front(entries.slice(0, 150));
    expect(runs.front(entries)).toBe(run);
  });

  test('are forgotten, the oldest first', () => {
    const runs = newRuns();
    const entries = entriesOf(...Array.from({ length: 40 }, (_, index) => String(index)));
    const first = runs.front(entries.slice(0, 1));
    for (const entry of entries.slice(1)) runs.front([entry]);
    expect(runs.front(entries.slice(0, 1))).not.toBe(first);
  });

  test('that nobody shares are not kept', () => {
    const entries = entriesOf('one', 'two');
    const cache = new BatchCache(TEXT_FRAMES, (entry) => texts.get(entry) ?? '', 0);
    expect(cache.front(entries)).not.toBe(cache.front(entries));
  });

  test('end before a text that is not ready, whose failure reaches only the batch that begins with it', async () => {
    const entries = entriesOf('one', 'two', 'three');
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const cache = new BatchCache(TEXT_FRAMES, (entry) =>
      entry === entries[0] ? 'one' : Promise.reject(new Error('chat.db is away')),
    );
    expect(cache.front(entries)).toMatchObject({ texts: ['one'], isFull: true });
    await expect(cache.front(entries.slice(1))).rejects.toThrow('chat.db is away');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });
});
