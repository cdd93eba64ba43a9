import { join } from 'node:path';
import { isAppError } from '../../src/domain/errors.ts';
import { decodeOffset, type StreamOffset } from '../../src/domain/offset.ts';
import { EventReader } from '../../src/fleet/hub/event-reader.ts';
import { EventStore } from '../../src/fleet/hub/event-store.ts';
import { type HubDatabase, openHubDatabase } from '../../src/fleet/hub/hub-database.ts';
import { Offsets } from '../../src/fleet/hub/offsets.ts';
import { PairCopies } from '../../src/fleet/hub/pair-copies.ts';
import { Pairs } from '../../src/fleet/hub/pairs.ts';
import type { ReceivedEvent, StreamPlace } from '../../src/fleet/hub/stored-event.ts';
import { contradicts, isSameMessage } from '../../src/fleet/hub/stream-place.ts';
import { Envelope } from '../../src/fleet/protocol/envelope.ts';
import type { Chance } from '../../src/simulator/chatter.ts';

/** What can happen to the two Macs of a pair, two hubs and a broker that loses data. */
const STEPS = [
  ...['message', 'message', 'arrive', 'arrive', 'publish', 'publish', 'publish', 'copy', 'copy', 'copy'],
  ...['read', 'read', 'read', 'read', 'wait', 'hour', 'restart', 'forget', 'loseEnd', 'newHub'],
] as const;
export type PairStepName = (typeof STEPS)[number];

export interface PairStep {
  readonly do: PairStepName;
  readonly which: number;
  readonly size: number;
}

/** Steps that do not happen to a broker or a hub that loses nothing. */
const LOSSES: ReadonlySet<PairStepName> = new Set(['forget', 'loseEnd', 'newHub']);
const MACS = ['m1', 'm2'] as const;
const START_MS = Date.UTC(2026, 0, 2);
const HUBS = 2;
const CLIENTS = 3;
/** Databases of one hub: a new one for each time it loses its own. */
const FILES = 3;
const EVERYTHING = 1_000_000;

export function drawPairSchedule(chance: Chance): readonly PairStep[] {
  const isCalm = chance.below(3) === 0;
  return Array.from({ length: 20 + chance.below(60) }, () => ({
    do: STEPS[chance.below(isCalm ? STEPS.indexOf('forget') : STEPS.length)] ?? 'wait',
    which: chance.below(1000),
    size: chance.below(8),
  }));
}

export const describedPair = (steps: readonly PairStep[]): string =>
  steps.map((step) => `${step.do} ${step.which} ${step.size}`).join(', ');

export function parsedPair(text: string): readonly PairStep[] {
  return text.split(',').map((step) => {
    const [name, which, size] = step.trim().split(' ');
    return { do: name as PairStepName, which: Number(which), size: Number(size) };
  });
}

/** Returns the shortest part of a schedule that still fails. */
export function shrunkPair(steps: readonly PairStep[], fails: (steps: readonly PairStep[]) => boolean) {
  let shortest = steps;
  for (let size = Math.ceil(steps.length / 2); size >= 1; ) {
    const parts = Array.from({ length: Math.ceil(shortest.length / size) }, (_, part) =>
      shortest.filter((_step, place) => Math.floor(place / size) !== part),
    );
    const failing = parts.find(fails);
    if (failing !== undefined) shortest = failing;
    else size = size === 1 ? 0 : Math.floor(size / 2);
  }
  return shortest;
}

interface Row {
  readonly guid: string;
  readonly message: number;
  readonly writtenMs: number;
}

interface Stored extends Row {
  readonly sequence: number;
  readonly mac: string;
  readonly row: number;
  readonly previousRow: number;
  readonly previousSequence: number;
  readonly atMs: number;
}

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
class ModelHub {
  readonly #files: readonly HubDatabase[];
  readonly #used: Set<HubDatabase>;
  #file = 0;
  store!: EventStore;
  offsets!: Offsets;

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
    const copies = new PairCopies(database, pairs, (event) => reader.read(event));
    this.store = new EventStore(database, copies);
    this.offsets = new Offsets(this.store, 24);
    pairs.add({ mac: 'm1', standby: 'm2', sinceMs: START_MS });
  }

  loseFile(): void {
    this.#file = Math.min(this.#file + 1, FILES - 1);
    this.open();
  }
}

/** A client that continues at any hub with the offset that it has. */
interface ModelClient {
  after: string;
  hub: number;
  readonly got: number[];
  isTold: boolean;
}

