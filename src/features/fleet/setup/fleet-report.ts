import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { DAY_MS } from '../../../core/model/durations.ts';
import { managerOf } from '../protocol/connect-once.ts';
import type { Envelope } from '../protocol/envelope.ts';
import type { NamedMachine } from '../protocol/fleet-records-schema.ts';
import { AWAY_MS, BUCKETS, claimKey, EVENTS, eventSubject, SENDS, STREAMS, sendConsumer } from '../protocol/layout.ts';
import { decodeClaim, REFUSED_MS } from '../protocol/machine-claim.ts';
import type { Pair } from '../protocol/pair.ts';
import { clockTrouble, readPresence } from '../protocol/presence.ts';
import { unlessMissing } from '../protocol/streams.ts';
import type { CertificateEnd, FleetFolder } from './fleet-folder.ts';
import { connectOperator } from './operator-connection.ts';
import { isAtLeast, knowsSyncInterval } from './server-config.ts';

/** How long to collect the replies of all servers, in milliseconds. */
const SERVERS_MS = 1500;
/** The first nats-server version in which killing one of three servers cannot lose a whole stream. */
const SAFE_COPIES_SINCE = [2, 10, 23];
/** The report lists a problem once streams use more than this fraction of a server's storage limit. */
const NEARLY_FULL = 0.9;
const SOON_DAYS = 30;

export interface ServerReport {
  readonly name: string;
  readonly version: string;
  /** True if the server writes every message to the disk before acknowledging it. */
  readonly syncsAlways: boolean;
  /** Bytes that streams use on this server. `maxBytes` is the server's limit; 0 if unknown. */
  readonly bytes: number;
  readonly maxBytes: number;
}

export interface StreamReport {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  /** Time of the oldest message in the stream; null if the stream is empty. */
  readonly first: string | null;
  readonly replicas: number;
}

export interface MacState {
  readonly mac: string;
  /** `unknown`: the Mac has never connected. */
  readonly state: 'present' | 'away' | 'unknown';
  readonly lastSeen: string | null;
  readonly lastEvent: string | null;
  /**
   * Postern's version on the Mac; null if the Mac has never connected, or if the hubs' key cannot decrypt its presence.
   */
  readonly version: string | null;
  /** The newest row id in the Mac's chat.db minus the newest one published to the stream; null if unknown. */
  readonly behind: number | null;
  /** Why the Mac cannot read Messages; null if it can, or if its presence is unknown. */
  readonly trouble: string | null;
  /** Number of sends that the Mac has not completed yet; null if the Mac has no queue of sends. */
  readonly waiting: number | null;
  /** The machine to which this Mac's id belongs; null if unknown. */
  readonly machine: NamedMachine | null;
  /** A second machine that has this Mac's key. It was refused recently and publishes nothing. Null if there is none. */
  readonly refusedMachine: NamedMachine | null;
  /**
   * Milliseconds by which the Mac's clock was ahead of the broker's when the Mac was last seen. Negative if it was
   * behind; null if unknown.
   */
  readonly clockAheadMs: number | null;
}

export interface FleetState {
  readonly servers: readonly ServerReport[];
  readonly streams: readonly StreamReport[];
  readonly macs: readonly MacState[];
  readonly pairs: readonly Pair[];
  readonly certificates: readonly CertificateEnd[];
  readonly problems: readonly string[];
  /** Risks that need no immediate action, such as an old version of nats-server. */
  readonly warnings: readonly string[];
}

/** Asks the servers and returns the state of the fleet. Throws AppError `broker_away` if no server can be used. */
export async function fleetReport(folder: FleetFolder, now: number): Promise<FleetState> {
  const connection = await connectOperator(folder, 'operator');
  try {
    const jsm = await managerOf(connection);
    const found = await Promise.all(STREAMS.map((name) => streamOf(jsm, name)));
    const streams = found.flatMap((stream) => stream ?? []);
    const servers = await serversOf(folder);
    const macs = await Promise.all(folder.macs.map((mac) => macOf(jsm, mac, folder.envelope, now)));
    const missing = STREAMS.filter((_, index) => found[index] === undefined);
    const certificates = folder.certificates();
    const problems = [...problemsOf(servers, missing, macs), ...endingSoon(certificates, now)];
    const warnings = warningsOf(servers, streams);
    return { servers, streams, macs, pairs: folder.pairs, certificates, problems, warnings };
  } finally {
    await connection.close();
  }
}

async function streamOf(jsm: JetStreamManager, name: string): Promise<StreamReport | undefined> {
  const info = await unlessMissing<StreamInfo>(() => jsm.streams.info(name));
  if (info === undefined) return undefined;
  const { state, config } = info;
  const first = state.messages > 0 ? state.first_ts : null;
  return { name, messages: state.messages, bytes: state.bytes, first, replicas: config.num_replicas };
}

