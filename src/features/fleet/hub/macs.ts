import { HOUR_MS } from '../../../core/model/durations.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import type { HubMac, HubMachine } from '../../../core/model/status.ts';
import { fleetProblem } from '../problems.ts';
import { brokerAway } from '../protocol/connection.ts';
import { every } from '../protocol/every.ts';
import {
  type Asking,
  ask,
  MAX_MACHINES,
  type MacAnswer,
  type MachineReport,
  type Question,
  who,
} from '../protocol/requests.ts';
import { firstMachine } from './claims.ts';
import type { StreamEntry } from './stream-entry.ts';

const ASK_EVERY_MS = 1000;
const ANSWERS_WITHIN_MS = 800;
/** A machine that misses three questions is away. */
const AWAY_MS = 3500;

/** A machine of a Mac, as it last reported itself. */
interface KnownMachine {
  readonly report: MachineReport;
  readonly heardMs: number;
  /** True if it did not take a request since then. */
  readonly isLost?: boolean;
}

/** Knows the Macs of the fleet by asking all of them, every second, who is there. */
export class Macs {
  readonly #parts: Asking;
  /** Key: member and machine. The one that was heard last is at the end. */
  readonly #known = new Map<string, KnownMachine>();
  /** Members that have events in the stream, or have reported themselves. */
  readonly #named = new Set<string>();
  /** The first machine of each member as the broker has it, and until when it need not be asked again. */
  readonly #firsts = new Map<string, readonly [machine: string, untilMs: number]>();
  readonly #cancels: Cancel[];
  #first: Promise<void> | undefined;

  constructor(parts: Asking) {
    this.#parts = parts;
    this.#cancels = [
      parts.connection.onConnect(() => {
        this.#first ??= this.#ask();
      }),
      every(parts.clock, ASK_EVERY_MS - ANSWERS_WITHIN_MS, () => this.#first && this.#ask()),
    ];
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
  }

  /** Passes a request to one of their machines, as `ask` does. */
  ask(question: Question): Promise<MacAnswer> {
    return ask(this.#parts, question);
  }

  /** Learns from an event that a Mac exists, although it may be away. */
  note({ member }: StreamEntry): void {
    this.#named.add(member);
  }

  get ids(): readonly string[] {
    return [...this.#named].sort();
  }

  /**
   * Returns the names of a Mac's machines in the order in which they joined: those that are present, and all that this
   * hub has heard. Throws `mac_unknown` and `broker_away`.
   */
  async machinesOf(id: string): Promise<Readonly<Record<'present' | 'known', readonly string[]>>> {
    await this.#first;
    if (!this.ids.includes(id)) throw fleetProblem('mac_unknown');
    this.assertBroker();
    const names = (machines: readonly KnownMachine[]) => machines.map(({ report }) => report.machine);
    return { present: names(this.#presentOf(id)), known: names(this.#all(id)) };
  }

  /**
   * Returns the machine to which what only one machine of a Mac knows belongs. The broker is asked once an hour,
   * because a hub that has just started may not have heard the first machine. Throws `broker_away`.
   */
  async firstOf(id: string): Promise<string> {
    const { clock, connection } = this.#parts;
    const [heard, ...others] = (await this.machinesOf(id)).known;
    if (heard === undefined) throw this.away(id);
    const [confirmed, untilMs] = this.#firsts.get(id) ?? ['', 0];
    if (heard === confirmed && clock.now() < untilMs) return heard;
    const first = await firstMachine(connection, id, [heard, ...others]).catch(() => {
      throw brokerAway();
    });
    if (first === heard) this.#firsts.set(id, [first, clock.now() + HOUR_MS]);
    return first;
  }

  /** Takes a machine that did not take a request for away, until it is heard again. */
  lost(id: string, machine: string): void {
    const known = this.#known.get(`${id} ${machine}`);
    if (known !== undefined) this.#known.set(`${id} ${machine}`, { ...known, isLost: true });
  }

  /** Throws `broker_away` while no Mac can be asked. */
  assertBroker(): void {
    if (!this.#parts.connection.isConnected) throw brokerAway();
  }

  /** The problem that a Mac, or one of its machines, does not answer. */
  away(id: string, machine?: string): Error {
    const known = this.#all(id).filter(({ report }) => machine === undefined || report.machine === machine);
    const lastMs = Math.max(0, ...known.map(({ heardMs }) => heardMs));
    const since = lastMs === 0 ? 'before this hub started' : `at ${isoOf(lastMs)}`;
    const mac = machine === undefined ? id : `${id}/at/${machine}`;
    return fleetProblem('mac_away', { mac, since }, { extra: { mac: id } });
  }

  list(): readonly HubMac[] {
    return this.ids.map((id) => ({
      id,
      state: this.#presentOf(id).length > 0 ? 'present' : 'away',
      path: `/macs/${id}/api/v1`,
      machines: this.#all(id).map((known) => this.#summary(known)),
    }));
  }

  /** Keeps the machines that were heard last, because a Mac that lies can name new ones each time. */
  #hear(report: MachineReport): void {
    const { member, machine } = report;
    this.#named.add(member);
    this.#known.delete(`${member} ${machine}`);
    this.#known.set(`${member} ${machine}`, { report, heardMs: this.#parts.clock.now() });
    const [oldest = '', ...others] = [...this.#known.keys()].filter((key) => key.startsWith(`${member} `));
    if (others.length >= MAX_MACHINES) this.#known.delete(oldest);
  }

  #summary(known: KnownMachine): HubMachine {
    const { machine, name, version, row, behind, late, problem } = known.report;
    return {
      machine,
      state: this.#isPresent(known) ? 'present' : 'away',
      name,
      version,
      heard_at: isoOf(known.heardMs),
      newest_row: row,
      behind,
      rows_without_event: late,
      problem,
    };
  }

  #all(id: string): readonly KnownMachine[] {
    return [...this.#known.values()]
      .filter(({ report }) => report.member === id)
      .sort(
        ({ report: one }, { report: other }) => one.sinceMs - other.sinceMs || (one.machine < other.machine ? -1 : 1),
      );
  }

  #presentOf(id: string): readonly KnownMachine[] {
    return this.#all(id).filter((known) => this.#isPresent(known));
  }

  #isPresent({ heardMs, isLost = false }: KnownMachine): boolean {
    return !isLost && this.#parts.clock.now() - heardMs < AWAY_MS;
  }

  async #ask(): Promise<void> {
    try {
      for (const report of await who(this.#parts, ANSWERS_WITHIN_MS)) this.#hear(report);
    } catch {
      // The broker is away: so are the Macs, until it is back.
    }
  }
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
