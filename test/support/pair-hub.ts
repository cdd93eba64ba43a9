import { join } from 'node:path';
import { HubEventLog } from '../../src/features/fleet/hub/event-log.ts';
import { EventReader } from '../../src/features/fleet/hub/event-reader.ts';
import { EventStore } from '../../src/features/fleet/hub/event-store.ts';
import { type HubDatabase, openHubDatabase } from '../../src/features/fleet/hub/hub-database.ts';
import { Offsets } from '../../src/features/fleet/hub/offsets.ts';
import type { PairChanges } from '../../src/features/fleet/hub/pair-changes.ts';
import { PairCopies } from '../../src/features/fleet/hub/pair-copies.ts';
import { Pairs } from '../../src/features/fleet/hub/pairs.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';

/** When the pair was created. */
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
      const kept = "('copy', 'sqlite_sequence')";
      const tables = database.all(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ${kept}`);
      database.transaction(() => {
        for (const [name] of tables) database.run(`DELETE FROM ${String(name)}`);
        database.run('UPDATE sqlite_sequence SET seq = 0');
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
  changes!: PairChanges;

  constructor(files: readonly HubDatabase[], used: Set<HubDatabase>) {
    this.#files = files;
    this.#used = used;
    this.open();
  }

  open(): void {
    const database = this.#files[this.#file] as HubDatabase;
    this.#used.add(database);
    const pairs = new Pairs(database);
    const reader = new EventReader(new Envelope(), (mac) => pairs.nameOf(mac));
    const copies = new PairCopies(database, pairs, reader);
    this.changes = copies.changes;
    this.store = new EventStore(database, copies);
    this.offsets = new Offsets(this.store, 24);
    this.events = new HubEventLog({ store: this.store, reader, pairChanges: this.changes, offsets: this.offsets });
    pairs.add({ mac: 'm1', standby: 'm2', sinceMs: START_MS });
  }

  /** True if the hub has seen both chains of changes begin with the first change. */
  get hasAllChanges(): boolean {
    return this.#file === 0 && !this.store.index.hasGap(HUBS, Number.MAX_SAFE_INTEGER, true);
  }

  loseFile(): void {
    this.#file = Math.min(this.#file + 1, FILES - 1);
    this.open();
  }
}
