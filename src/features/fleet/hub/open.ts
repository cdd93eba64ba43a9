import { randomUUID } from 'node:crypto';
import type { Config } from '../../../core/config/config.ts';
import { featurePages } from '../../../core/feature.ts';
import type { Host } from '../../../core/host.ts';
import { type OpenPages, servicePages } from '../../../core/http/pages.ts';
import { HttpServer } from '../../../core/http/server.ts';
import { listenOnSocket } from '../../../core/http/socket.ts';
import type { Caller, EventCaller } from '../../../core/model/caller.ts';
import { AppError } from '../../../core/model/errors.ts';
import type { IncludeSet } from '../../../core/model/include.ts';
import { Cleanup } from '../../../core/runtime/cleanup.ts';
import { Counters } from '../../../core/runtime/counters.ts';
import { SOCKETS_END_WITHIN_MS, WORK_ENDS_WITHIN_MS } from '../../../core/runtime/shutdown.ts';
import { eventSerializer } from '../../../core/schema/event-json.ts';
import type { RunningApp } from '../../../core/service.ts';
import { lockFolder } from '../../../core/state/lock.ts';
import { HttpStreams } from '../../../core/streams/http-streams.ts';
import { WebSocketClients } from '../../../core/streams/web-socket-clients.ts';
import { Poster } from '../../../core/webhooks/poster.ts';
import { fleetProblem } from '../problems.ts';
import { FleetConnection } from '../protocol/connection.ts';
import { envelopeOf, type Membership, readMembership } from '../protocol/membership.ts';
import { hubName } from '../protocol/subjects.ts';
import { Deliveries } from './deliveries.ts';
import { isPassedOn } from './forward.ts';
import { HubFeed } from './hub-feed.ts';
import { hubMetrics } from './hub-metrics.ts';
import { HUB_OPERATIONS, hubRoutes, ofOneMacToo } from './hub-routes.ts';
import { HubStatus } from './hub-status.ts';
import { HubWebhooks } from './hub-webhooks.ts';
import { Macs } from './macs.ts';
import { StreamPages } from './stream-pages.ts';
import { StreamTail } from './stream-tail.ts';

const MAX_RECONNECT_MS = 2000;

/** Creates and connects every part of a hub. On any failure, rejects with the error and leaves nothing open. */
export async function startHub(config: Config, host: Host): Promise<RunningApp> {
  const closers = new Cleanup(host.log);
  try {
    closers.add('lock', lockFolder(config.dir));
    await host.onLocked?.();
    const pages = await featurePages(host.features, true);
    const http = openServer({ ...openParts(config, host, closers), pages }, config, host, closers);
    closers.add('HTTP', { end: () => http.close(WORK_ENDS_WITHIN_MS) });
    await closers.start();
    const url = await http.listen(config.server.host, config.server.port);
    await listenOnSocket({ config, http, log: host.log });
    return { url, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

type Parts = ReturnType<typeof openParts> & { readonly pages: readonly OpenPages[] };

/** Opens what reads the stream, delivers its events, and knows the Macs. */
function openParts(config: Config, { clock, log, version }: Host, closers: Cleanup) {
  const { membership, file } = membershipOf(config);
  const envelope = envelopeOf(membership);
  const connection = new FleetConnection(() => hubMembership(file), {
    ...{ clock, log, name: hubName(randomUUID()) },
    maxReconnectMs: MAX_RECONNECT_MS,
  });
  connection.start();
  closers.add('connection', () => connection.close());
  const shared = { connection, envelope, clock, log };
  const tail = new StreamTail(shared);
  closers.add('stream', () => tail.close());
  const macs = new Macs(shared);
  closers.add('macs', () => macs.close());
  tail.onEntry((entry) => macs.note(entry));
  const feed = new HubFeed({ tail, pages: new StreamPages({ ...shared, tail }) });
  const counters = new Counters();
  const json = eventSerializer({
    details: () => Promise.resolve(undefined),
    names: () => ({ nameOf: () => undefined }),
    offsetText: (offset) => feed.offsetText(offset),
  });
  const poster = new Poster({ version, clock, ...config.webhooks });
  const webhooks = new HubWebhooks({
    ...{ ...shared, tail, feed },
    deliveries: new Deliveries({ ...shared, poster, json, counters }),
  });
  closers.add('webhooks', { start: () => webhooks.start(), end: () => webhooks.close(WORK_ENDS_WITHIN_MS) });
  return { ...shared, tail, macs, feed, json, counters, webhooks };
}

function openServer(parts: Parts, config: Config, host: Host, closers: Cleanup): HttpServer {
  const { tail, feed, json, webhooks, counters, pages } = parts;
  const { clock, log, version } = host;
  const ofHub = host.features.filter(({ isForHubs }) => isForHubs);
  const ready = (include: IncludeSet): undefined => {
    if (include.size > 0) throw fleetProblem('include_at_the_mac');
    // Throws `broker_away` while this hub does not know where the stream ends.
    void tail.last;
  };
  const webSockets = new WebSocketClients({ clock, log, ready });
  const streams = new HttpStreams({ feed, clock, log, ready });
  closers.add('clients', {
    end: async () => void (await Promise.all([webSockets, streams].map((one) => one.close(SOCKETS_END_WITHIN_MS)))),
  });
  const status = new HubStatus({
    ...parts,
    version,
    operations: [...HUB_OPERATIONS, ...ofHub.flatMap(({ routes = {} }) => Object.keys(routes))],
  });
  const owner: EventCaller = { key: undefined, feed, json, webhooks };
  const routes = {
    ...{ ...parts, status, features: host.features, apiKey: config.auth.apiKey },
    events: { ready, openStream: streams.open.bind(streams) },
    writeMetrics: hubMetrics({ ...parts, status, webSockets, streams }),
  };
  return new HttpServer({
    settings: config.server,
    apiKey: config.auth.apiKey,
    // A limited key is a Mac's: it is passed on to that Mac, and opens nothing here.
    // A hub has no ports of a Mac, and no route that uses them.
    callers: { owner: owner as Caller, find: () => undefined },
    routes: hubRoutes(routes),
    pages: servicePages(
      () => status.notReady(),
      async () => (await import('./hub-document.ts')).hubDocument(version, ofHub),
      pages,
    ),
    isPassedOn,
    acceptWebSocket: ofOneMacToo(parts, (...handshake) => webSockets.accept(...handshake)),
    host: { clock, log, counters },
  });
}

function membershipOf({ features }: Config) {
  const file = features.fleet?.file;
  if (typeof file === 'string' && file !== '') return { file, membership: hubMembership(file) };
  throw new AppError('fleet_missing', 'fleet.file is not set in config.toml; a hub needs the line of its fleet.', {
    hint: 'Set up a fleet with "postern fleet init"; docs/fleet.md shows it step by step.',
  });
}

function hubMembership(file: string): Membership {
  const membership = readMembership(file);
  if (membership.member === undefined) return membership;
  throw new AppError('fleet_line_unusable', 'fleet.file holds the line of a Mac. A hub needs the line of the hubs.');
}
