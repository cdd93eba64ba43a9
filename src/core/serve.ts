import type { Core } from './core.ts';
import { featurePages } from './feature.ts';
import type { ResourceParts } from './http/resources.ts';
import { HttpServer } from './http/server.ts';
import { listenOnSocket } from './http/socket.ts';
import { assertPortFree } from './mac/port-listeners.ts';
import { metricsOf } from './metrics.ts';
import { SOCKETS_END_WITHIN_MS, WORK_ENDS_WITHIN_MS } from './runtime/shutdown.ts';
import { servedByMac } from './served-by-mac.ts';

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
  const resources: ResourceParts = {
    health: () => status.health(),
    checkPermissions: () => status.checkPermissions(),
    appSettings: () => settingsOf(core),
    ready: core.ready,
    openStream: (request, form) => streams.open(request, form),
    writeMetrics: metricsOf(core),
  };
  const served = servedByMac(resources, {
    version: host.version,
    features: host.features,
    pages: await featurePages(host.features),
    notReady: () => (connection.health().connected ? [] : ['chat_db_unavailable']),
  });
  return new HttpServer({
    ...served,
    host: { clock: host.clock, log: host.log, counters: core.counters, cli: host.cli },
    settings: config.server,
    apiKey: config.auth.apiKey,
    callers: { owner, find: (key) => core.guests.find(key) },
    otherHosts: core.otherHosts,
    acceptWebSocket: (...handshake) => webSockets.accept(...handshake),
  });
}

async function settingsOf({ config, host }: Core) {
  const { settingsReport } = await import('./config/settings-report.ts');
  return settingsReport(config, { ...host, env: {} });
}
