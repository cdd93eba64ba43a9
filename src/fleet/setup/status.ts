import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { managerOf } from '../protocol/connect-once.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { AWAY_MS, BUCKETS, EVENTS, eventSubject, SENDS, sendConsumer } from '../protocol/layout.ts';
import { type MacPresence, unpackPresence } from '../protocol/presence.ts';
import { unlessMissing } from '../protocol/streams.ts';
import type { FleetFolder } from './fleet-folder.ts';
import { connectOperator } from './operator-connection.ts';
import { isAtLeast, knowsSyncInterval } from './server-config.ts';

/** How long all servers have to say how they are set up. */
const SERVERS_MS = 1500;
/** Three copies on older servers: killing one may lose a whole stream. */
const SAFE_COPIES_SINCE = [2, 10, 23];

export interface ServerReport {
  readonly name: string;
  readonly version: string;
  /** Whether an acknowledged message is on the disk. */
  readonly syncsAlways: boolean;
}

export interface StreamReport {
  readonly name: string;
  readonly messages: number;
  readonly bytes: number;
  /** Time of the oldest message. */
  readonly first: string | null;
  readonly replicas: number;
}

export interface MacState {
  readonly mac: string;
  /** `unknown`: it was never there. */
  readonly state: 'present' | 'away' | 'unknown';
  readonly lastSeen: string | null;
  readonly lastEvent: string | null;
  /** Of Postern there; null for a Mac that was never there, or whose presence cannot be opened with the key of hubs. */
  readonly version: string | null;
  /** How many row ids the stream is behind the Mac. */
  readonly behind: number | null;
  /** What keeps it from reading Messages. */
  readonly trouble: string | null;
  /** Sends that wait for it; null without a queue. */
  readonly waiting: number | null;
}

export interface FleetState {
  readonly servers: readonly ServerReport[];
  readonly streams: readonly StreamReport[];
  readonly macs: readonly MacState[];
  readonly problems: readonly string[];
}

/** Asks the servers. Throws AppError `broker_away`. */
export async function fleetReport(folder: FleetFolder, now: number): Promise<FleetState> {
  const connection = await connectOperator(folder, 'operator');
  try {
    const jsm = await managerOf(connection);
    const found = await Promise.all(STREAMS.map((name) => streamOf(jsm, name)));
    const streams = found.flatMap((stream) => stream ?? []);
    const servers = await serversOf(folder);
    const macs = await Promise.all(folder.macs.map((mac) => macOf(jsm, mac, folder.envelope, now)));
    const missing = STREAMS.filter((_, place) => found[place] === undefined);
    return { servers, streams, macs, problems: problemsOf(servers, streams, missing, macs) };
  } finally {
    await connection.close();
  }
}

const STREAMS = [EVENTS.stream, SENDS.stream, ...Object.values(BUCKETS).map((bucket) => `KV_${bucket}`)];

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
  const [event, presence, queue] = await Promise.all([
    last(EVENTS.stream, eventSubject(mac)),
    last(`KV_${BUCKETS.macs}`, `$KV.${BUCKETS.macs}.${mac}`),
    unlessMissing(() => jsm.consumers.info(SENDS.stream, sendConsumer(mac))),
  ]);
  const seen = presence?.time.getTime();
  const said = presence === undefined ? undefined : saidBy(mac, presence.data, envelope);
  const isAway = seen !== undefined && (now - seen > AWAY_MS || said?.isLeaving === true);
  return {
    mac,
    state: seen === undefined ? 'unknown' : isAway ? 'away' : 'present',
    lastSeen: presence?.time.toISOString() ?? null,
    lastEvent: event?.time.toISOString() ?? null,
    version: said?.version ?? null,
    behind: said === undefined ? null : said.newestRow - said.publishedRow,
    trouble: said === undefined || said.health.connected ? null : said.health.message,
    waiting: queue === undefined ? null : queue.num_pending + queue.num_ack_pending,
  };
}

function saidBy(mac: string, packed: Uint8Array, envelope: Envelope): MacPresence | undefined {
  try {
    return unpackPresence(envelope, mac, packed);
  } catch {
    return undefined;
  }
}

/** Each server says for itself how it is set up. */
async function serversOf(folder: FleetFolder): Promise<readonly ServerReport[]> {
  const connection = await connectOperator(folder, 'system');
  try {
    const servers = await askAll(connection);
    return [...servers].sort((one, other) => one.name.localeCompare(other.name));
  } finally {
    await connection.close();
  }
}

async function askAll(connection: NatsConnection): Promise<readonly ServerReport[]> {
  const replies = await connection.requestMany('$SYS.REQ.SERVER.PING.JSZ', '', { maxWait: SERVERS_MS });
  const servers: ServerReport[] = [];
  for await (const reply of replies) {
    const { server, data } = reply.json<{
      server: { name: string; ver: string };
      data?: { config?: { sync_always?: boolean } };
    }>();
    servers.push({ name: server.name, version: server.ver, syncsAlways: data?.config?.sync_always === true });
  }
  return servers;
}

function problemsOf(
  servers: readonly ServerReport[],
  streams: readonly StreamReport[],
  missing: readonly string[],
  macs: readonly MacState[],
): readonly string[] {
  const old = servers.filter(({ version }) => !isAtLeast(version, SAFE_COPIES_SINCE));
  const lazy = servers.filter(({ syncsAlways }) => !syncsAlways);
  const names = (some: readonly { readonly name: string }[]): string => some.map(({ name }) => name).join(', ');
  const queueless = macs.filter(({ waiting }) => waiting === null).map(({ mac }) => mac);
  const problems: string[] = [];
  if (missing.length > 0) problems.push(`${missing.join(', ')} missing: postern fleet init --connect creates what is.`);
  if (queueless.length > 0)
    problems.push(`No queue of sends for ${queueless.join(', ')}: postern fleet init --connect.`);
  if (streams.some(({ replicas }) => replicas > 1) && old.length > 0) {
    problems.push(`Older than 2.10.23: ${names(old)}. Killing one of several may lose a whole stream.`);
  }
  for (const { mac, trouble } of macs) if (trouble !== null) problems.push(`${mac} cannot read Messages: ${trouble}`);
  if (lazy.length > 0) {
    const canNot = lazy.some(({ version }) => !knowsSyncInterval(version)) ? ' (nats-server 2.10 or newer)' : '';
    const remedy = `set sync_interval: always in jetstream${canNot}`;
    problems.push(`On the disk only every two minutes: what ${names(lazy)} acknowledged; ${remedy}.`);
  }
  return problems;
}
