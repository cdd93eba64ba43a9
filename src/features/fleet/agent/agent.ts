import { hostname } from 'node:os';
import type { Core } from '../../../core/core.ts';
import type { Running } from '../../../core/feature.ts';
import type { Gauge } from '../../../core/http/metrics/handlers.ts';
import type { HttpServer } from '../../../core/http/server.ts';
import { AppError } from '../../../core/model/errors.ts';
import type { StatusWarning } from '../../../core/model/status.ts';
import { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { envelopeOf, type Membership, readMembership } from '../protocol/membership.ts';
import type { MachineReport } from '../protocol/requests.ts';
import type { FleetValues } from '../settings.ts';
import { Answers } from './answers.ts';
import { machineOfHardware } from './machine-id.ts';
import { EventPublisher } from './publisher.ts';
import { type AgentStore, agentStore } from './store.ts';

/** The member `fleet` of a Mac's status. */
export interface FleetReport {
  readonly mac: string;
  readonly machine: string;
  readonly state: 'connected' | 'away';
  readonly published_row: number | null;
  readonly behind: number;
  readonly late: number;
  readonly certificate_ends: string | null;
  readonly problem: string | null;
}

/** Makes this Mac a member of its fleet. The service itself never waits for any of this. */
export class FleetAgent implements Running {
  readonly #core: Core;
  readonly #member: string;
  readonly #machine: string;
  readonly #sinceMs: number;
  readonly #store: AgentStore;
  readonly #connection: FleetConnection;
  readonly #publisher: EventPublisher;
  readonly #answers: Answers;
  #serviceUrl = '';

  private constructor(core: Core, values: FleetValues, member: string, machine: string) {
    const { host, feed, chatLog, owner, messages, config, state } = core;
    const { clock, log } = host;
    this.#core = core;
    this.#member = member;
    this.#machine = machine;
    this.#store = agentStore(state);
    this.#sinceMs = this.#store.since(member, machine, clock.now());
    let envelope: Envelope | undefined;
    const membership = (): Membership => {
      const read = ofMac(readMembership(values.file));
      if (read.member !== member) {
        throw new AppError('fleet_line_unusable', 'The line of the fleet has another name now. Restart Postern.');
      }
      envelope = envelopeOf(read);
      return read;
    };
    membership();
    this.#connection = new FleetConnection(membership, { clock, log, name: `${member}.${machine}` });
    const shared = {
      ...{ member, machine, clock, log, connection: this.#connection, store: this.#store },
      envelope: (): Envelope => envelope ?? envelopeOf(membership()),
    };
    this.#publisher = new EventPublisher({
      ...shared,
      ...{ feed, messages: chatLog, reader: owner.reader },
      details: (message) => messages.details(message),
      backfillHours: values.backfillHours,
      hasChanges: values.changes,
    });
    this.#answers = new Answers({
      ...shared,
      serviceUrl: () => this.#serviceUrl,
      ownerKey: config.auth.apiKey,
      report: () => this.#machineReport(),
    });
  }

  /** Throws AppError `fleet_file_unreadable` or `fleet_line_unusable`. */
  static async open(core: Core, values: FleetValues): Promise<FleetAgent> {
    const { member } = ofMac(readMembership(values.file));
    const machine =
      values.machine || (await machineOfHardware(member, core.host.run)) || agentStore(core.state).ownMachine();
    return new FleetAgent(core, values, member, machine);
  }

  start({ url }: HttpServer): void {
    this.#serviceUrl = url;
    this.#connection.onConnect(() => this.#answers.start());
    this.#connection.onDisconnect(() => this.#answers.stop());
    this.#publisher.start();
  }

  async close(): Promise<void> {
    this.#answers.stop();
    await this.#publisher.close();
    await this.#connection.close();
  }

  status(): FleetReport {
    const { certificateEnd: end, isConnected } = this.#connection;
    return {
      mac: this.#member,
      machine: this.#machine,
      state: isConnected ? 'connected' : 'away',
      published_row: this.#publisher.position?.rowId ?? null,
      behind: this.#behind(),
      late: this.#store.late(),
      certificate_ends: end === undefined ? null : new Date(end).toISOString(),
      problem: this.#connection.trouble ?? this.#publisher.trouble ?? null,
    };
  }

  warning(): StatusWarning | undefined {
    const trouble = this.#connection.trouble ?? this.#publisher.trouble;
    if (trouble === undefined) return undefined;
    const text = `Events wait to be published to the fleet: ${trouble}.`;
    return { code: 'fleet_away', tone: 'warn', title: 'The fleet cannot be reached', text };
  }

  metrics(gauge: Gauge): void {
    const { state, published_row: row, behind, late } = this.status();
    gauge('postern_fleet_connected', 'Whether events are published to the fleet.', state === 'connected' ? 1 : 0);
    gauge('postern_fleet_published_row_id', 'Row id of the newest event that the fleet has acknowledged.', row);
    gauge('postern_fleet_behind', 'Maximum number of rows that the fleet does not have yet.', behind);
    gauge('postern_fleet_late_rows', 'Rows that were too old for the stream when they could be published.', late);
  }

  #behind(): number {
    return Math.max(0, this.#core.feed.lastPublished().rowId - (this.#publisher.position?.rowId ?? 0));
  }

  #machineReport(): Omit<MachineReport, 'member' | 'machine'> {
    const { host, status } = this.#core;
    const { connected, message } = status.health();
    const problem = connected ? (this.#publisher.trouble ?? null) : (message ?? 'Messages cannot be read.');
    return {
      name: hostname().slice(0, 100),
      version: host.version,
      sinceMs: this.#sinceMs,
      atMs: host.clock.now(),
      row: this.#publisher.position?.rowId ?? 0,
      behind: this.#behind(),
      late: this.#store.late(),
      problem: problem?.slice(0, 500) ?? null,
    };
  }
}

/** Throws AppError `fleet_line_unusable` for the line of a hub. */
function ofMac(read: Membership): Membership & { readonly member: string } {
  const { member } = read;
  if (member !== undefined) return { ...read, member };
  throw new AppError(
    'fleet_line_unusable',
    'fleet.file holds the line of a hub. A Mac needs its own, from "postern fleet add".',
  );
}
