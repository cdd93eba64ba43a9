import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { HOUR_MS } from '../../src/core/model/durations.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { LOOK_MS } from '../../src/features/fleet/agent/publisher.ts';
import { EVENTS } from '../../src/features/fleet/protocol/subjects.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, TestFleet } from '../support/fleet-server.ts';

describeWithNats('a Mac that publishes', () => {
  let fleet: TestFleet;

  beforeEach(async () => {
    fleet = await TestFleet.start(['m7']);
  });

  afterEach(() => fleet.close());

  test('each row becomes one event, in order, with an id that every machine has', async () => {
    const mac = fleet.mac('m7');
    await mac.start();
    await mac.fleet(({ state }) => state === 'connected');
    for (const text of ['a', 'b', 'c']) mac.write(text);
    expect(await fleet.bodies('m7', 3)).toEqual(['a', 'b', 'c']);
    const [first] = await fleet.events('m7');
    expect(first).toMatchObject({ machine: 'one', row: 1, event: { type: 'message.received' } });
    expect(first?.event.data.id).toBe(`g${String(first?.event.data.guid)}`);
    expect(first?.event).not.toHaveProperty('offset');
  });

  // A hub keeps the newest 2,000 events in memory.
  test('an event of more than 128 KiB has no text, and the broker takes no larger one from anybody', async () => {
    const mac = fleet.mac('m7');
    await mac.start();
    mac.write('x'.repeat(120_000));
    mac.write('x'.repeat(140_000));
    mac.write('after it');
    expect((await fleet.bodies('m7', 3)).map((body) => String(body).length)).toEqual([120_000, 0, 8]);
    const large = jetstream(await fleet.operator()).publish('ev.m7.large', new Uint8Array(131_073));
    await expect(large).rejects.toThrow('message size exceeds maximum allowed');
  });

  test('two machines of one member make one event of each message', async () => {
    const [one, two] = [fleet.mac('m7', 'one'), fleet.mac('m7', 'two')];
    const guids = Array.from({ length: 20 }, (_, index) => `GUID-${index}`);
    await one.start();
    for (const guid of guids) one.write(guid, guid);
    await fleet.bodies('m7', 20);
    for (const guid of [...guids].reverse()) two.write(guid, guid);
    two.write('of the second alone', 'GUID-X');
    await two.start();
    expect(await fleet.bodies('m7', 21)).toEqual([...guids, 'of the second alone']);
  });

  test('the service answers while the broker is away, and what came then is published later', async () => {
    const mac = fleet.mac('m7');
    await fleet.server.stop();
    await mac.start();
    const row = mac.write('while away');
    await waitFor(
      async () => ((await mac.get(`/messages/${row}`)) as { readonly body?: string }).body === 'while away',
    );
    expect(await mac.fleet(({ behind }) => behind === 1)).toMatchObject({ mac: 'm7', state: 'away' });
    await fleet.server.start();
    expect(await fleet.bodies('m7', 1)).toEqual(['while away']);
  });

  test('a stream that was created again gets the last day again', async () => {
    const mac = fleet.mac('m7');
    await mac.start();
    for (const text of ['a', 'b']) mac.write(text);
    await fleet.bodies('m7', 2);
    await fleet.server.deleteStore();
    await fleet.server.start();
    await fleet.createStreams();
    expect(await fleet.bodies('m7', 2)).toEqual(['a', 'b']);
  });

  test('a stream that lost its end gets it again', async () => {
    const mac = fleet.mac('m7');
    await mac.start();
    mac.write('a');
    await fleet.bodies('m7', 1);
    const kept = fleet.copyOfStore();
    for (const text of ['b', 'c']) mac.write(text);
    await fleet.bodies('m7', 3);
    await fleet.restoreStore(kept);
    expect(await fleet.bodies('m7', 3)).toEqual(['a', 'b', 'c']);
  });

  test('an event that the stream stores behind a newer one makes the Mac look at once at what the stream holds', async () => {
    const mac = fleet.mac('m7');
    // The stream is not looked at in turn, so that only the answer to an event can raise a doubt.
    mac.clock = { ...systemClock, after: (ms, run) => (ms === LOOK_MS ? () => {} : systemClock.after(ms, run)) };
    await mac.start();
    mac.write('a');
    await fleet.bodies('m7', 1);
    await mac.fleet(({ behind }) => behind === 0);
    const lost = () => mac.log.lines.filter(({ message }) => message.includes('has lost events of this Mac')).length;
    const state = openSqlite(join(mac.folder, 'config/state.db'));
    state.prepare('UPDATE fleet_agent SET sequence = 1000, subject = ?').run(`ev.m7.${'A'.repeat(22)}`);
    state.close();
    mac.write('b');
    await waitFor(() => lost() > 0);
    for (const text of ['c', 'd']) mac.write(text);
    expect(await fleet.bodies('m7', 4)).toEqual(['a', 'b', 'c', 'd']);
    await mac.fleet(({ behind }) => behind === 0);
    expect(lost()).toBe(1);
  });

  test('rows older than the stream keeps are counted, not published', async () => {
    const mac = fleet.mac('m7');
    await mac.start();
    mac.write('first');
    await fleet.bodies('m7', 1);
    mac.write('old', undefined, Date.now() - 8 * 86_400_000);
    mac.write('new');
    expect(await fleet.bodies('m7', 2)).toEqual(['first', 'new']);
    expect(await mac.fleet(({ behind }) => behind === 0)).toMatchObject({ late: 1 });
  });

  test('a Mac whose last event has expired publishes nothing again', async () => {
    const mac = fleet.mac('m7');
    await mac.start();
    await mac.fleet(({ state, published_row }) => state === 'connected' && published_row !== null);
    mac.write('nearly too old', undefined, Date.now() - 167.5 * HOUR_MS);
    await fleet.bodies('m7', 1);
    await mac.fleet(({ behind }) => behind === 0);
    await mac.stop();
    const { streams } = await jetstreamManager(await fleet.operator());
    const { config } = await streams.info(EVENTS);
    await streams.update(EVENTS, { ...config, max_age: nanos(1000), duplicate_window: nanos(1000) });
    await waitFor(async () => (await streams.info(EVENTS)).state.messages === 0);
    await streams.update(EVENTS, config);
    await mac.start();
    mac.write('new');
    expect(await fleet.bodies('m7', 1)).toEqual(['new']);
    expect(mac.log.lines.filter(({ message }) => message.includes('has lost events'))).toEqual([]);
  });

  test('rows older than the first backfill do not count as lost after a restart', async () => {
    const mac = fleet.mac('m7');
    for (const text of ['old', 'older']) mac.write(text, undefined, Date.now() - 48 * HOUR_MS);
    await mac.start();
    mac.write('first');
    await fleet.bodies('m7', 1);
    await mac.fleet(({ behind }) => behind === 0);
    await mac.stop();
    await mac.start();
    mac.write('second');
    expect(await fleet.bodies('m7', 2)).toEqual(['first', 'second']);
    expect(mac.log.lines.filter(({ message }) => message.includes('has lost events'))).toEqual([]);
  });

  test('a full store refuses, and health says so until there is room', async () => {
    const mac = fleet.mac('m7');
    await fleet.server.limitStore(3000);
    await mac.start();
    for (let index = 0; index < 20; index += 1) mac.write(`text ${index}`);
    await mac.fleet(({ problem }) => /insufficient|resource/.test(String(problem)));
    await fleet.server.limitStore(1_000_000);
    expect(await fleet.bodies('m7', 20)).toEqual(Array.from({ length: 20 }, (_, index) => `text ${index}`));
    expect(await mac.fleet(({ behind }) => behind === 0)).toMatchObject({ problem: null });
  });
});
