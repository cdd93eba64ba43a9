import { isChangesEpoch } from '../protocol/event-message.ts';
import type { HubDatabase } from './database.ts';

/** The rows, or the changes, of a Mac in one epoch. */
export interface MacSource {
  readonly id: number;
  readonly mac: string;
  readonly isOfChanges: boolean;
  lastRow: number;
  /** True while a hole is open, so that later events wait. */
  isWaiting: boolean;
}

/** The sources of the events in hub.db. Callers that write hold a transaction. */
export class SourceTable {
  readonly #database: HubDatabase;
  readonly #sources = new Map<string, MacSource>();

  constructor(database: HubDatabase) {
    this.#database = database;
    this.load();
  }

  find(mac: string, epoch: string): MacSource | undefined {
    return this.#sources.get(`${mac} ${epoch}`);
  }

  /** Returns a source, which is added if it is new. */
  get(mac: string, epoch: string): MacSource {
    const known = this.find(mac, epoch);
    if (known !== undefined) return known;
    this.#database.run('INSERT INTO source (mac, epoch, last_row) VALUES (?, ?, 0)', mac, epoch);
    const id = this.#database.number('SELECT id FROM source WHERE mac = ? AND epoch = ?', mac, epoch) ?? 0;
    return this.#remember(epoch, { id, mac, lastRow: 0, isWaiting: false });
  }

  setLastRow(source: MacSource, row: number): void {
    source.lastRow = row;
    this.#database.run('UPDATE source SET last_row = ? WHERE id = ?', row, source.id);
  }

  get areWaiting(): boolean {
    return [...this.#sources.values()].some(({ isWaiting }) => isWaiting);
  }

  /** Returns the sources of a Mac's rows, or of its changes. */
  of(mac: string, isOfChanges: boolean): readonly MacSource[] {
    return [...this.#sources.values()].filter((source) => source.mac === mac && source.isOfChanges === isOfChanges);
  }

  /** Reports whether changes wait for rows, which a client would otherwise receive later in an earlier state. */
  waitsForRows({ mac, isOfChanges }: MacSource): boolean {
    return isOfChanges && this.of(mac, false).some(({ isWaiting }) => isWaiting);
  }

  load(): void {
    this.#sources.clear();
    const sql = `SELECT id, mac, epoch, last_row, EXISTS (SELECT 1 FROM hole WHERE source = source.id) FROM source`;
    for (const [id, mac, epoch, lastRow, isWaiting] of this.#database.all(sql)) {
      const source = { id: Number(id), mac: String(mac), lastRow: Number(lastRow), isWaiting: Number(isWaiting) === 1 };
      this.#remember(String(epoch), source);
    }
  }

  #remember(epoch: string, source: Omit<MacSource, 'isOfChanges'>): MacSource {
    const made = { ...source, isOfChanges: isChangesEpoch(epoch) };
    this.#sources.set(`${source.mac} ${epoch}`, made);
    return made;
  }
}
