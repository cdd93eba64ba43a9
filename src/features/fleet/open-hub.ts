import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../../core/config/config.ts';
import type { Feature } from '../../core/feature.ts';
import type { Host } from '../../core/host.ts';
import { HttpServer } from '../../core/http/server.ts';
import { listenOnSocket } from '../../core/http/socket.ts';
import { Channel } from '../../core/log/channel.ts';
import { type ChangeSource, Feed } from '../../core/log/feed.ts';
import type { Caller } from '../../core/model/caller.ts';
import { ownerStatus } from '../../core/model/command-words.ts';
import { AppError } from '../../core/model/errors.ts';
import type { FleetSettings } from '../../core/model/fleet.ts';
import type { IncludeSet } from '../../core/model/include.ts';
import { type ClientOffset, latest, rowOffset } from '../../core/model/offset.ts';
import type { WebhookStore } from '../../core/model/ports/webhooks-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { type StoredWebhook, wantsChanges } from '../../core/model/webhook.ts';
import { Cleanup } from '../../core/runtime/cleanup.ts';
import { Counters } from '../../core/runtime/counters.ts';
import { eventSerializer } from '../../core/schema/event-json.ts';
import type { RunningApp } from '../../core/service.ts';
import { lockFolder } from '../../core/state/lock.ts';
import { openStateDatabase } from '../../core/state/state-database.ts';
import { webhookStore } from '../../core/state/webhooks-store.ts';
import { HttpStreams } from '../../core/streams/http-streams.ts';
import { WebSocketClients } from '../../core/streams/web-socket-clients.ts';
import { Dispatcher } from '../../core/webhooks/dispatcher.ts';
import { Poster } from '../../core/webhooks/poster.ts';
import { BrokerClock } from './hub/broker-clock.ts';
import { GENERATION, HubEventLog } from './hub/event-log.ts';
import { EventReader } from './hub/event-reader.ts';
import { EventStore } from './hub/event-store.ts';
import { absentPort, NO_UPLOADS } from './hub/hub-absent-ports.ts';
import { HubAttachments } from './hub/hub-attachments.ts';
import { openHubDatabase } from './hub/hub-database.ts';
import { HubFeed, isStreamOffset } from './hub/hub-feed.ts';
import type { HubParts } from './hub/hub-parts.ts';
import { HubReader } from './hub/hub-reader.ts';
import { HubSender } from './hub/hub-sender.ts';
import { HubStatus } from './hub/hub-status.ts';
import { MacReads } from './hub/mac-reads.ts';
import { Macs } from './hub/macs.ts';
import { Offsets } from './hub/offsets.ts';
import { PairCopies } from './hub/pair-copies.ts';
import { Pairs } from './hub/pairs.ts';
import { Readiness } from './hub/readiness.ts';
import { SendLeases } from './hub/send-leases.ts';
import { StreamEvents } from './hub/stream-events.ts';
import { HubWebhooks } from './hub/webhooks/hub-webhooks.ts';
import { FleetConnection, readEnvelope } from './protocol/connection.ts';
import { hubKeys } from './protocol/envelope.ts';
import { hubName } from './protocol/layout.ts';

/** Time limits at shutdown, for running requests and for open sockets. A hub stops within 10 s (decision A7). */
const REQUESTS_END_WITHIN_MS = 8700;
const SOCKETS_END_WITHIN_MS = 2000;
/** Maximum wait before reconnecting to the broker. Short, because hubs are few and their clients wait meanwhile. */
const MAX_RECONNECT_MS = 2000;
/**
 * Maximum time that a request waits for this hub to copy the past events, or to reach the client's offset.
 * A client that comes from another hub can have an offset that this hub has not reached yet.
 */
const REACH_MS = 3000;

