import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { EventStore } from '../../src/fleet/hub/event-store.ts';
import { openHubDatabase } from '../../src/fleet/hub/hub-database.ts';
import { Offsets } from '../../src/fleet/hub/offsets.ts';
import type { ReceivedEvent } from '../../src/fleet/hub/stored-event.ts';
import { costOf } from '../support/processor-time.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const STREAM = '2026-01-01T00:00:00.5Z';
const FEW = 1000;
const MANY = 30_000;
/** How many times as much it may cost with thirty times the events. Trees of a database grow a little. */
const MOST = 3;

/** Returns a function that resolves another hub's offset of the newest of `count` events, and one that ends it. */
function resolving(count: number) {
  const database = openHubDatabase(join(folder, `${count}.db`));
  database.run('PRAGMA synchronous = OFF');
  const store = new EventStore(database);
  const events = Array.from({ length: count }, (_, index): ReceivedEvent => {
    const row = index + 1;
    const place = { sequence: row, messageId: `m-${row}`, atMs: row };
    const previous = { previousRow: index, previousSequence: index };
    const body = Buffer.alloc(200);
    return { mac: 'm', epoch: 'e', row, ...previous, type: 'message.received', keyId: null, body, ...place };
  });
  const newest = { stream: STREAM, sequence: count, messageId: `m-${count}`, atMs: count };
  store.add(events, newest, 0);
  const offsets = new Offsets(store, 24);
  const offset = { ...newest, copy: 'of another hub' };
  expect(offsets.numberOf(offset)).toBe(count);
  return { run: () => offsets.numberOf(offset), close: () => database.close() };
}

test('the offset of a client that comes from another hub costs no more the more events are kept', () => {
  const [few, many] = [resolving(FEW), resolving(MANY)];
  const growths = Array.from({ length: 4 }, () => costOf(many.run) / costOf(few.run));
  few.close();
  many.close();
  expect(Math.min(...growths)).toBeLessThan(MOST);
});
