import type { MacName } from '../../../core/model/fleet.ts';
import type { Pair } from '../protocol/pair.ts';
import type { HubDatabase } from './hub-database.ts';

/** The pairs of the fleet (decision N6). hub.db stores them, so that they survive a broker that loses its data. */
export class Pairs {
  readonly #database: HubDatabase;
  /** Key: the id of each Mac that is in a pair. Value: the pair. */
  readonly #pairs = new Map<string, Pair & { readonly isMerging: boolean }>();
  /** Key: a pair's id. Value: the Mac that published the pair's newest event. */
  readonly #leading = new Map<string, string>();
  #merging: Pair | undefined;

  constructor(database: HubDatabase) {
    this.#database = database;
    this.load();
  }

  /** Reads the pairs from hub.db, also after a failed transaction. If it throws, the known pairs stay known. */
  load(): void {
    const rows = this.#database.all('SELECT mac, standby, since_ms, merged_to FROM pair');
    this.#pairs.clear();
    this.#merging = undefined;
    for (const [mac, standby, sinceMs, to] of rows) {
      const pair = { mac: String(mac), standby: String(standby), sinceMs: Number(sinceMs), isMerging: to !== null };
      this.#pairs.set(pair.mac, pair);
      this.#pairs.set(pair.standby, pair);
      if (pair.isMerging) this.#merging ??= pair;
    }
  }

  list(): readonly Pair[] {
    return [...new Set(this.#pairs.values())];
  }

  /** Returns the pair that a Mac belongs to. */
  of(mac: string): Pair | undefined {
    return this.#pairs.get(mac);
  }

  nameOf(mac: string): MacName {
    const pair = this.#pairs.get(mac);
    return { mac, member: pair?.mac ?? mac, isPair: pair !== undefined };
  }

  /** Returns the Macs that an id stands for. The Mac that published a pair's newest event comes first. */
  macsOf(mac: string): readonly string[] {
    const pair = this.#pairs.get(mac);
    if (pair === undefined) return [mac];
    const isStandbyFirst = this.#leading.get(pair.mac) === pair.standby;
    return isStandbyFirst ? [pair.standby, pair.mac] : [pair.mac, pair.standby];
  }

  noteEvent({ member, mac }: MacName): void {
    this.#leading.set(member, mac);
  }

  /** Adds a pair. Returns false if the pair is known, or if one of its Macs is in another pair. */
  add({ mac, standby, sinceMs }: Pair): boolean {
    if (this.#pairs.has(mac) || this.#pairs.has(standby)) return false;
    // hub.db has the pair already if it could not be read after it was stored.
    const sql = 'INSERT OR IGNORE INTO pair (mac, standby, since_ms) VALUES (?, ?, ?)';
    this.#database.run(sql, mac, standby, sinceMs);
    this.load();
    return true;
  }

  /** A pair whose events from before the pairing are not all merged yet; undefined if there is none. */
  get merging(): Pair | undefined {
    return this.#merging;
  }

  isMerging(mac: string): boolean {
    return this.#pairs.get(mac)?.isMerging === true;
  }

  endMerging({ mac }: Pair): void {
    this.#database.run('UPDATE pair SET merged_to = NULL WHERE mac = ?', mac);
    this.load();
  }

  end(mac: string): void {
    this.#database.run('DELETE FROM pair WHERE ? IN (mac, standby)', mac);
    this.load();
  }
}