/** One run of a schedule, with the real log and the real offsets of two hubs. */
class PairSimulation {
  readonly #hubs: readonly ModelHub[];
  readonly #clients: readonly ModelClient[];
  readonly #rows: Readonly<Record<string, Row[]>> = { m1: [], m2: [] };
  /** Messages that iCloud has not yet brought to a Mac. */
  readonly #coming: Readonly<Record<string, Row[]>> = { m1: [], m2: [] };
  #stream = { created: '', messages: [] as Stored[], next: 1 };
  #nowMs = START_MS;
  #messages = 0;
  readonly #isLossless: boolean;

  constructor(files: PairFiles, steps: readonly PairStep[]) {
    this.#isLossless = !steps.some((step) => LOSSES.has(step.do));
    this.#hubs = files.databases.map((one) => new ModelHub(one, files.used));
    this.#clients = Array.from({ length: CLIENTS }, (_, place) => ({
      ...{ after: '0', hub: place % HUBS, got: [], isTold: false },
    }));
    this.#create();
  }

  run(steps: readonly PairStep[]): string | undefined {
    for (const step of steps) this.#step(step);
    for (const mac of MACS) this.#arrive(mac, EVERYTHING, 0);
    for (const mac of MACS) this.#publish(mac, EVERYTHING);
    for (const hub of this.#hubs) {
      while (hub.store.mergeStep());
      for (const mac of MACS) hub.store.release(mac);
      this.#copy(hub, EVERYTHING);
    }
    for (const client of this.#clients)
      for (let page = 0; page < 2; page += 1) this.#read(client, client.hub, EVERYTHING);
    return this.#failure();
  }

  #step({ do: name, which, size }: PairStep): void {
    this.#nowMs += 1 + size;
    const mac = MACS[which % 2] ?? 'm1';
    const hub = this.#hubs[which % HUBS] as ModelHub;
    const client = this.#clients[which % CLIENTS] as ModelClient;
    if (name === 'message') this.#write(which);
    else if (name === 'arrive') this.#arrive(mac, 1 + size, which);
    else if (name === 'publish') this.#publish(mac, 1 + size);
    else if (name === 'copy') this.#copy(hub, 1 + size);
    // The first client stays at the first hub.
    else if (name === 'read') this.#read(client, which % CLIENTS === 0 ? 0 : size % HUBS, 1 + size);
    else if (name === 'hour') this.#nowMs += 3_600_000;
    else if (name === 'restart') hub.open();
    else if (name === 'forget') this.#create();
    else if (name === 'loseEnd') this.#loseEnd(size);
    else if (name === 'newHub') hub.loseFile();
  }

  #create(): void {
    this.#nowMs += 1000;
    this.#stream = { created: new Date(this.#nowMs).toISOString(), messages: [], next: 1 };
  }

  /** Restores the broker to an earlier state, so that sequences are used again. */
  #loseEnd(count: number): void {
    const { messages } = this.#stream;
    messages.splice(messages.length - Math.min(count, messages.length));
    this.#stream.next = (messages.at(-1)?.sequence ?? 0) + 1;
  }

  /** Writes a message that each Mac gets at once, later, or never. */
  #write(which: number): void {
    this.#messages += 1;
    const row = { guid: `G${this.#messages}`, message: this.#messages, writtenMs: this.#nowMs };
    for (const [place, mac] of MACS.entries()) {
      const fate = Math.floor(which / (place === 0 ? 10 : 100)) % 10;
      if (fate < 5) this.#rows[mac]?.push(row);
      else if (fate < 9 || place === 0) this.#coming[mac]?.push(row);
    }
  }

  /** Brings pending messages in any order; one that is old at both Macs may get another guid at one of them. */
  #arrive(mac: string, count: number, which: number): void {
    const coming = this.#coming[mac] ?? [];
    for (let left = count; left > 0 && coming.length > 0; left -= 1) {
      const [row] = coming.splice(which % coming.length, 1);
      if (row === undefined) return;
      const isOld = this.#nowMs - row.writtenMs > 1_900_000 && !this.#rows.m1?.includes(row);
      const isRenamed = mac === 'm2' && which % 5 === 0 && isOld;
      this.#rows[mac]?.push(isRenamed ? { ...row, guid: `N${row.message}` } : row);
    }
  }

  /** Publishes as an agent does: its last message in the stream decides where it continues. */
  #publish(mac: string, count: number): void {
    const { messages } = this.#stream;
    const rows = this.#rows[mac] ?? [];
    for (let left = count; left > 0; left -= 1) {
      const last = messages.findLast((message) => message.mac === mac);
      const previousRow = last?.row ?? 0;
      const row = rows[previousRow];
      if (row === undefined) return;
      this.#nowMs += 1;
      const place = { sequence: this.#stream.next, previousRow, previousSequence: last?.sequence ?? 0 };
      messages.push({ ...row, ...place, mac, row: previousRow + 1, atMs: this.#nowMs });
      this.#stream.next += 1;
    }
  }

  /** Copies as StreamCopy does: from the last message that the hub and the stream have in common. */
  #copy({ store }: ModelHub, count: number): void {
    const { created, messages } = this.#stream;
    const { position } = store;
    let from = 1;
    if (position?.stream === created) {
      const isSame = ({ sequence, mac, guid, atMs }: Stored): boolean => {
        const copied = store.messageAt(created, sequence);
        return sequence <= position.sequence && isSameMessage(copied, { messageId: `${mac}-${guid}`, atMs });
      };
      from = (messages.findLast(isSame)?.sequence ?? 0) + 1;
    }
    const batch = messages.filter(({ sequence }) => sequence >= from).slice(0, count);
    const last = batch.at(-1);
    if (last === undefined) return;
    const messageId = `${last.mac}-${last.guid}`;
    const at = { stream: created, sequence: last.sequence, messageId, atMs: last.atMs };
    // In some schedules events arrive before the earlier ones of the pair are merged, and wait.
    while (this.#isLossless && store.mergeStep());
    store.add(batch.map(received), at, this.#nowMs);
    if (count % 3 !== 0) store.mergeStep();
    for (const mac of MACS) while (store.release(mac) !== undefined);
  }

  #read(client: ModelClient, place: number, limit: number): void {
    const hub = this.#hubs[place] as ModelHub;
    const offset = decodeOffset(client.after);
    let number = 0;
    if (offset !== undefined && 'stream' in offset) {
      if (!this.#hasReached(hub, offset)) return;
      try {
        hub.offsets.assertComplete(offset);
        number = hub.offsets.numberOf(offset);
      } catch (error) {
        if (!isAppError(error)) throw error;
        if (error.code !== 'offset_expired') return;
        client.isTold = true;
      }
    }
    client.hub = place;
    for (const event of hub.store.index.events(number, EVERYTHING, limit)) {
      client.got.push(messageOf(event.body));
      client.after = hub.offsets.textOf(event.number);
    }
  }

  /** Returns false if the hub answers 503 `hub_behind`. */
  #hasReached({ store }: ModelHub, offset: StreamOffset): boolean {
    const { stream, sequence } = offset;
    const { position } = store;
    const isPast =
      position !== undefined && (position.stream === stream ? position.sequence >= sequence : stream < position.stream);
    if (isPast && !contradicts(store, offset)) return true;
    if (this.#has(offset)) return false;
    return position === undefined || this.#has(position);
  }

  #has({ stream, sequence, ...message }: StreamPlace): boolean {
    const there = this.#stream.messages.find((stored) => stored.sequence === sequence);
    if (this.#stream.created !== stream || there === undefined) return false;
    return isSameMessage({ messageId: `${there.mac}-${there.guid}`, atMs: there.atMs }, message);
  }

  #failure(): string | undefined {
    const seen = new Set(Object.values(this.#rows).flatMap((rows) => rows.map(({ message }) => message)));
    for (const [place, { store }] of this.#hubs.entries()) {
      const log = store.index.events(0, EVERYTHING, EVERYTHING).map(({ body }) => messageOf(body));
      if (new Set(log).size < log.length) return `hub ${place} published twice: ${log.join(' ')}`;
      if (log.length < seen.size) return `hub ${place} lost: it has ${log.join(' ')}`;
    }
    for (const [place, { got, isTold }] of this.#clients.entries()) {
      const lost = [...seen].filter((message) => !got.includes(message));
      if (lost.length > 0 && !isTold) return `client ${place} lost ${lost.join(' ')}, it has ${got.join(' ')}`;
      if (this.#isLossless && got.length > seen.size) return `client ${place} got twice: ${got.join(' ')}`;
    }
    return undefined;
  }
}

function received({ mac, guid, message, writtenMs, ...place }: Stored): ReceivedEvent {
  const timestamp = new Date(writtenMs).toISOString().replace(/\.\d+/, '');
  const data = {
    ...{ id: String(place.row), guid, conversation_id: 'any;-;+15550100', sender: '+15550100', body: `${message}` },
    ...{ attachments: [], timestamp, is_from_me: false, status: 'delivered' },
  };
  const body = Buffer.from(JSON.stringify({ type: 'message.received', data }));
  return { ...place, mac, epoch: 'e', type: 'message.received', messageId: `${mac}-${guid}`, keyId: null, body };
}

function messageOf(body: Uint8Array): number {
  return Number((JSON.parse(Buffer.from(body).toString()) as { data: { body: string } }).data.body);
}

/** Returns what went wrong in a schedule; undefined if nothing did. */
export function pairFailureOf(files: PairFiles, steps: readonly PairStep[]): string | undefined {
  files.empty();
  return new PairSimulation(files, steps).run(steps);
}
