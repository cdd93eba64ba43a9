import type { Core } from './core.ts';
import { featurePages } from './feature.ts';
import type { HttpServer } from './http/server.ts';
import { listenOnSocket } from './http/socket.ts';
import { assertPortFree } from './mac/port-listeners.ts';
import { macServer } from './mac-server.ts';
import { metricsOf } from './metrics.ts';

/** Limits at shutdown: 10 s in all (decision A7). osascript is killed after 8 s, and its request is still answered. */
const WORK_ENDS_WITHIN_MS = 8700;
const SOCKETS_END_WITHIN_MS = 2000;

/** Creates the server, and adds what works by itself once the server listens. */
export async function serve(core: Core): Promise<HttpServer> {
  const { config, host, closers, detector, webhooks, clockWatch } = core;
  const http = await openHttp(core);
  core.ownListeners.watch(() => http.addresses);
  closers.add('HTTP', {
    async start() {
      const { host: address, port } = config.server;
      if (host.platform === 'darwin') await assertPortFree(host.run, address, port);
      await http.listen(address, port);
    },
    end: () => http.close(WORK_ENDS_WITHIN_MS),
  });
  // From here on, parts publish and send, which must wait for the port: it may belong to another Postern. The detector
  // is the first, because a client that asks for changes needs to know where the change log starts.
  closers.add('commit detector', { start: () => detector.start(), end: () => detector.close() });
  closers.add('wait for Full Disk Access', { end: () => core.grantWatch.close() });
  closers.add('socket', { start: () => listenOnSocket({ config, http, log: host.log }) });
  closers.add('clock', { start: () => clockWatch.start(), close: () => clockWatch.close() });
  closers.add('webhooks', { start: () => webhooks.start(), end: () => webhooks.close(WORK_ENDS_WITHIN_MS) });
  closers.add('WebSockets', { end: () => core.webSockets.close(SOCKETS_END_WITHIN_MS) });
  closers.add('streams', { end: () => core.streams.close(SOCKETS_END_WITHIN_MS) });
  closers.add('permissions', { end: () => core.permissions.close() });
  return http;
}

async function openHttp(core: Core): Promise<HttpServer> {
  const { config, host, connection, owner, webSockets, streams, status } = core;
  return macServer({
    host: { clock: host.clock, log: host.log, counters: core.counters, cli: host.cli },
    version: host.version,
    features: host.features,
    pages: await featurePages(host.features),
    appSettings: () => settingsOf(core),
    settings: config.server,
    apiKey: config.auth.apiKey,
    callers: { owner, find: (key) => core.guests.find(key) },
    ready: core.ready,
    health: () => status.health(),
    notReady: () => (connection.health().connected ? [] : ['chat_db_unavailable']),
    writeMetrics: metricsOf(core),
    otherHosts: core.otherHosts,
    checkPermissions: () => status.checkPermissions(),
    openStream: (request, form) => streams.open(request, form),
    acceptWebSocket: (...handshake) => webSockets.accept(...handshake),
  });
}

async function settingsOf({ config, host }: Core) {
  const { settingsReport } = await import('./config/settings-report.ts');
  return settingsReport(config, { ...host, env: {} });
}
