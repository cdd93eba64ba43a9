import { isAppError } from '../../src/core/model/errors.ts';
import type { LogEntry } from '../../src/core/model/event.ts';
import { decodeOffset, rowOffset, type StreamOffset } from '../../src/core/model/offset.ts';
import type { EventStore } from '../../src/features/fleet/hub/event-store.ts';
import type { Hole, ReceivedEvent, StreamPlace } from '../../src/features/fleet/hub/stored-event.ts';
import { contradicts, isSameMessage } from '../../src/features/fleet/hub/stream-place.ts';
import { CHAIN_START, CHAIN_START_BODY } from '../../src/features/fleet/protocol/event-message.ts';
import type { Chance } from '../../src/features/simulator/chatter.ts';
import { HUBS, ModelHub, type PairFiles, START_MS } from './pair-hub.ts';
import { MACS, PairMacs } from './pair-macs.ts';

/** What can happen to the two Macs of a pair, two hubs and a broker that loses data. */
const STEPS = [
  ...['message', 'message', 'edit', 'edit', 'delete', 'restore', 'arrive', 'arrive'],
  ...['publish', 'publish', 'publish', 'copy', 'copy', 'copy'],
  ...['read', 'read', 'read', 'read', 'wait', 'hour', 'restart', 'forget', 'loseEnd', 'newHub'],
] as const;
export type PairStepName = (typeof STEPS)[number];

export interface PairStep {
  readonly do: PairStepName;
  readonly which: number;
  readonly size: number;
}

/** Steps that happen only if the broker or a hub loses data. */
const LOSSES: ReadonlySet<PairStepName> = new Set(['forget', 'loseEnd', 'newHub']);
const CLIENTS = 3;
const CHANGES = 'c_1_e';
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

type Stored = ReceivedEvent;

/** A client that continues at any hub with its last offset. */
interface ModelClient {
  after: string;
  hub: number;
  readonly got: number[];
  /** The newest version of each message that the client has, without deleted messages. */
  readonly copy: Map<number, number>;
  isTold: boolean;
}

/** One run of a schedule, with the real log and the real offsets of two hubs. */
class PairSimulation {
  readonly #hubs: readonly ModelHub[];
  readonly #clients: readonly ModelClient[];
  #stream = { created: '', messages: [] as Stored[], next: 1 };
  readonly #macs = new PairMacs();
  #nowMs = START_MS;
  readonly #isLossless: boolean;

