import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { EventStore } from '../../src/features/fleet/hub/event-store.ts';
import { type HubDatabase, openHubDatabase } from '../../src/features/fleet/hub/hub-database.ts';
import { Offsets } from '../../src/features/fleet/hub/offsets.ts';
import type { ReceivedEvent } from '../../src/features/fleet/hub/stored-event.ts';
import { costOf } from '../support/processor-time.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const STREAM = '1970-01-01T00:00:00.5Z';
const LATER_STREAM = '1970-01-01T01:00:00.5Z';
const FEW = 1000;
const MANY = 20_000;
/** How many times as much it may cost with twenty times the events. Trees of a database grow a little. */
const MOST = 3;

/** Returns the place of a row, a millisecond after the one before it. */
const placeOf = (row: number, stream = STREAM) => {
  return { stream, sequence: row, messageId: `m-${row}`, atMs: Date.parse(stream) + row };
};

/** A copy of a stream with `count` events. */
class Copy {
  readonly #count: number;
  readonly #database: HubDatabase;
  readonly #store: EventStore;
  readonly #offsets: Offsets;

  constructor(count: number) {
    this.#count = count;
    this.#database = openHubDatabase(join(folder, `${count}.db`));
    this.#database.run('PRAGMA synchronous = OFF');
    this.#store = new EventStore(this.#database);
    this.#offsets = new Offsets(this.#store, 24);
    this.add(1, count, STREAM);
  }

  add(from: number, to: number, stream: string): void {
    const events = Array.from({ length: to - from + 1 }, (_, index): ReceivedEvent => {
      const row = from + index;
      const given = { mac: 'm', epoch: 'e', row, type: 'message.received', keyId: null, body: Buffer.alloc(200) };
      return { ...given, previousRow: row - 1, previousSequence: row - 1, ...placeOf(row, stream) };
    });
    this.#store.add(events, placeOf(to, stream), 0);
  }

  /** Adds rows, up to `to`, to the stream that replaced the first one. */
  refill(from: number, to = this.#count): void {
    this.add(from, to, LATER_STREAM);
  }

  /** Resolves other hubs' offsets: of the newest and the oldest event, and of one that is unknown. */
  resolvers(): readonly (() => number)[] {
    const [newest, oldest] = [placeOf(this.#count), placeOf(1)];
    const unknown = { ...oldest, floor: 1, messageId: 'unknown' };
    return [newest, oldest, unknown].map((one) => () => this.#offsets.numberOf({ ...one, copy: 'of another hub' }));
  }

  close(): void {
    this.#database.close();
  }
}

test('the offset of a client that comes from another hub costs no more the more events are kept', () => {
  const [few, many] = [new Copy(FEW), new Copy(MANY)];
  expect(many.resolvers().map((resolve) => resolve())).toEqual([MANY, 1, 0]);
  const growths = (): number[] => {
    const runs = few.resolvers().map((resolve, kind) => [resolve, many.resolvers()[kind] ?? resolve] as const);
    return runs.map(([one, other]) => Math.min(...[1, 2, 3, 4].map(() => costOf(other, 10) / costOf(one, 10))));
  };
  const found = [growths()];
  // The stream is lost, and has the first event again, then all of them.
  for (const copy of [few, many]) copy.refill(1, 1);
  found.push(growths());
  for (const copy of [few, many]) copy.refill(2);
  found.push(growths());
  for (const copy of [few, many]) copy.close();
  expect(found.flat().filter((growth) => growth >= MOST)).toEqual([]);
});
