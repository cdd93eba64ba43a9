import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { EventStore } from '../../src/features/fleet/hub/event-store.ts';
import { openHubDatabase } from '../../src/features/fleet/hub/hub-database.ts';
import type { ReceivedEvent } from '../../src/features/fleet/hub/stored-event.ts';
import { costOf } from '../support/processor-time.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const MADE = '2026-01-01T00:00:00.5Z';
const FEW = 1000;
const MANY = 30_000;
/** How many times as much an event may cost with thirty times the holes. Trees of a database grow a little. */
const MOST = 3;

/** The copy of a hub with a Mac whose messages each reveal missing rows, and one without fault. */
class HostileStore {
  readonly #store: EventStore;
  readonly #hasEpochs: boolean;
  readonly #close: () => void;
  #sequence = 0;
  #goodRow = 0;
  #evilRow = 0;

  constructor(name: string, holes: number, hasEpochs: boolean) {
    const database = openHubDatabase(join(folder, name));
    database.run('PRAGMA synchronous = OFF');
    this.#close = () => database.close();
    this.#store = new EventStore(database);
    this.#hasEpochs = hasEpochs;
    this.#add([this.#event('evil', 1, 0)]);
    this.#add(Array.from({ length: holes }, () => this.#evil()));
  }

  /** Does what a hub does for five events of the good Mac and one of the other, and gives up one hole. */
  readonly turn = (): void => {
    for (let count = 0; count < 5; count += 1) {
      this.#goodRow += 1;
      const added = this.#add([this.#event('good', this.#goodRow, this.#goodRow - 1)]);
      expect(added).toHaveLength(1);
    }
    this.#add([this.#evil()]);
    expect(this.#store.waitingQueues()).toEqual(['evil']);
    expect(this.#store.holes('evil')).toBeGreaterThan(0);
    const hole = this.#store.hole('evil');
    expect(hole && this.#store.giveUp(hole, 0)).toHaveLength(1);
  };

  close(): void {
    this.#close();
  }

  #evil(): ReceivedEvent {
    this.#evilRow += 10;
    return this.#event('evil', this.#evilRow, this.#evilRow - 1, this.#hasEpochs ? `e${this.#evilRow}` : 'e');
  }

  #event(mac: string, row: number, previousRow: number, epoch = 'e'): ReceivedEvent {
    this.#sequence += 1;
    const place = { sequence: this.#sequence, messageId: `${mac}-${epoch}-${row}`, atMs: this.#sequence };
    const previous = { previousRow, previousSequence: 0 };
    return { mac, epoch, row, ...previous, type: 'message.received', keyId: null, body: Buffer.from('{}'), ...place };
  }

  #add(events: readonly ReceivedEvent[]) {
    const { sequence, messageId, atMs } = events.at(-1) as ReceivedEvent;
    return this.#store.add(events, { stream: MADE, sequence, messageId, atMs }, 0);
  }
}

test.each([
  ['many holes', false],
  ['a new epoch in each message', true],
])('events of other Macs cost no more the more a hostile Mac sends of %s', (name, hasEpochs) => {
  const [few, many] = [FEW, MANY].map((holes) => new HostileStore(`${name}-${holes}.db`, holes, hasEpochs));
  if (few === undefined || many === undefined) throw new Error('there are two');
  const growths = Array.from({ length: 4 }, () => costOf(many.turn) / costOf(few.turn));
  few.close();
  many.close();
  expect(Math.min(...growths)).toBeLessThan(MOST);
});
