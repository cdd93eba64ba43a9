import { join } from 'node:path';
import { type HubDatabase, openHubDatabase } from '../../src/fleet/hub/database.ts';
import { HubEventLog } from '../../src/fleet/hub/event-log.ts';
import { EventReader } from '../../src/fleet/hub/event-reader.ts';
import { EventStore } from '../../src/fleet/hub/event-store.ts';
import { Offsets } from '../../src/fleet/hub/offsets.ts';
import { PairCopies } from '../../src/fleet/hub/pair-copies.ts';
import { Pairs } from '../../src/fleet/hub/pairs.ts';
import { Envelope } from '../../src/fleet/protocol/envelope.ts';

/** When the pair was made. */
export const START_MS = Date.UTC(2026, 0, 2);
export const HUBS = 2;
/** Databases of one hub: a new one for each time it loses its own. */
const FILES = 3;

/** The databases of all hubs, emptied for each schedule. */
export class PairFiles {
  readonly databases: readonly (readonly HubDatabase[])[];
  /** Databases that the last schedule wrote to. */
  readonly used = new Set<HubDatabase>();

  constructor(folder: string) {
    this.databases = Array.from({ length: HUBS }, (_, hub) =>
      Array.from({ length: FILES }, (_unused, file) => {
        const database = openHubDatabase(join(folder, `hub-${hub}-${file}.db`));
        database.run('PRAGMA synchronous = OFF');
        return database;
      }),
    );
  }

  empty(): void {
    for (const database of this.used) {
      const tables = database.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'copy'");
      database.transaction(() => {
        for (const [name] of tables) database.run(`DELETE FROM ${String(name)}`);
      });
    }
    this.used.clear();
  }

  close(): void {
    for (const database of this.databases.flat()) database.close();
  }
}

/** A hub: the product's event log over a stream that the test invents. */
export class ModelHub {
  readonly #files: readonly HubDatabase[];
  readonly #used: Set<HubDatabase>;
  #file = 0;
  store!: EventStore;
  offsets!: Offsets;
  events!: HubEventLog;

  constructor(files: readonly HubDatabase[], used: Set<HubDatabase>) {
    this.#files = files;
    this.#used = used;
    this.open();
  }

  open(): void {
    const database = this.#files[this.#file] as HubDatabase;
    this.#used.add(database);
    const pairs = new Pairs(database);
    const reader: EventReader = new EventReader(
      new Envelope(),
      (mac) => pairs.nameOf(mac),
      (...event) => copies.merged(...event),
    );
    const copies: PairCopies = new PairCopies(database, pairs, (event) => reader.read(event));
    this.store = new EventStore(database, copies);
    this.events = new HubEventLog(this.store, reader);
    this.offsets = new Offsets(this.store, 24);
    pairs.add({ mac: 'm1', standby: 'm2', sinceMs: START_MS });
  }

  loseFile(): void {
    this.#file = Math.min(this.#file + 1, FILES - 1);
    this.open();
  }
}