/** Creates and connects every module of a hub. On any failure, rejects with the error and leaves nothing open. */
export async function startHub(config: Config, host: Host): Promise<RunningApp> {
  const { clock, log, version } = host;
  const closers = new Cleanup(log);
  for (const name of unusedAtHub(config, host.features)) log.warn(`${name} has no effect at a hub; set it at a Mac`);
  try {
    const settings = fleetOf(config);
    closers.add('lock', lockFolder(config.dir));
    await host.onLocked?.();
    const state = openStateDatabase(join(config.dir, 'state.db'), host.features);
    closers.add('state', () => state.close());
    const database = openHubDatabase(join(config.dir, 'hub.db'));
    closers.add('hub.db', () => database.close());
    const envelope = readEnvelope(settings, hubKeys);
    const pairs = new Pairs(database);
    const reader = new EventReader(envelope, (mac) => pairs.nameOf(mac));
    const copies = new PairCopies(database, pairs, reader);
    const { changes: pairChanges } = copies;
    const store = new EventStore(database, copies, settings.backfillHours);
    const offsets = new Offsets(store, settings.backfillHours);
    const events = new HubEventLog({ store, reader, pairChanges, offsets });
    const connection = new FleetConnection(settings, {
      clock,
      log,
      name: hubName(randomUUID()),
      maxReconnectMs: MAX_RECONNECT_MS,
    });
    closers.add('connection', () => connection.close());
    const brokerClock = new BrokerClock({ connection, clock, log });
    closers.add('clock', () => brokerClock.close());
    const macs = new Macs({ connection, envelope, pairs, brokerClock, clock, log });
    closers.add('macs', () => macs.close());
    const guidOfRow = (mac: string, row: number): string | undefined => events.guidOfRow(mac, row);
    const reads = new MacReads({ connection, envelope, clock, macs, guidOfRow });
    const opened = { connection, envelope, pairs, macs, reads, reader, store, pairChanges, brokerClock };
    const parts: HubParts = { ...opened, clock, log };
    const leases = new SendLeases(parts);

    const channel = new Channel();
    channel.restart(rowOffset(store.newest));
    const channelWithChanges = new Channel();
    channelWithChanges.restart(rowOffset(store.newest));
    const changes = { stream: rowsAndChanges(channelWithChanges, events), control: { noteAsked() {} } };
    const feed = new HubFeed({ ...parts, feed: new Feed({ channel, changes, messages: events, clock, log }), offsets });
    const stream = new StreamEvents({
      ...parts,
      events,
      channel,
      channelWithChanges,
      onPublished: () => status.noteEvent(),
    });
    const { copy } = stream;
    closers.add('stream', () => stream.close());

    const counters = new Counters();
    const json = eventSerializer({
      details: () => Promise.resolve(undefined),
      names: () => ({ nameOf: () => undefined }),
      offsetText: (offset) => feed.offsetText(offset),
    });
    const ready = (include: IncludeSet, after?: ClientOffset, hasChanges = false): Promise<void> | undefined => {
      // A hub cannot add includes to events (decision N2).
      if (include.size > 0) throw problem('not_at_a_hub');
      if (readiness.isKeyWrong) throw problem('hub_key_wrong');
      return copy.isFilled ? reached(after, hasChanges) : whenFilled(after, hasChanges);
    };
    const reached = (after: ClientOffset | undefined, hasChanges: boolean): Promise<void> | undefined => {
      if (after === undefined || !isStreamOffset(after)) return undefined;
      const copied = copy.reached(after, REACH_MS);
      if (copied !== undefined) return copied.then(() => offsets.assertComplete(after, hasChanges));
      offsets.assertComplete(after, hasChanges);
      return undefined;
    };
    // A new client waits until the hub has read the past events. Otherwise the client would receive them as new ones.
    const whenFilled = async (after: ClientOffset | undefined, hasChanges: boolean): Promise<void> => {
      await copy.filled(REACH_MS);
      if (!copy.isFilled) throw problem('hub_filling', {}, { headers: { 'Retry-After': '2' } });
      await reached(after, hasChanges);
    };
    const webSockets = new WebSocketClients({ clock, log, ready });
    const streams = new HttpStreams({ feed, clock, log, ready });
    const webhookState = webhookStore(state, clock);
    const posting = { version, clock, ...config.webhooks };
    const webhooks = new HubWebhooks({
      connection,
      envelope,
      feed,
      clock,
      log,
      store: webhookState,
      history: database.id,
      isReady: () => readiness.reasons().length === 0,
      reached: (offset) => (isStreamOffset(offset) ? copy.reached(offset, REACH_MS) : undefined),
      openDeliveries: (deliveredStore, mayAttempt) =>
        new Dispatcher({
          feed,
          clock,
          log,
          json,
          ready,
          rowNow: (number) => events.entry(number),
          store: deliveredStore,
          poster: new Poster({ ...posting, mayAttempt }),
          onOutcome: ({ outcome }) => counters.deliveries.inc({ outcome }),
        }),
    });
    const isLeaseUnreadable = (): boolean => webhooks.isLeaseUnreadable;
    const readiness = new Readiness({ ...parts, copy, isLeaseUnreadable });
    const status = new HubStatus({
      ...parts,
      version,
      copy,
      leases,
      readiness,
      unreadable: stream.unreadable,
      newestOffset: () => feed.offsetText(feed.lastPublished()),
      webhooks: () => webhooks.summaries(),
    });
    const owner: Caller = {
      key: undefined,
      reader: new HubReader(parts),
      attachments: new HubAttachments(reads),
      feed,
      json,
      sender: new HubSender({ ...parts, leases }),
      uploads: NO_UPLOADS,
      webhooks,
      search: absentPort(),
      contacts: absentPort(),
      people: absentPort(),
      chats: absentPort(),
      approvals: absentPort(),
      port: () => {
        throw problem('not_at_a_hub');
      },
      status: async () => ownerStatus(await status.report(), host.cli),
    };
    const http = new HttpServer({
      isHub: true,
      cli: host.cli,
      features: host.features,
      settings: config.server,
      apiKey: config.auth.apiKey,
      callers: { owner, find: () => undefined },
      access: () => Promise.reject(problem('not_at_a_hub')),
      home: absentPort(),
      ready,
      health: () => status.health(),
      notReady: () => readiness.reasons(),
      metrics: () => ({
        webSockets: webSockets.counts,
        streams: streams.counts,
        isConnected: status.health().connected,
        newestRow: null,
        newestEvent: null,
        published: channel.published,
        heldWebhooks: webhooks.list().filter(({ enabled, held }) => enabled && held !== null).length,
        search: { isEnabled: false, isComplete: false, indexedRows: 0, totalRows: 0 },
        changes: { state: 'off', logged: 0, sweptAtMs: null },
        hub: {
          macs: status.macs(),
          behindMs: copy.behindMs,
          brokerAheadMs: brokerClock.aheadMs ?? null,
          isReady: readiness.reasons().length === 0,
          isDelivering: webhooks.isDelivering,
          webhookBacklog: webhooks.isDelivering ? backlogOf(webhookState, feed) : null,
          streamBytes: stream.streamBytes,
          ...stream.counts,
        },
      }),
      counters,
      version,
      mcp: { mcp: absentPort(), settings: config.mcp },
      checkPermissions: () => Promise.reject(problem('not_at_a_hub')),
      diagnose: () => Promise.reject(problem('not_at_a_hub')),
      openStream: (request, form) => streams.open(request, form),
      acceptWebSocket: (...handshake) => webSockets.accept(...handshake),
      clock,
      log,
    });
    closers.add('clients', async () => {
      await Promise.all([
        http.close(REQUESTS_END_WITHIN_MS),
        webhooks.close(),
        webSockets.close(SOCKETS_END_WITHIN_MS),
        streams.close(SOCKETS_END_WITHIN_MS),
      ]);
    });

    stream.start();
    const url = await http.listen(config.server.host, config.server.port);
    await listenOnSocket({ config, http, log });
    webhooks.start();
    return { url, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/**
 * Returns the source of events for readers that ask for changes. Reads rows and changes alike from the copied events,
 * because a hub has no change log (decision N9).
 */
function rowsAndChanges(channel: Channel, events: HubEventLog): ChangeSource {
  return {
    channel,
    generation: GENERATION,
    isKept: () => true,
    read(position, limit) {
      const { last } = channel;
      const entries = channel.after(position, limit) ?? events.allEntries(position, last, limit);
      return { entries, upTo: entries.at(-1)?.offset ?? latest(position, last) };
    },
  };
}

/** Returns the names of settings that have an effect on a Mac, but not at a hub. */
function unusedAtHub({ oauth, search, features: given }: Config, features: readonly Feature[]): readonly string[] {
  const own = features.flatMap(({ name, settings = {} }) =>
    Object.entries(settings).filter(([key, { defaultValue, read }]) => {
      const environment = { env: {}, platform: '', homeFolder: '' };
      return given[name]?.[key] !== read(defaultValue(environment), environment);
    }),
  );
  return [
    ...own.map(([, setting]) => setting.name),
    ...(oauth.issuer === '' ? [] : ['oauth.issuer']),
    ...(search.isEnabled ? ['search.enabled'] : []),
  ];
}

/** Returns the number of events not yet handled for the webhook that is furthest behind. */
function backlogOf(webhooks: Pick<WebhookStore, 'list'>, feed: HubFeed): number {
  const enabled = webhooks.list().filter((webhook) => webhook.enabled);
  const newestFor = (webhook: StoredWebhook) => feed.lastPublished({ changes: wantsChanges(webhook) }).rowId;
  return Math.max(0, ...enabled.map((webhook) => newestFor(webhook) - webhook.offset.rowId));
}

/** Throws `fleet_missing` if the configuration has no fleet. */
function fleetOf({ fleet }: Config): FleetSettings {
  if (fleet !== undefined) return fleet;
  throw new AppError(
    'fleet_missing',
    'fleet.servers is not set in config.toml; a hub needs the address of a NATS server.',
    {
      hint: 'Set up a fleet with "postern fleet init"; docs/fleet.md shows it step by step.',
    },
  );
}
