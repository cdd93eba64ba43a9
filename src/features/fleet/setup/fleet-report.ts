import type { JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { DAY_MS } from '../../../core/model/durations.ts';
import { systemClock } from '../../../core/runtime/clock.ts';
import { managerOf } from '../protocol/connect-once.ts';
import { envelopeOf } from '../protocol/membership.ts';
import { type MachineReport, who } from '../protocol/requests.ts';
import { STREAMS, unlessMissing } from '../protocol/subjects.ts';
import type { CertificateEnd, FleetFolder } from './fleet-folder.ts';
import { connectOperator } from './operator-connection.ts';
import { isAtLeast } from './server-config.ts';

/** How long to collect the answers of servers and machines, in milliseconds. */
const ANSWERS_MS = 1500;
/** The first nats-server version in which killing one of three servers cannot lose a whole stream. */
const SAFE_COPIES_SINCE = [2, 10, 23];
const NEARLY_FULL = 0.9;
const SOON_DAYS = 30;
const MAX_CLOCK_MS = 5000;

export interface ServerReport {
  readonly name: string;
  readonly version: string;
  /** True if the server writes every message to the disk before it acknowledges it. */
  readonly syncsAlways: boolean;
  readonly bytes: number;
  /** The server's limit; 0 if unknown. */
  readonly maxBytes: number;
}

export interface StreamReport {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  readonly first: string | null;
  readonly replicas: number;
}

export interface MacState {
  readonly mac: string;
  /** The machines that answered: none while the Mac is away. */
  readonly machines: readonly Omit<MachineReport, 'member'>[];
}

export interface FleetState {
  readonly servers: readonly ServerReport[];
  readonly streams: readonly StreamReport[];
  readonly macs: readonly MacState[];
  readonly certificates: readonly CertificateEnd[];
  readonly problems: readonly string[];
  /** What needs no action at once, such as an old nats-server. */
  readonly warnings: readonly string[];
}

/** Asks servers and machines for the state of the fleet. Throws AppError `broker_away` if no server can be used. */
export async function fleetReport(folder: FleetFolder, now: number): Promise<FleetState> {
  const connection = await connectOperator(folder, 'operator');
  try {
    const jsm = await managerOf(connection);
    const [found, servers, machines] = await Promise.all([
      Promise.all(STREAMS.map((name) => streamOf(jsm, name))),
      serversOf(folder),
      machinesOf(connection, folder),
    ]);
    const macs = folder.macs.map((mac) => ({ mac, machines: machines.filter(({ member }) => member === mac) }));
    const missing = STREAMS.filter((_, index) => found[index] === undefined);
    const certificates = folder.certificates();
    const streams = found.flatMap((stream) => stream ?? []);
    const problems = [...problemsOf(servers, missing, machines, now), ...endingSoon(certificates, now)];
    return { servers, streams, macs, certificates, problems, warnings: warningsOf(servers, streams) };
  } finally {
    await connection.close();
  }
}

async function machinesOf(nc: NatsConnection, folder: FleetFolder): Promise<readonly MachineReport[]> {
  const asking = { connection: { nc, isConnected: true }, envelope: envelopeOf(folder.hub), clock: systemClock };
  const found = await who(asking, ANSWERS_MS);
  return [...found].sort((one, other) => one.sinceMs - other.sinceMs);
}

async function streamOf(jsm: JetStreamManager, name: string): Promise<StreamReport | undefined> {
  const info = await unlessMissing(() => jsm.streams.info(name));
  if (info === undefined) return undefined;
  const { state, config } = info;
  const first = state.messages > 0 ? state.first_ts : null;
  return { name, messages: state.messages, bytes: state.bytes, first, replicas: config.num_replicas };
}

interface ServerAnswer {
  readonly server: { readonly name: string; readonly ver: string };
  readonly data?: {
    readonly storage?: number;
    readonly config?: { readonly sync_always?: boolean; readonly max_storage?: number };
  };
}

async function serversOf(folder: FleetFolder): Promise<readonly ServerReport[]> {
  const connection = await connectOperator(folder, 'system');
  try {
    const replies = await connection.requestMany('$SYS.REQ.SERVER.PING.JSZ', '', { maxWait: ANSWERS_MS });
    const servers: ServerReport[] = [];
    for await (const reply of replies) {
      const { server, data: { storage: bytes = 0, config = {} } = {} } = reply.json<ServerAnswer>();
      const { sync_always: syncsAlways = false, max_storage: maxBytes = 0 } = config;
      servers.push({ name: server.name, version: server.ver, syncsAlways, bytes, maxBytes });
    }
    return servers.sort((one, other) => one.name.localeCompare(other.name));
  } finally {
    await connection.close();
  }
}

function problemsOf(
  servers: readonly ServerReport[],
  missing: readonly string[],
  machines: readonly MachineReport[],
  now: number,
): readonly string[] {
  const full = servers.filter(({ bytes, maxBytes }) => maxBytes > 0 && bytes > maxBytes * NEARLY_FULL);
  return [
    ...(missing.length === 0 ? [] : [`Missing: ${missing.join(', ')}. postern fleet init --connect creates them.`]),
    ...(full.length === 0
      ? []
      : [
          `Nearly full: the storage of ${namesOf(full)}. Events then wait on the Macs. Give them a larger max_file_store.`,
        ]),
    ...machines.flatMap(({ member, machine, problem, atMs }) => [
      ...(problem === null ? [] : [`${member} (${machine}): ${problem}`]),
      ...(Math.abs(atMs - now) > MAX_CLOCK_MS ? [`The clock of ${member} (${machine}) differs from this one's.`] : []),
    ]),
  ];
}

function warningsOf(servers: readonly ServerReport[], streams: readonly StreamReport[]): readonly string[] {
  const old = servers.filter(({ version }) => !isAtLeast(version, SAFE_COPIES_SINCE));
  const lazy = servers.filter(({ syncsAlways }) => !syncsAlways);
  const isCopied = streams.some(({ replicas }) => replicas > 1);
  return [
    ...(isCopied && old.length > 0
      ? [
          `Older than nats-server 2.10.23: ${namesOf(old)}. If one of several such servers is killed, a whole stream can be lost.`,
        ]
      : []),
    ...(lazy.length === 0
      ? []
      : [
          `A power cut may lose two minutes of what ${namesOf(lazy)} acknowledged. Set sync_interval: always (from nats-server 2.10 on).`,
        ]),
  ];
}

function endingSoon(certificates: readonly CertificateEnd[], now: number): readonly string[] {
  return certificates.flatMap(({ file, end }) => {
    const days = Math.floor((end - now) / DAY_MS);
    if (days >= SOON_DAYS) return [];
    const when = days < 0 ? 'has expired' : `expires in ${days} days`;
    return [`The certificate ${file} ${when}. Renew it with: postern fleet renew`];
  });
}

function namesOf(some: readonly { readonly name: string }[]): string {
  return some.map(({ name }) => name).join(', ');
}