  constructor(files: PairFiles, steps: readonly PairStep[]) {
    this.#isLossless = !steps.some((step) => LOSSES.has(step.do));
    this.#hubs = files.databases.map((one) => new ModelHub(one, files.used));
    this.#clients = Array.from({ length: CLIENTS }, (_, place) => ({
      ...{ after: '0', hub: place % HUBS, got: [], copy: new Map<number, number>(), isTold: false },
    }));
    this.#create();
    for (const mac of MACS) this.#publish(mac, 0);
    for (const hub of this.#hubs) this.#copy(hub, EVERYTHING);
  }

  run(steps: readonly PairStep[]): string | undefined {
    for (const step of steps) this.#step(step);
    for (const mac of MACS) this.#macs.arrive(mac, EVERYTHING, 1, this.#nowMs);
    for (const mac of MACS) this.#publish(mac, EVERYTHING);
    for (const hub of this.#hubs) this.#copy(hub, EVERYTHING);
    // Only the next event reveals a gap.
    this.#macs.write(0, this.#nowMs);
    for (const mac of MACS) this.#publish(mac, EVERYTHING);
    for (const hub of this.#hubs) {
      while (hub.store.mergeStep());
      this.#copy(hub, EVERYTHING);
    }
    for (const client of this.#clients) {
      for (let page = 0; page < 2; page += 1) this.#read(client, client.hub, EVERYTHING);
    }
    return this.#failure() ?? this.#endless();
  }

  #step({ do: name, which, size }: PairStep): void {
    this.#nowMs += 1 + size;
    const mac = MACS[which % 2] ?? 'm1';
    const hub = this.#hubs[which % HUBS] as ModelHub;
    const client = this.#clients[which % CLIENTS] as ModelClient;
    if (name === 'message') this.#macs.write(which, this.#nowMs);
    else if (name === 'edit') this.#macs.edit(which, size);
    else if (name === 'delete') this.#macs.toggle(which, size, 'deleted');
    else if (name === 'restore') this.#macs.toggle(which, size, 'restored');
    else if (name === 'arrive') this.#macs.arrive(mac, 1 + size, which, this.#nowMs);
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

  /** Restores the broker to an earlier state, after which it reuses sequences. */
  #loseEnd(count: number): void {
    const { messages } = this.#stream;
    messages.splice(messages.length - Math.min(count, messages.length));
    this.#stream.next = (messages.at(-1)?.sequence ?? 0) + 1;
  }

  /** Publishes as an agent does: its last messages in the stream decide where it continues. */
  #publish(mac: string, count: number): void {
    const lastOf = (epoch: string) =>
      this.#stream.messages.findLast((message) => message.mac === mac && message.epoch === epoch);
    if (lastOf(CHANGES) === undefined) {
      const row = this.#macs.changes[mac]?.length ?? 0;
      const start = {
        type: CHAIN_START,
        messageId: `${mac}-start-${this.#nowMs}`,
        body: Buffer.from(CHAIN_START_BODY),
      };
      this.#append({ ...start, mac, epoch: CHANGES, row, previousRow: row, previousSequence: 0 });
    }
    for (let left = count; left > 0; left -= 1) {
      const [row, change] = [lastOf('e'), lastOf(CHANGES)];
      const number = (change?.row ?? 0) + 1;
      const isKnown = this.#macs.rowOfChange(mac, number) <= (row?.row ?? 0);
      const changed = isKnown ? this.#macs.changeEvent(mac, number) : undefined;
      const next = changed ?? this.#macs.rowEvent(mac, (row?.row ?? 0) + 1);
      const last = changed === undefined ? row : change;
      if (next === undefined) return;
      const { sequence: previousSequence = 0, row: previousRow = 0 } = last ?? {};
      this.#append({ ...next, mac, epoch: changed === undefined ? 'e' : CHANGES, previousRow, previousSequence });
    }
  }

  #append(event: Omit<Stored, 'sequence' | 'atMs' | 'keyId'>): void {
    this.#nowMs += 1;
    this.#stream.messages.push({ ...event, sequence: this.#stream.next, atMs: this.#nowMs, keyId: null });
    this.#stream.next += 1;
  }

  /** Copies as StreamCopy does: from the last message that the hub and the stream have in common. */
  #copy(hub: ModelHub, count: number): void {
    const { store } = hub;
    this.#copyStream(hub, count);
    for (const queue of store.waitingQueues()) {
      for (let hole = store.hole(queue); ; hole = store.hole(queue)) {
        while (store.release(queue) !== undefined);
        if (hole === undefined || !this.#fill(store, hole)) break;
      }
    }
  }

  /** Supplies the missing changes. Returns false if none can be supplied, and no more may be lost. */
  #fill(store: EventStore, hole: Hole): boolean {
    const { mac, after, last } = hole;
    if (after === last) return store.giveUp(hole, this.#nowMs) !== undefined;
    const rows = Array.from({ length: last - after }, (_, at) => this.#macs.changeEvent(mac, after + 1 + at));
    store.fill(
      hole,
      rows.flatMap((row) => (row === undefined ? [] : { ...row, keyId: null })),
      last,
    );
    return true;
  }

  #copyStream({ store }: ModelHub, count: number): void {
    const { created, messages } = this.#stream;
    const { position } = store;
    let from = 1;
    if (position?.stream === created) {
      const isSame = ({ sequence, messageId, atMs }: Stored): boolean => {
        const copied = store.messageAt(created, sequence);
        return sequence <= position.sequence && isSameMessage(copied, { messageId, atMs });
      };
      from = (messages.findLast(isSame)?.sequence ?? 0) + 1;
    }
    const batch = messages.filter(({ sequence }) => sequence >= from).slice(0, count);
    const last = batch.at(-1);
    if (last === undefined) return;
    const { sequence, messageId, atMs } = last;
    // In some schedules, events arrive while the pair's earlier events are still being merged, and wait.
    while (this.#isLossless && store.mergeStep());
    store.add(batch, { stream: created, sequence, messageId, atMs }, this.#nowMs);
    if (count % 3 !== 0) store.mergeStep();
  }

  /** Reads everything page by page, from hubs in an irregular order. Describes a client that does not reach the end. */
  #endless(): string | undefined {
    const events = this.#hubs.map((hub) => hub.store.index.lastNumber).reduce((sum, count) => sum + count);
    const client: ModelClient = { after: '0', hub: 0, got: [], copy: new Map(), isTold: false };
    let [read, empty] = [0, 0];
    for (let turn = 0; empty < 4 && !client.isTold; turn += 1) {
      const count = this.#read(client, Math.floor((turn + 1) / 2) % HUBS, 3) ?? 0;
      empty = count === 0 ? empty + 1 : 0;
      read += count;
      if (read > events) return `a client got ${read} events of ${events}, and then the first ones again`;
    }
    return undefined;
  }

  /** Returns the number of events read; undefined if the hub refuses the client. */
  #read(client: ModelClient, place: number, limit: number): number | undefined {
    const hub = this.#hubs[place] as ModelHub;
    const offset = decodeOffset(client.after);
    let position = rowOffset(0);
    if (offset !== undefined && 'stream' in offset) {
      if (!this.#hasReached(hub, offset)) return undefined;
      try {
        hub.offsets.assertComplete(offset, true);
        position = hub.offsets.positionOf(offset, true);
      } catch (error) {
        if (!isAppError(error)) throw error;
        if (error.code !== 'offset_expired') return undefined;
        client.isTold = true;
      }
    }
    client.hub = place;
    // A client that starts at offset 0 does not receive earlier changes.
    if (position.rowId === 0 && !hub.hasAllChanges) client.isTold = true;
    const entries = hub.events.allEntries(position, rowOffset(EVERYTHING), limit);
    for (const entry of entries) {
      const [message, version] = shownIn(entry);
      if (!('changes' in entry.event)) client.got.push(message);
      if ('changes' in entry.event && entry.event.changes.includes('deleted')) client.copy.delete(message);
      else client.copy.set(message, version);
      client.after = hub.offsets.textOf(entry.rowId, position.others);
    }
    return entries.length;
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
    return isSameMessage(there, message);
  }

  #failure(): string | undefined {
    const seen = this.#macs.messages;
    for (const [place, { events }] of this.#hubs.entries()) {
      const all = events.allEntries(rowOffset(0), rowOffset(EVERYTHING), EVERYTHING);
      const log = all.filter(({ event }) => !('changes' in event)).map((entry) => shownIn(entry)[0]);
      if (new Set(log).size < log.length) return `hub ${place} published twice: ${log.join(' ')}`;
      const edits = all.filter(({ event }) => 'changes' in event && event.changes.includes('edited'));
      const told = edits.map((entry) => shownIn(entry).join(' '));
      if (new Set(told).size < told.length) return `hub ${place} told twice: ${told.join(', ')}`;
      if (log.length < seen.size) return `hub ${place} lost: it has ${log.join(' ')}`;
    }
    for (const [place, { got, copy, isTold }] of this.#clients.entries()) {
      const lost = [...seen].filter((message) => !got.includes(message));
      if (lost.length > 0 && !isTold) return `client ${place} lost ${lost.join(' ')}, it has ${got.join(' ')}`;
      for (const message of isTold ? [] : seen) {
        const [wanted, found] = [this.#macs.newest(message), copy.get(message)];
        // A row that a Mac publishes again does not show that the message was deleted since.
        if (wanted === undefined && !this.#isLossless) continue;
        if (wanted !== found) return `client ${place} has version ${found} of ${message} in place of ${wanted}`;
      }
      if (this.#isLossless && got.length > seen.size) return `client ${place} got twice: ${got.join(' ')}`;
    }
    return undefined;
  }
}

/** Returns the message and its version. */
function shownIn({ event }: LogEntry): readonly [message: number, version: number] {
  const [message, version] = ('body' in event.data ? event.data.body : '').split(' ').map(Number);
  return [message ?? 0, version ?? 0];
}

/** Returns what went wrong in a schedule; undefined if nothing did. */
export function pairFailureOf(files: PairFiles, steps: readonly PairStep[]): string | undefined {
  files.empty();
  return new PairSimulation(files, steps).run(steps);
}
