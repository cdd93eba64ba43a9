import type { JetStreamManager } from '@nats-io/jetstream';
import { systemClock } from '../../../core/runtime/clock.ts';
import { certificateFinding } from '../protocol/certificate-end.ts';
import { envelopeOf } from '../protocol/membership.ts';
import { type MachineReport, who } from '../protocol/requests.ts';
import { STREAMS, unlessMissing } from '../protocol/subjects.ts';
import { connectOperator, managerOf } from './connections.ts';
import type { FleetFolder } from './fleet-folder.ts';
import { isAtLeast, SYNC_INTERVAL_SINCE } from './server-config.ts';

/** How long to collect the answers of servers and machines, in milliseconds. */
const ANSWERS_MS = 1500;
/** The first nats-server version in which killing one of three servers cannot lose a whole stream. */
const SAFE_COPIES_SINCE = '2.10.23';
const NEARLY_FULL = 0.9;
const MAX_CLOCK_MS = 5000;

export type FleetState = Awaited<ReturnType<typeof fleetReport>>;
type ServerReport = Awaited<ReturnType<typeof serversOf>>[number];
type StreamReport = NonNullable<Awaited<ReturnType<typeof streamOf>>>;

/** Asks servers and machines for the state of the fleet. Throws AppError `broker_away` if no server can be used. */
export async function fleetReport(folder: FleetFolder, now: number) {
  const nc = await connectOperator(folder, 'operator');
  try {
    const jsm = await managerOf(nc);
    const asking = { connection: { nc, isConnected: true }, envelope: envelopeOf(folder.hub), clock: systemClock };
    const [found, servers, answers] = await Promise.all([
      Promise.all(STREAMS.map((name) => streamOf(jsm, name))),
      serversOf(folder),
      who(asking, ANSWERS_MS),
    ]);
    const machines = [...answers].sort((one, other) => one.sinceMs - other.sinceMs);
    // A Mac without machines is away.
    const macs = folder.macs.map((mac) => ({ mac, machines: machines.filter(({ member }) => member === mac) }));
    const certificates = folder.certificates();
    const streams = found.flatMap((stream) => stream ?? []);
    const missing = STREAMS.filter((_, index) => found[index] === undefined);
    const problems = [
      ...(missing.length === 0 ? [] : [`Missing: ${missing.join(', ')}. postern fleet init --connect creates them.`]),
      ...fullServers(servers),
      ...macs.flatMap(({ mac, machines: there }) => (there.length > 0 ? [] : [`${mac} does not answer.`])),
      ...machines.flatMap((machine) => problemsOf(machine, now)),
      ...certificates
        .map(({ file, end }) => certificateFinding(`The certificate ${file}`, end))
        .flatMap(({ state, sentence, what_to_do: advice }) => (state === 'ok' ? [] : [`${sentence} ${advice}`])),
    ];
    return { servers, streams, macs, certificates, problems, warnings: warningsOf(servers, streams) };
  } finally {
    await nc.close();
  }
}

async function streamOf(jsm: JetStreamManager, name: string) {
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

/** `syncsAlways`: the server writes every message to the disk before it acknowledges it. `maxBytes` is 0 if unknown. */
async function serversOf(folder: FleetFolder) {
  const connection = await connectOperator(folder, 'system');
  try {
    const replies = await connection.requestMany('$SYS.REQ.SERVER.PING.JSZ', '', { maxWait: ANSWERS_MS });
    const servers = [];
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

function fullServers(servers: readonly ServerReport[]): readonly string[] {
  const full = servers.filter(({ bytes, maxBytes }) => maxBytes > 0 && bytes > maxBytes * NEARLY_FULL);
  if (full.length === 0) return [];
  return [
    `Nearly full: the storage of ${namesOf(full)}. Events then wait on the Macs. Give them a larger max_file_store.`,
  ];
}

function problemsOf({ member, machine, problem, atMs }: MachineReport, now: number): readonly string[] {
  return [
    ...(problem === null ? [] : [`${member} (${machine}): ${problem}`]),
    ...(Math.abs(atMs - now) > MAX_CLOCK_MS ? [`The clock of ${member} (${machine}) differs from this one's.`] : []),
  ];
}

/** Returns the findings that need no action at once, such as an old nats-server. */
function warningsOf(servers: readonly ServerReport[], streams: readonly StreamReport[]): readonly string[] {
  const old = servers.filter(({ version }) => !isAtLeast(version, SAFE_COPIES_SINCE));
  const lazy = servers.filter(({ syncsAlways }) => !syncsAlways);
  return [
    ...(streams.some(({ replicas }) => replicas > 1) && old.length > 0
      ? [
          `Older than nats-server 2.10.23: ${namesOf(old)}. If one of several such servers is killed, a whole stream can be lost.`,
        ]
      : []),
    ...(lazy.length === 0
      ? []
      : [`A power cut may lose two minutes of what ${namesOf(lazy)} acknowledged. ${syncAdvice(lazy)}`]),
  ];
}

function syncAdvice(servers: readonly ServerReport[]): string {
  return servers.every(({ version }) => isAtLeast(version, SYNC_INTERVAL_SINCE))
    ? 'Set sync_interval: always in the configuration.'
    : 'nats-server 2.10 and newer can prevent it, with sync_interval: always in the configuration.';
}

function namesOf(some: readonly { readonly name: string }[]): string {
  return some.map(({ name }) => name).join(', ');
}
