import { lazyMcpService } from '../features/mcp/lazy-service.ts';
import { openIssuer } from '../features/oauth/open-issuer.ts';
import type { Core } from './core.ts';
import { clientsFor, type Gauge } from './feature.ts';
import { macServer } from './http/mac-server.ts';
import type { HttpServer } from './http/server.ts';
import { listenOnSocket } from './http/socket.ts';
import { assertPortFree } from './mac/port-listeners.ts';
import type { McpService } from './model/ports/mcp-ports.ts';
import { localTimeZone } from './runtime/clock.ts';

/** Limits at shutdown: 10 s in all (decision A7). osascript is killed after 8 s, and its request is still answered. */
const WORK_ENDS_WITHIN_MS = 8700;
const SOCKETS_END_WITHIN_MS = 2000;

/** Creates the server, and adds what works by itself once the server listens. */
export async function serve(core: Core): Promise<HttpServer> {
  const { config, host, closers, access, detector, webhooks, search, clockWatch } = core;
  const mcp = openMcp(core);
  const http = await openHttp(core, mcp);
  core.ownListeners.watch(() => http.addresses);
  closers.add('MCP', { end: () => mcp.close() });
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
  closers.add('held sends', { start: () => access.loaded?.start() });
  closers.add('search', { start: () => search.start(), close: () => search.close() });
  closers.add('WebSockets', { end: () => core.webSockets.close(SOCKETS_END_WITHIN_MS) });
  closers.add('streams', { end: () => core.streams.close(SOCKETS_END_WITHIN_MS) });
  closers.add('permissions', { end: () => core.permissions.close() });
  closers.add('diagnostics', { end: () => core.diagnostics.close() });
  return http;
}

function openMcp({ config, host, access, counters }: Core): McpService {
  const { clock, log, version, features } = host;
  return lazyMcpService({
    clock,
    log,
    counters,
    version,
    cli: host.cli,
    eventErrors: config.mcp.eventErrors,
    features,
    timeZone: () => localTimeZone(),
    ownKey: async (caller) => (await access.load()).keys.mine(caller),
  });
}

async function openHttp(core: Core, mcp: McpService): Promise<HttpServer> {
  const { config, host, connection, access, owner, webSockets, streams, status } = core;
  return macServer({
    clock: host.clock,
    log: host.log,
    version: host.version,
    features: host.features,
    counters: core.counters,
    cli: host.cli,
    appSettings: () => settingsOf(core),
    clients: (key, url) => clientsFor(key, url, core),
    settings: config.server,
    apiKey: config.auth.apiKey,
    callers: { owner, find: (key) => access.loaded?.find(key) },
    access: () => access.load(),
    ready: core.ready,
    health: () => status.health(),
    notReady: () => (connection.health().connected ? [] : ['chat_db_unavailable']),
    metrics: () => metricsOf(core),
    mcp: { mcp, settings: config.mcp },
    issuer: await openIssuer({ ...core, mcp }),
    checkPermissions: () => status.checkPermissions(),
    diagnose: (request) => core.diagnostics.run(request),
    openStream: (request, form) => streams.open(request, form),
    acceptWebSocket: (...handshake) => webSockets.accept(...handshake),
  });
}

async function settingsOf({ config, host }: Core) {
  const { settingsReport } = await import('./config/settings-report.ts');
  return settingsReport(config, { env: {}, platform: host.platform, homeFolder: host.homeFolder });
}

function metricsOf(core: Core) {
  const { webhooks, status } = core;
  return {
    webSockets: core.webSockets.counts,
    streams: core.streams.counts,
    isConnected: core.connection.health().connected,
    newestRow: status.newestRow(),
    newestEvent: core.feed.lastPublished().rowId,
    published: core.channel.published,
    heldWebhooks: webhooks.list().filter(({ enabled, held }) => enabled && held !== null).length,
    search: core.search.status(),
    messagesAccount: core.messagesAccounts.account,
    arrivalDelay: core.ages.delays.report(),
    ofFeatures: (gauge: Gauge) => {
      for (const one of core.running.values()) one.metrics?.(gauge);
    },
  };
}
