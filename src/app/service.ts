import { HttpServer } from '../api/http/server.ts';
import { lazyMcpService } from '../api/mcp/lazy-service.ts';
import type { Config } from '../config/config.ts';
import { type Core, openCore } from '../core/core.ts';
import type { Feature } from '../core/feature.ts';
import { junkAmong } from '../mac/chatdb/message-filter.ts';
import { assertPortFree } from '../mac/system/port-listeners.ts';
import { Cleanup } from '../runtime/cleanup.ts';
import { localTimeZone } from '../runtime/clock.ts';
import { preferLittleMemory } from '../runtime/memory.ts';
import { hasKeys } from '../store/state/keys-store.ts';
import { HomePage } from './home-page.ts';
import type { Host } from './host.ts';
import { openIssuer } from './issuer.ts';
import { listenOnSocket } from './socket.ts';

/** Limits at shutdown: 10 s in all (decision A7). osascript is killed after 8 s, and its request is still answered. */
const WORK_ENDS_WITHIN_MS = 8700;
const SOCKETS_END_WITHIN_MS = 2000;

export interface RunningApp {
  /** Base address, without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens the core, then each feature, and serves. If it cannot listen, rejects with the socket's error. */
export async function startApp(config: Config, host: Host): Promise<RunningApp> {
  const closers = new Cleanup(host.log);
  try {
    const core = await openCore(config, host, closers);
    for (const feature of host.features) await add(core, feature);
    const url = await serve(core);
    return { url, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function add(core: Core, feature: Feature): Promise<void> {
  const opened = await feature.open?.(core, core.config.features[feature.name] ?? {});
  if (opened !== undefined) core.running.set(feature.name, opened);
}

/** Listens, then starts what the core and the features do by themselves. */
async function serve(core: Core): Promise<string> {
  const { config, host, closers, state, access, running, detector, webhooks, webSockets, streams, sender } = core;
  const { mcp, http } = await openDoors(core);
  core.serveBy(http);
  closers.add('clients', async () => {
    await Promise.all([
      ...[...running.values()].map((one) => one.close?.()),
      core.diagnostics.close(),
      mcp.close(),
      http.close(WORK_ENDS_WITHIN_MS),
      core.permissions.close(),
      sender.close(),
      access.loaded?.close(),
      webhooks.close(WORK_ENDS_WITHIN_MS),
      webSockets.close(SOCKETS_END_WITHIN_MS),
      streams.close(SOCKETS_END_WITHIN_MS),
    ]);
  });
  closers.add('commit detector', () => {
    detector.close();
    core.grantWatch.close();
  });
  await sender.start();
  await core.uploads.start();
  if (hasKeys(state) || config.approval.selfAddress !== '') await access.load();
  core.detection.start();
  core.publisher.start();
  // Binds the port before publishing or sending anything.
  const { host: address, port } = config.server;
  if (host.platform === 'darwin') await assertPortFree(host.run, address, port);
  const url = await http.listen(address, port);
  // The detector starts first: a client that asks for changes needs to know where the change log starts.
  detector.start();
  await listenOnSocket({ config, http, log: host.log });
  core.clockWatch.start();
  webhooks.start();
  await access.loaded?.start();
  core.search.start();
  for (const one of running.values()) await one.start?.();
  // Called last, because V8 would otherwise collect garbage in the middle of startup.
  preferLittleMemory();
  return url;
}

/** Creates the HTTP server and what is behind it. */
async function openDoors(core: Core) {
  const { config, host, state, connection, access, owner, webhooks, webSockets, streams, counters, status } = core;
  const { clock, log, version, features } = host;
  const mcp = lazyMcpService({
    ...{ clock, log, counters, version, eventErrors: config.mcp.eventErrors, features },
    timeZone: () => localTimeZone(),
    junkAmong: (among) => junkAmong(connection, among),
    ownKey: async (caller) => (await access.load()).keys.mine(caller),
  });
  const http = new HttpServer({
    home: new HomePage({ ...core, status: () => owner.status() }),
    settings: config.server,
    apiKey: config.auth.apiKey,
    callers: { owner, find: (key) => access.loaded?.find(key) },
    access: () => access.load(),
    ready: core.ready,
    health: () => status.health(),
    notReady: () => (connection.health().connected ? [] : ['chat_db_unavailable']),
    metrics: () => ({
      webSockets: webSockets.counts,
      streams: streams.counts,
      isConnected: connection.health().connected,
      newestRow: status.newestRow(),
      newestEvent: core.feed.lastPublished().rowId,
      published: core.channel.published,
      heldWebhooks: webhooks.list().filter(({ enabled, held }) => enabled && held !== null).length,
      search: core.search.status(),
      changes: core.detection.status(),
      ofFeatures: (gauge) => {
        for (const one of core.running.values()) one.metrics?.(gauge);
      },
    }),
    mcp: { mcp, settings: config.mcp },
    issuer: await openIssuer({ config, host, state, access, mcp }),
    people: host.people,
    checkPermissions: () => status.checkPermissions(),
    diagnose: (request) => core.diagnostics.run(request),
    openStream: (request, form) => streams.open(request, form),
    acceptWebSocket: (...handshake) => webSockets.accept(...handshake),
    ...{ clock, log, counters, version, features },
  });
  return { mcp, http };
}