async function macOf(jsm: JetStreamManager, mac: string, envelope: Envelope, now: number): Promise<MacState> {
  const last = (stream: string, subject: string) =>
    unlessMissing(() => jsm.streams.getMessage(stream, { last_by_subj: subject }));
  const [event, presence, claim, queue] = await Promise.all([
    last(EVENTS.stream, eventSubject(mac)),
    last(`KV_${BUCKETS.macs}`, `$KV.${BUCKETS.macs}.${mac}`),
    last(`KV_${BUCKETS.macs}`, `$KV.${BUCKETS.macs}.${claimKey(mac)}`),
    unlessMissing(() => jsm.consumers.info(SENDS.stream, sendConsumer(mac))),
  ]);
  const seen = presence?.time.getTime();
  const said = presence && readPresence(envelope, mac, presence.data);
  const isAway = seen !== undefined && (now - seen > AWAY_MS || said?.isLeaving === true);
  const names = claim === undefined ? undefined : decodeClaim(envelope, mac, claim.data)?.names;
  const isHeard = claim !== undefined && now - claim.time.getTime() < REFUSED_MS;
  return {
    mac,
    state: seen === undefined ? 'unknown' : isAway ? 'away' : 'present',
    lastSeen: presence?.time.toISOString() ?? null,
    lastEvent: event?.time.toISOString() ?? null,
    version: said?.version ?? null,
    behind: said === undefined ? null : said.newestRow - said.publishedRow,
    trouble: said === undefined || said.health.connected ? null : said.health.message,
    waiting: queue === undefined ? null : queue.num_pending + queue.num_ack_pending,
    machine: names?.holder ?? null,
    refusedMachine: (isHeard && names?.refused) || null,
    clockAheadMs: seen === undefined || said === undefined ? null : said.atMs - seen,
  };
}

interface ServerAnswer {
  readonly server: { readonly name: string; readonly ver: string };
  readonly data?: {
    readonly storage?: number;
    readonly config?: { readonly sync_always?: boolean; readonly max_storage?: number };
  };
}

/** Returns the reports of the servers that answer within `SERVERS_MS`. */
async function serversOf(folder: FleetFolder): Promise<readonly ServerReport[]> {
  const connection = await connectOperator(folder, 'system');
  try {
    const replies = await connection.requestMany('$SYS.REQ.SERVER.PING.JSZ', '', { maxWait: SERVERS_MS });
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
  macs: readonly MacState[],
): readonly string[] {
  const full = servers.filter(({ bytes, maxBytes }) => maxBytes > 0 && bytes > maxBytes * NEARLY_FULL);
  const queueless = macs.filter(({ waiting }) => waiting === null).map(({ mac }) => mac);
  const problems: string[] = [];
  if (missing.length > 0) problems.push(`Missing: ${missing.join(', ')}. postern fleet init --connect creates them.`);
  if (queueless.length > 0) {
    problems.push(`No queue of sends for ${queueless.join(', ')}. postern fleet init --connect creates it.`);
  }
  if (full.length > 0) {
    problems.push(
      `Nearly full: the storage of ${namesOf(full)}. postern fleet init --connect --max-bytes limits the room for events.`,
    );
  }
  for (const { mac, trouble, machine, refusedMachine, clockAheadMs } of macs) {
    if (trouble !== null) problems.push(`${mac} cannot read Messages: ${trouble}`);
    if (machine !== null && refusedMachine !== null) {
      problems.push(
        `"${refusedMachine.name}" has the key of ${mac}, but ${mac} belongs to "${machine.name}". So "${refusedMachine.name}" takes no part in the fleet. If it replaces "${machine.name}", run: postern fleet adopt ${mac}`,
      );
    }
    const clock = clockTrouble(clockAheadMs ?? 0);
    if (clock !== undefined) problems.push(`The clock of ${mac} is ${clock}.`);
  }
  return problems;
}

function warningsOf(servers: readonly ServerReport[], streams: readonly StreamReport[]): readonly string[] {
  const old = servers.filter(({ version }) => !isAtLeast(version, SAFE_COPIES_SINCE));
  const lazy = servers.filter(({ syncsAlways }) => !syncsAlways);
  const warnings: string[] = [];
  if (streams.some(({ replicas }) => replicas > 1) && old.length > 0) {
    warnings.push(
      `Older than nats-server 2.10.23: ${namesOf(old)}. If one of several such servers is killed, a whole stream can be lost. Update them.`,
    );
  }
  if (lazy.length > 0) {
    const canNot = lazy.some(({ version }) => !knowsSyncInterval(version)) ? ' (nats-server 2.10 or newer)' : '';
    const remedy = `set sync_interval: always in jetstream${canNot}`;
    warnings.push(
      `A power cut may lose two minutes of what ${namesOf(lazy)} acknowledged. To prevent that, ${remedy}.`,
    );
  }
  return warnings;
}

function endingSoon(certificates: readonly CertificateEnd[], now: number): readonly string[] {
  return certificates
    .map(({ file, end }) => ({ file, days: Math.floor((end - now) / DAY_MS) }))
    .filter(({ days }) => days < SOON_DAYS)
    .map(({ file, days }) =>
      days < 0
        ? `The certificate ${file} has expired. Renew it with: postern fleet renew`
        : `The certificate ${file} expires in ${days} days. Renew it with: postern fleet renew`,
    );
}

function namesOf(some: readonly { readonly name: string }[]): string {
  return some.map(({ name }) => name).join(', ');
}
