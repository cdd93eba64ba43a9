import { expect, test } from '@jest/globals';
import type { LogEntry } from '../../src/core/model/event.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { BatchCache } from '../../src/core/streams/batch.ts';
import { Client, type Position } from '../../src/core/streams/client.ts';
import { TEXT_FRAMES } from '../../src/core/streams/web-socket-clients.ts';
import { arrival } from '../support/memory-log.ts';

const MEBIBYTE = 'x'.repeat(2 ** 20);

/** A client of two events, taken one batch at a time. Only the first is ready. `prepare` makes the second ready. */
function newClient(taken = [[arrival(1), arrival(2)]], wanted?: (entry: LogEntry) => boolean) {
  const sent: string[] = [];
  const pings: (Position | undefined)[] = [];
  let wakes = 0;
  let isReadable = true;
  let isReady = false;
  let resolve = (_text: string): void => {};
  const second = new Promise<string>((resolved) => {
    resolve = resolved;
  });
  const batches = new BatchCache(
    TEXT_FRAMES,
    ({ rowId }) => (rowId === 1 ? 'one' : rowId > 2 ? MEBIBYTE : isReady ? 'two' : second),
    0,
  );
  const client = new Client({
    socket: {
      isOpen: () => true,
      send: ({ texts }) => sent.push(...texts) > 0,
      ping: (position) => void pings.push(position),
      close: () => {},
      terminate: () => {},
    },
    batches,
    patience: { silentPings: 2, stuckPings: 2 },
    generation: 7,
    isExpired: () => false,
    join: () => ({
      take: () => ({ entries: taken.shift() ?? [], missed: 0, upTo: rowOffset(2) }),
      isCaughtUp: () => taken.length === 0,
      generation: () => 0,
      close: () => {},
    }),
    canLoseEvents: false,
    wanted,
    admits: () => isReadable,
    wake: () => {
      wakes += 1;
    },
    onMissed: () => {},
  });
  client.serve();
  client.serve();
  return {
    client,
    sent,
    pings,
    wakes: () => wakes,
    forbid: () => {
      isReadable = false;
    },
    prepare: async () => {
      isReady = true;
      resolve('two');
      await second;
      await Promise.resolve();
    },
  };
}

test('a ping names the last event that was sent, while the next one is being prepared', async () => {
  const { client, sent, pings, prepare } = newClient();
  client.ping();
  expect([sent, pings]).toEqual([['one'], [{ offset: rowOffset(1), generation: 7 }]]);
  await prepare();
  client.serve();
  client.ping();
  expect([sent, pings[1]]).toEqual([['one', 'two'], { offset: rowOffset(2), generation: 7 }]);
});

test('an event that its key may no longer read is not sent once it is prepared', async () => {
  const { client, sent, forbid, prepare } = newClient();
  forbid();
  await prepare();
  client.serve();
  expect(sent).toEqual(['one']);
});

test('a client that wants none of the events it read is served again while there are more', () => {
  const { client, sent, wakes } = newClient([[arrival(3)], [arrival(4)], [arrival(1)]], ({ rowId }) => rowId === 1);
  expect([sent, wakes()]).toEqual([[], 2]);
  client.serve();
  expect(sent).toEqual(['one']);
});

test('a client that reads 1 MiB between two pings is alive without a word', () => {
  const { client } = newClient([[arrival(3)], [arrival(4)], [arrival(5)]]);
  expect([client.livenessError(), client.livenessError()]).toEqual([undefined, undefined]);
  client.serve();
  expect(client.livenessError()).toBeUndefined();
  expect([client.livenessError(), client.livenessError()]).toEqual([undefined, 'it is silent']);
});
