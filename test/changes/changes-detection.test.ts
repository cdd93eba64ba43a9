import { describe, expect, test } from '@jest/globals';
import { decodeOffset, encodeOffset } from '../../src/core/model/offset.ts';
import { MemoryChangeStore } from '../support/changes/memory-change-store.ts';
import { ModelChat } from '../support/changes/model-chat.ts';
import { ModelService } from '../support/changes/model-service.ts';
import { nothing } from '../support/event-pipeline.ts';
import { FakeClock } from '../support/fake-clock.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Starts a service with ten messages, of which a pass sees the newest four, and a reader with changes. */
async function begun() {
  const chat = new ModelChat();
  const store = new MemoryChangeStore();
  const clock = new FakeClock();
  for (let n = 0; n < 10; n += 1) chat.insert();
  const world = { chat, store, clock, onCall: (_: ModelService, _isWrite: boolean) => {}, onLog: () => {} };
  const boot = (): ModelService => {
    const service = new ModelService({ ...world, onCall: (of, isWrite) => world.onCall(of, isWrite) });
    service.start();
    return service;
  };
  const service = boot();
  await clock.advance(0);
  const reader = service.feed.resume(service.feed.resolve(undefined, { changes: true }), nothing, { changes: true });
  await clock.advance(2000);
  return { ...world, world, boot, service, reader };
}

describe('detection', () => {
  test('a first start gives no changes, and says when every message has been looked at', async () => {
    const { service, store, reader } = await begun();
    expect(store.recorded).toBe(0);
    expect(reader.take(10).entries).toEqual([]);
    expect(service.detection.status()).toMatchObject({ state: 'on', logged: 0 });
  });

  test('an old message that is read is reported within a second of storing being possible again', async () => {
    const { chat, clock, world, service, reader } = await begun();
    // Read ones, after which no pass compares the unread ones with the newest.
    for (let n = 0; n < 4; n += 1) chat.insert({ isRead: true });
    service.notice();
    await clock.advance(2000);
    expect(reader.take(10).entries).toHaveLength(4);
    world.onCall = (_, isWrite) => {
      if (isWrite) throw Object.assign(new Error('the disk is full'), { code: 'SQLITE_FULL' });
    };
    const unread = chat.prints.watched()[0]?.[0] ?? 0;
    chat.change(unread, (row) => {
      row.isRead = true;
    });
    service.notice();
    await clock.advance(3000);
    expect(reader.take(10).entries).toEqual([]);
    world.onCall = () => {};
    await clock.advance(1000);
    expect(reader.take(10).entries).toMatchObject([{ rowId: unread, event: { changes: ['read'] } }]);
  });

  test('an edit of an old message while the service was away is reported right after the start', async () => {
    const { chat, clock, boot, service } = await begun();
    const offset = encodeOffset(service.feed.lastPublished({ changes: true }), service.feed.changeGeneration());
    service.isDead = true;
    chat.change(1, (row) => {
      row.version += 1;
    });
    const next = boot();
    const position = next.feed.resolve(decodeOffset(offset), { changes: true });
    const reader = next.feed.resume(position, nothing, { changes: true });
    await clock.advance(2000);
    expect(reader.take(10).entries).toMatchObject([{ rowId: 1, event: { changes: ['edited'] } }]);
  });

  test('many changes at once are one event', async () => {
    const { chat, clock, service, reader, store } = await begun();
    for (let n = 0; n < 20; n += 1) chat.insert();
    service.notice();
    await clock.advance(2000);
    expect(reader.take(30).entries).toHaveLength(20);
    for (const { rowId } of [...chat.rows.values()]) {
      chat.change(rowId, (row) => {
        row.version += 1;
      });
    }
    service.notice();
    await clock.advance(3_700_000);
    const events = reader.take(20).entries.map(({ event }) => event.type);
    expect(events.filter((type) => type === 'messages.changed')).toHaveLength(1);
    expect(store.newest()).toBeLessThan(10);
  });

  test('a message that is removed from a replaced chat.db is named by its guid there', async () => {
    const { chat, clock, service, reader } = await begun();
    chat.replace(10);
    service.notice();
    await clock.advance(2000);
    chat.remove(9);
    service.notice();
    await clock.advance(2000);
    expect(reader.take(10).entries).toMatchObject([{ event: { type: 'message.removed', data: { guid: '2-9' } } }]);
  });

  test('the removal of an old message is reported within two minutes, that of a reaction never', async () => {
    const { chat, clock, service, reader } = await begun();
    const reaction = chat.insert({ isReaction: true });
    service.notice();
    await clock.advance(2000);
    expect(reader.take(10).entries).toHaveLength(1);
    chat.remove(reaction);
    chat.remove(1);
    service.notice();
    await clock.advance(120_000);
    expect(reader.take(10).entries).toMatchObject([{ rowId: 1, event: { type: 'message.removed' } }]);
  });

  test('a removal is reported to a reader that may know the message from a list alone', async () => {
    const { chat, clock, service } = await begun();
    const { rowId, change } = service.feed.lastPublished({ changes: true });
    const removed = chat.insert();
    service.notice();
    await clock.advance(2000);
    chat.remove(removed);
    service.notice();
    await clock.advance(2000);
    const { entries } = service.feed.page({ rowId: rowId - 1, change }, 10, { changes: true });
    expect(entries).toMatchObject([{ rowId: removed, event: { type: 'message.removed' } }]);
  });

  test('it ends when nobody has asked for 30 days, and earlier offsets expire', async () => {
    const { clock, service, reader } = await begun();
    const offset = encodeOffset(service.feed.lastPublished({ changes: true }), service.feed.changeGeneration());
    await clock.advance(31 * DAY_MS);
    expect(service.detection.status().state).not.toBe('off');
    reader.close();
    await clock.advance(31 * DAY_MS);
    expect(service.detection.status()).toEqual({ state: 'off', logged: 0, sweptAtMs: null });
    expect(() => service.feed.resolve(decodeOffset(offset), { changes: true })).toThrow(
      expect.objectContaining({ status: 410, extra: { latest: expect.any(String) } }),
    );
  });
});
