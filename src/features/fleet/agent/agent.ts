import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type * as z from 'zod';
import type { Core } from '../../../core/core.ts';
import type { Running } from '../../../core/feature.ts';
import type { Gauge } from '../../../core/http/metrics/handlers.ts';
import { AppError } from '../../../core/model/errors.ts';
import type { RunCommand } from '../../../core/runtime/command.ts';
import type { fleetSchema } from '../document.ts';
import { FleetConnection } from '../protocol/connection.ts';
import { envelopeOf, type Membership, readMembership } from '../protocol/membership.ts';
import { ONE_NAME_EACH } from '../protocol/names.ts';
import type { FleetValues } from '../settings.ts';
import { Answers } from './answers.ts';
import { Namesake } from './namesake.ts';
import { EventPublisher } from './publisher.ts';
import { type AgentStore, agentStore } from './store.ts';

/** The member `fleet` of a Mac's status. */
export type FleetReport = z.infer<typeof fleetSchema>;

/**
 * Makes this Mac a member of its fleet. The service itself never waits for any of this. Throws AppError
 * `fleet_file_unreadable` or `fleet_line_unusable`.
 */
export async function openAgent(core: Core, values: FleetValues): Promise<Running> {
  const { clock, log, run } = core.host;
  const first = ofMac(readMembership(values.file));
  const { member } = first;
  let envelope = envelopeOf(first);
  const membership = (): Membership => {
    const read = ofMac(readMembership(values.file));
    if (read.member !== member) {
      throw new AppError('fleet_line_unusable', 'The line of the fleet has another name now. Restart Postern.');
    }
    envelope = envelopeOf(read);
    return read;
  };
  const store = agentStore(core.state);
  const machine = values.machine || (await machineOfHardware(member, run)) || store.ownMachine();
  const connection = new FleetConnection(membership, { clock, log, name: `${member}.${machine}` });
  const shared = { member, machine, clock, log, connection, envelope: () => envelope };
  const namesake = new Namesake({
    ...shared,
    onChange() {
      if (namesake.isFirst) answers.stop();
      else if (connection.isConnected) answers.start();
      publisher.doubt();
    },
  });
  const { seed } = first;
  const publisher = new EventPublisher({ ...shared, seed, store, core, values, mayPublish: () => !namesake.isFirst });
  const status = (): FleetReport => statusOf(core, { member, machine, store, connection, publisher, namesake });
  let serviceUrl = '';
  const answers = new Answers({
    ...shared,
    serviceUrl: () => serviceUrl,
    ownerKey: core.config.auth.apiKey,
    report: () => ({
      ...machineReport(core, status(), namesake.trouble ?? publisher.trouble),
      sinceMs: store.since(member, machine, clock.now()),
    }),
  });
  return {
    start({ url }) {
      serviceUrl = url;
      connection.onConnect(() => {
        namesake.start();
        if (!namesake.isFirst) answers.start();
      });
      connection.onDisconnect(() => answers.stop());
      publisher.start();
      // Only now, because a starting service keeps the memory that its garbage took.
      connection.start();
    },
    async close() {
      answers.stop();
      namesake.stop();
      await publisher.close();
      await connection.close();
    },
    status,
    warning() {
      const { problem } = status();
      if (problem === null) return undefined;
      if (namesake.trouble !== undefined) {
        const text = `In the fleet, ${namesake.trouble}. ${ONE_NAME_EACH}`;
        return { code: 'fleet_refused', tone: 'warn', title: 'Two machines of the fleet have one name', text };
      }
      const text = `Events wait to be published to the fleet: ${problem}.`;
      return { code: 'fleet_away', tone: 'warn', title: 'The fleet cannot be reached', text };
    },
    metrics: (gauge) => writeMetrics(gauge, status()),
  };
}

interface Parts {
  readonly member: string;
  readonly machine: string;
  readonly store: AgentStore;
  readonly connection: FleetConnection;
  readonly publisher: EventPublisher;
  readonly namesake: Namesake;
}

function statusOf({ feed }: Core, { member, machine, store, connection, publisher, namesake }: Parts): FleetReport {
  const { certificateEnd: end, isConnected } = connection;
  const published = store.position()?.rowId;
  return {
    mac: member,
    machine,
    state: isConnected ? (namesake.isFirst ? 'refused' : 'connected') : 'away',
    published_row: published ?? null,
    behind: Math.max(0, feed.lastPublished().rowId - (published ?? 0)),
    late: store.late(),
    certificate_ends: end === undefined ? null : new Date(end).toISOString(),
    problem: connection.trouble ?? namesake.trouble ?? publisher.trouble ?? null,
  };
}

function machineReport({ host, status }: Core, { published_row, behind, late }: FleetReport, trouble?: string) {
  const { connected, message } = status.health();
  const problem = connected ? (trouble ?? null) : (message ?? 'Messages cannot be read.');
  return {
    name: hostname().slice(0, 100),
    version: host.version,
    atMs: host.clock.now(),
    row: published_row ?? 0,
    behind,
    late,
    problem: problem?.slice(0, 500) ?? null,
  };
}

function writeMetrics(gauge: Gauge, { state, published_row: row, behind, late }: FleetReport): void {
  gauge('postern_fleet_connected', 'Whether events are published to the fleet.', state === 'connected' ? 1 : 0);
  gauge('postern_fleet_published_row_id', 'Row id of the newest event that the fleet has acknowledged.', row);
  gauge('postern_fleet_behind', 'Maximum number of rows that the fleet does not have yet.', behind);
  gauge('postern_fleet_late_rows', 'Rows that were too old for the stream when they could be published.', late);
}

/**
 * Returns a name made from the id of this machine's hardware, so that a copy of the disk in another machine has another
 * name; undefined without ioreg.
 */
async function machineOfHardware(member: string, run: RunCommand): Promise<string | undefined> {
  const { stdout } = await run('ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice']);
  const id = /"IOPlatformUUID" = "([\w-]+)"/.exec(stdout)?.[1];
  return id && createHash('sha256').update(`postern machine ${member} ${id}`).digest('hex').slice(0, 8);
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
