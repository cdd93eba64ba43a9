import type { ChangeEvent, Event } from '../../src/core/model/event.ts';
import type { Message } from '../../src/core/model/message.ts';

export const MACS = ['m1', 'm2'] as const;

interface Row {
  readonly guid: string;
  readonly message: number;
  readonly writtenMs: number;
}

/** A change of a message. `version` counts the changes of all messages. */
interface Change {
  readonly message: number;
  readonly what: 'edited' | 'deleted' | 'restored';
  readonly version: number;
}

type Of<Item> = Readonly<Record<string, Item[]>>;

/** The two Macs of a pair: their rows, their change logs, and the messages that iCloud has not delivered yet. */
export class PairMacs {
  readonly #rows: Of<Row> = { m1: [], m2: [] };
  readonly #coming: Of<Row> = { m1: [], m2: [] };
  readonly changes: Of<Change> = { m1: [], m2: [] };
  readonly #comingChanges: Of<Change> = { m1: [], m2: [] };
  #messages = 0;
  #versions = 0;

  /** Writes a message that each Mac receives at once, later, or never. */
  write(which: number, writtenMs: number): void {
    this.#messages += 1;
    const row = { guid: `G${this.#messages}`, message: this.#messages, writtenMs };
    for (const [place, mac] of MACS.entries()) {
      const fate = Math.floor(which / (place === 0 ? 10 : 100)) % 10;
      if (fate < 5) this.#rows[mac]?.push(row);
      else if (fate < 9 || place === 0) this.#coming[mac]?.push(row);
    }
  }

  /** Edits a message. */
  edit(which: number, size: number): void {
    const message = 1 + (which % this.#messages);
    // iCloud gives other guids only to old messages, which cannot be edited any more. The text identifies them.
    const isComing = MACS.some((mac) => this.#coming[mac]?.some((row) => row.message === message));
    const isOld = this.#rows.m2?.some(({ guid }) => guid === `N${message}`) === true;
    if (this.#messages === 0 || isComing || isOld) return;
    this.#change({ message, what: 'edited' }, which, size, () => true);
  }

  /** Deletes or restores a message. The Macs that see it deleted see it restored too, and then deleted again. */
  toggle(which: number, size: number, what: 'deleted' | 'restored'): void {
    const message = 1 + (which % this.#messages);
    const states = MACS.map((mac) => this.#toggles(mac, message).at(-1));
    const isDeleted = states.includes('deleted');
    if (this.#messages === 0 || isDeleted !== (what === 'restored')) return;
    const isFirst = states.every((state) => state === undefined);
    this.#change({ message, what }, which, size, (place) => isFirst || states[place] === undefined);
  }

  /** Delivers pending messages in any order. A message that is old at both Macs may get another guid at one of them. */
  arrive(mac: string, count: number, which: number, nowMs: number): void {
    const coming = this.#coming[mac] ?? [];
    for (let left = count; left > 0 && coming.length > 0; left -= 1) {
      const [row] = coming.splice(which % coming.length, 1);
      if (row === undefined) return;
      const isOld = nowMs - row.writtenMs > 1_900_000 && !this.#rows.m1?.includes(row);
      const isRenamed = mac === 'm2' && which % 5 === 0 && isOld;
      this.#rows[mac]?.push(isRenamed ? { ...row, guid: `N${row.message}` } : row);
    }
    this.#arriveChanges(mac, count, which);
  }

  /** Returns a Mac's row as its agent would publish it; undefined if there is none. */
  rowEvent(mac: string, row: number) {
    const found = this.#rows[mac]?.[row - 1];
    if (found === undefined) return undefined;
    const event: Event = { type: 'message.received', data: dataOf(found, row, this.#versionAt(mac, found.message)) };
    return { row, type: event.type, messageId: `${mac}-${found.guid}`, body: Buffer.from(JSON.stringify(event)) };
  }

  /** Returns a Mac's change as its agent would publish it; undefined if there is none. */
  changeEvent(mac: string, number: number) {
    const { message, what } = this.changes[mac]?.[number - 1] ?? {};
    const row = this.rowOfChange(mac, number);
    const found = this.#rows[mac]?.[row - 1];
    if (message === undefined || what === undefined || found === undefined) return undefined;
    const data = dataOf(found, row, this.#versionAt(mac, message, number));
    const editedAt = new Date(found.writtenMs + this.#versionAt(mac, message, number) * 1000).toISOString();
    const edited_at = what === 'edited' ? editedAt.replace(/\.\d+/, '') : undefined;
    const event: ChangeEvent = { type: 'message.updated', data, changes: [what], edited_at };
    return { row: number, type: event.type, messageId: `${mac}-c${number}`, body: Buffer.from(JSON.stringify(event)) };
  }

  /** Returns the row of a change; 0 if there is none. */
  rowOfChange(mac: string, number: number): number {
    return this.#rowOf(mac, this.changes[mac]?.[number - 1]?.message ?? 0);
  }

  /** The messages that a Mac has. */
  get messages(): ReadonlySet<number> {
    return new Set(Object.values(this.#rows).flatMap((rows) => rows.map(({ message }) => message)));
  }

  /** Returns the version of a message that a client should have in the end; undefined if it is deleted. */
  newest(message: number): number | undefined {
    const of = Object.values(this.changes).flatMap((changes) => changes.filter((change) => change.message === message));
    const changes = of.sort((one, other) => one.version - other.version);
    if (changes.findLast(({ what }) => what !== 'edited')?.what === 'deleted') return undefined;
    return changes.findLast(({ what }) => what === 'edited')?.version ?? 0;
  }

  /** Delivers a change to each Mac at once, later, or never. */
  #change(given: Omit<Change, 'version'>, which: number, size: number, mayMiss: (place: number) => boolean): void {
    this.#versions += 1;
    const change = { ...given, version: this.#versions };
    const misses = MACS.map((_, place) => mayMiss(place));
    for (const [place, mac] of MACS.entries()) {
      const fate = (which + size * (3 + place)) % 10;
      const isBehind = this.#comingChanges[mac]?.some(({ message }) => message === change.message) === true;
      // A Mac that has not seen the deletion does not see the restoration either.
      const isOdd = change.what === 'restored' && misses[place];
      if (isOdd || (misses[place] && fate >= 8 && (which + place) % 2 === 1)) continue;
      if (fate < 5 && !isBehind && this.#rowOf(mac, change.message) > 0) this.changes[mac]?.push(change);
      else this.#comingChanges[mac]?.push(change);
    }
  }

  /** Delivers pending changes in order; of several edits of a message, perhaps only the last. */
  #arriveChanges(mac: string, count: number, which: number): void {
    const coming = this.#comingChanges[mac] ?? [];
    const ready = coming.filter(({ message }) => this.#rowOf(mac, message) > 0).slice(0, count);
    for (const change of ready) {
      coming.splice(coming.indexOf(change), 1);
      const isPassed = coming.some(({ message, what }) => message === change.message && what === 'edited');
      if (change.what !== 'edited' || which % 2 === 1 || !isPassed) this.changes[mac]?.push(change);
    }
  }

  /** Returns the deletions and restorations of a message that a Mac has seen or will see. */
  #toggles(mac: string, message: number): readonly Change['what'][] {
    const all = [...(this.changes[mac] ?? []), ...(this.#comingChanges[mac] ?? [])];
    return all.filter((one) => one.message === message && one.what !== 'edited').map(({ what }) => what);
  }

  #rowOf(mac: string, message: number): number {
    return (this.#rows[mac]?.findIndex((row) => row.message === message) ?? -1) + 1;
  }

  /** Returns the version of a message after a number of changes at a Mac. */
  #versionAt(mac: string, message: number, number = Number.MAX_SAFE_INTEGER): number {
    const isEdit = (change: Change): boolean => change.message === message && change.what === 'edited';
    return this.changes[mac]?.slice(0, number).findLast(isEdit)?.version ?? 0;
  }
}

function dataOf({ guid, message, writtenMs }: Row, row: number, version: number): Message {
  return {
    ...{
      id: String(row),
      guid,
      conversation_id: 'any;-;+15550100',
      sender: '+15550100',
      body: `${message} ${version}`,
    },
    ...{ attachments: [], timestamp: new Date(writtenMs).toISOString().replace(/\.\d+/, '') },
    ...{ is_from_me: false, status: 'delivered' },
  };
}
