import { appendFileSync } from 'node:fs';
import { isLong } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { type Tally, Watchers } from './fleet-watchers.ts';
import { FleetWorld } from './fleet-world.ts';

/** m1 is a pair: two machines with the same messages. */
const MACHINES = [
  ['m1', 'm1-a'],
  ['m1', 'm1-b'],
  ['m2', 'm2'],
  ['m3', 'm3'],
] as const;
const MORE = isLong ? Array.from({ length: 17 }, (_, index) => [`m${index + 4}`, `m${index + 4}`] as const) : [];
const EVERY_MS = 50;
const ROWS_EACH_TIME = isLong ? 15 : 1;
const ARRIVES_WITHIN_MS = 100_000;

export interface Outcome {
  readonly events: number;
  readonly inStream: number;
  readonly webhook: Tally;
  readonly poll: Tally;
  readonly live: Tally;
}

/** A fleet in which all Macs get messages all the time, while it is broken in one way after the other. */
export class FleetRun {
  readonly world: FleetWorld;
  readonly watchers: Watchers;
  readonly members: readonly string[];
  /** The only machine of m1 that gets its messages for now, and what the other one has missed. */
  only: string | undefined;
  #turn = 0;
  readonly #writer: NodeJS.Timeout;

  private constructor(world: FleetWorld, watchers: Watchers) {
    this.world = world;
    this.watchers = watchers;
    this.members = [...new Set(world.machines.map(({ member }) => member))];
    this.#writer = setInterval(() => this.#write(), EVERY_MS);
  }

  /** `delayMs` is how long every byte is on its way between any two parts. */
  static async start(servers: 1 | 3, delayMs = 0): Promise<FleetRun> {
    const world = await FleetWorld.start(servers, [...MACHINES, ...MORE], delayMs);
    return new FleetRun(world, await Watchers.start(world));
  }

  async end(): Promise<void> {
    clearInterval(this.#writer);
    await this.watchers.end();
    await this.world.end();
  }

  /** Breaks something, waits until every message has arrived everywhere, and returns what was seen. */
  async under(fault: string, break_: () => Promise<void>, { rewinds = false } = {}): Promise<Outcome> {
    this.watchers.begin();
    const { length: from } = await this.world.stream();
    const before = this.world.written.length;
    await this.passes(300);
    await break_();
    await this.passes(500);
    const rows = this.world.written.length;
    await this.arrived(rows).catch(() => undefined);
    // An event that the broker lost is published again within a few seconds.
    const stream = await waitFor(async () => {
      const found = await this.world.stream();
      const known = new Set(found);
      return this.world.written.slice(0, rows).every(({ guid }) => known.has(guid)) && found;
    }, ARRIVES_WITHIN_MS).catch(() => this.world.stream());
    const known = new Set(stream);
    const outcome = {
      events: rows - before,
      inStream: this.world.written.slice(0, rows).filter(({ guid }) => known.has(guid)).length,
      ...this.watchers.tallies(rewinds ? undefined : stream, rows),
    };
    const report = process.env.FLEET_FAULTS_REPORT;
    if (report !== undefined) {
      const servers = this.world.servers.length;
      const differences = servers === 1 ? 0 : await this.world.differences(from);
      appendFileSync(report, `${JSON.stringify({ fault, servers, differences, ...outcome })}\n`);
    }
    return { ...outcome, inStream: outcome.inStream - rows };
  }

  /** Resolves after as many messages as come in within this time. */
  async passes(ms: number): Promise<void> {
    const until = this.world.written.length + (ms / EVERY_MS) * ROWS_EACH_TIME;
    await waitFor(() => this.world.written.length >= until, ARRIVES_WITHIN_MS);
  }

  /** Resolves once the first `rows` messages have arrived everywhere; by default all that are there now. */
  async arrived(rows = this.world.written.length): Promise<void> {
    await waitFor(() => Object.values(this.watchers.missing(rows)).every((count) => count === 0), ARRIVES_WITHIN_MS);
  }

  #write(): void {
    for (let row = 0; row < ROWS_EACH_TIME; row += 1) {
      const member = this.members[this.#turn % this.members.length] ?? '';
      this.#turn += 1;
      this.world.write(member, member === 'm1' && this.only !== undefined ? { only: this.only } : {});
    }
  }
}

const IN_ORDER = { lost: 0, disorder: 0 };
const LOST = { lost: 0 };

/** What is left after a fault that the stream survives: nothing is lost, and all are in its order. */
export const ALL_THERE = { inStream: 0, webhook: IN_ORDER, poll: IN_ORDER, live: IN_ORDER };
/** What is left after the broker lost events that it had acknowledged: those come again, after newer ones. */
export const LOST_NOTHING = { inStream: 0, webhook: LOST, poll: LOST, live: LOST };
