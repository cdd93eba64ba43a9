import { join } from 'node:path';
import { LazyAccess } from '../access/lazy-access.ts';
import { HttpServer } from '../api/http/server.ts';
import { lazyMcpService } from '../api/mcp/lazy-service.ts';
import type { Config } from '../config/config.ts';
import { OWNER } from '../domain/audit.ts';
import type { Caller } from '../domain/caller.ts';
import type { IncludeSet } from '../domain/include.ts';
import { rowOffset } from '../domain/offset.ts';
import { HttpStreams } from '../events/streams/http-streams.ts';
import { WebSocketClients } from '../events/streams/web-socket-clients.ts';
import { Dispatcher } from '../events/webhooks/dispatcher.ts';
import { Poster } from '../events/webhooks/poster.ts';
import type { Canary } from '../features/canary/canary.ts';
import type { FleetAgent } from '../fleet/agent/agent.ts';
import { CommitDetector } from '../mac/chatdb/commit-detector.ts';
import { chatDbNames, messageColumns } from '../mac/chatdb/lookups.ts';
import { junkAmong } from '../mac/chatdb/message-filter.ts';
import { ChatLog } from '../mac/chatdb/message-log.ts';
import { ChatReader } from '../mac/chatdb/reader.ts';
import { namedReader } from '../mac/contacts/named-reader.ts';
import { UPLOADS } from '../mac/sender/checked-attachments.ts';
import { OriginReader } from '../mac/sender/origins.ts';
import type { Sender } from '../mac/sender/sender.ts';
import { MacPermissions } from '../mac/system/mac-permissions.ts';
import { PermissionWatcher } from '../mac/system/permission-watcher.ts';
import { assertPortFree } from '../mac/system/port-listeners.ts';
import { AwakeClock } from '../runtime/awake-clock.ts';
import { Cleanup } from '../runtime/cleanup.ts';
import { localTimeZone } from '../runtime/clock.ts';
import { ClockWatch } from '../runtime/clock-watch.ts';
import { Counters } from '../runtime/counters.ts';
import { preferLittleMemory } from '../runtime/memory.ts';
import { eventSerializer } from '../schema/event-json.ts';
import { assertRestored } from '../store/state/backup.ts';
import { idempotencyStore } from '../store/state/idempotency-store.ts';
import { hasKeys } from '../store/state/keys-store.ts';
import { lockFolder } from '../store/state/lock.ts';
import { openStateDatabase } from '../store/state/state-database.ts';
import { webhookStore } from '../store/state/webhooks-store.ts';
import { UploadStore } from '../store/uploads/upload-store.ts';
import { wireJsonOf } from './bluebubbles.ts';
import { DiagnosticsRunner } from './diagnostics-runner.ts';
import { openEventLog } from './event-log.ts';
import { HomePage, openStatistics } from './home-page.ts';
import type { Host } from './host.ts';
import { openChatDb, openContacts, openConversions } from './inputs.ts';
import { openIssuer } from './issuer.ts';
import { openSearchIndex } from './open-search.ts';
import { openScheduler, openSender } from './open-sender.ts';
import { openStatus } from './open-status.ts';
import { listenElsewhere } from './socket.ts';

/** Limits at shutdown: 10 s in all (decision A7). osascript is killed after 8 s, and its request is still answered. */
const WORK_ENDS_WITHIN_MS = 8700;
const SOCKETS_END_WITHIN_MS = 2000;

export interface RunningApp {
  /** Base address, without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Creates and connects every module. If it cannot listen, rejects with the socket's error and leaves nothing open. */
export async function startApp(config: Config, host: Host): Promise<RunningApp> {
  const { clock, log, version } = host;
  const closers = new Cleanup(log);
  try {
    closers.add('lock', lockFolder(config.dir));
    await host.onLocked?.();
    assertRestored(config.dir);
    const awake = new AwakeClock(clock, log);
    closers.add('awake clock', () => awake.close());
    awake.start();
    const state = openStateDatabase(join(config.dir, 'state.db'));
    closers.add('state', () => state.close());
    const { chatDbPath, pollIntervalMs, osascriptPath } = config.backend;
    const { connection, thread } = openChatDb({ config, host, closers });
    const reader = new ChatReader(connection, thread);
    const chatLog = new ChatLog(connection);

    const {
      channel,
      publisher,
      detection,
      feed,
      messages: events,
      ages,
      noteHealth,
    } = openEventLog({
      ...{ config, host, closers, state, connection, thread, chatLog, awake },
      isAwaited: (message) => sender.origins.isAwaited(message, (one) => reader.details(one)),
    });

    const permissions = new MacPermissions({
      platform: host.platform,
      osascriptPath,
      clock: awake,
      chatDbAccess: () => connection.access,
    });
    const grantWatch = new PermissionWatcher({ path: chatDbPath, clock, log, onGranted: () => host.restart() });
    const detector = new CommitDetector({
      connection,
      clock,
      pollIntervalMs,
      onHealth({ connected, message }) {
        noteHealth(connected);
        if (connected) log.info('chat.db is open');
        else log.warn('chat.db cannot be read; retrying at every poll', { reason: message });
        if (host.supervised) grantWatch.set({ isAway: !connected });
        fleet?.noteHealth();
      },
    });
    detector.onCommit(() => publisher.publishPending());
    const idempotency = idempotencyStore(state);
    detector.onCommit(() => detection.noteCommit());
    const senderParts = { awake, detector, feed, publisher, idempotency, permissions };
    const sender: Sender = openSender({
      ...{ config, host, state, connection, ...senderParts },
      details: (message) => messages.details(message),
    });
    const sending = { config, host, state, connection, idempotency, sender };
    const { files, scheduler } = openScheduler({ ...sending, uploads: () => uploads, access: () => access });

    const poster = new Poster({ version, clock, allowedHosts: config.webhooks.allowedHosts });
    const counters = new Counters();
    const statistics = openStatistics({ state, host, closers, counters, channel });
    const { contacts, people } = openContacts({ config, host, closers, connection, thread });
    const ready = (include: IncludeSet) => (include.has('contacts') ? contacts.ready() : undefined);
    const messages = new OriginReader(reader, {
      added: (message, details) => {
        for (const column of details.undecoded ?? []) counters.undecoded.inc({ column });
        return ages.added(message, sender.origins.added(message, details));
      },
    });
    const json = eventSerializer({
      details: (message) => messages.details(message),
      reactionDetails: (reaction) => reader.reactionDetails(reaction),
      names: () => contacts.names,
      offsetText: (...position) => feed.offsetText(...position),
    });
    const webhooks = new Dispatcher({
      feed,
      rowNow: (rowId) => events.entries(rowOffset(rowId - 1), rowOffset(rowId), 1)[0],
      store: webhookStore(state, clock),
      poster,
      clock,
      log,
      json,
      ready,
      ...statistics.deliveryCounts(counters),
      callerOf: (keyId) => access.loaded?.callerOf(keyId),
      wireJson: wireJsonOf(config),
    });
    const webSockets = new WebSocketClients({ clock, log, ready });
    const streams = new HttpStreams({ feed, clock, log, ready });

    const search = await openSearchIndex({ config, host, connection, thread, feed, messages: chatLog });
    closers.add('search', () => search.close());
    const clockWatch = new ClockWatch(clock, log);
    closers.add('clock', () => clockWatch.close());
    const status = openStatus({
      ...{ closers, version, clock, log, clockWatch, publisher, webhooks, permissions, contacts, search },
      database: connection,
      columns: () => messageColumns(connection),
      messages: chatLog,
      changes: detection,
      fleet: () => fleet,
      canary: () => canary,
    });
    let canary: Canary | undefined;
    const diagnostics = new DiagnosticsRunner({ chatDbPath, osascriptPath, run: host.run, clock, awake, poster });
    const uploads = new UploadStore({
      folder: join(config.dir, UPLOADS),
      clock,
      log,
      heldBytes: () => scheduler.heldBytes() + (access.loaded?.heldBytes() ?? 0),
    });
    closers.add('uploads', () => uploads.close());
    const access: LazyAccess = new LazyAccess(async () => {
      const { accessParts } = await import('./access-parts.ts');
      return accessParts({
        ...{ config, host, state, connection, idempotency, messages, json, sender, scheduler, files, uploads },
        owner: () => owner,
        onKeyChange: (keyId) => webhooks.refresh(keyId),
        callerOf: (keyId) => access.loaded?.callerOf(keyId),
      });
    });
    const attachments = openConversions({ config, host, closers, connection });
    const owner: Caller = {
      key: undefined,
      reader: namedReader(messages, contacts),
      people,
      attachments,
      feed,
      json,
      sender: access.ownerSender(sender, scheduler),
      uploads: uploads.of(OWNER),
      webhooks,
      contacts,
      approvals: access.ownerApprovals(),
      scheduled: scheduler.entries,
      status: () => ({ ...status.report(), ...access.heldSends(), ...(host.people && { demo: true }) }),
      search,
      chats: chatDbNames(connection),
    };
    const fleet: FleetAgent | undefined =
      config.fleet &&
      (await import('../features/fleet/open.ts')).openFleet({
        ...{ settings: config.fleet, host, state, connection, idempotency, feed, owner, json, counters },
        messages: chatLog,
        health: () => status.health(),
      });
    const mcp = lazyMcpService({
      ...{ clock, log, counters, version, eventErrors: config.mcp.eventErrors },
      timeZone: () => localTimeZone(),
      junkAmong: (among) => junkAmong(connection, among),
      ownKey: async (caller) => (await access.load()).keys.mine(caller),
    });
    const http = new HttpServer({
      home: new HomePage({ config, host, statistics, access, webhooks, uploads, status: () => owner.status() }),
      settings: config.server,
      apiKey: config.auth.apiKey,
      callers: { owner, find: (key) => access.loaded?.find(key) },
      access: () => access.load(),
      ...{ ready, health: () => status.health() },
      notReady: () => (connection.health().connected ? [] : ['chat_db_unavailable']),
      metrics: () => ({
        webSockets: webSockets.counts,
        streams: streams.counts,
        isConnected: connection.health().connected,
        newestRow: status.newestRow(),
        newestEvent: feed.lastPublished().rowId,
        published: channel.published,
        heldWebhooks: webhooks.list().filter(({ enabled, held }) => enabled && held !== null).length,
        search: search.status(),
        changes: detection.status(),
        fleet: fleet?.report(),
        canary: canary?.report(),
      }),
      mcp: { mcp, settings: config.mcp },
      issuer: await openIssuer({ config, host, state, access, mcp }),
      people: host.people,
      checkPermissions: () => status.checkPermissions(),
      diagnose: (request) => diagnostics.run(request),
      openStream: (request, form) => streams.open(request, form),
      acceptWebSocket: (...handshake) => webSockets.accept(...handshake),
      ...{ clock, log, counters, version },
    });
    closers.add('clients', async () => {
      await Promise.all([
        diagnostics.close(),
        mcp.close(),
        http.close(WORK_ENDS_WITHIN_MS),
        permissions.close(),
        fleet?.close(),
        canary?.close(),
        sender.close(),
        scheduler.close(),
        access.loaded?.close(),
        webhooks.close(WORK_ENDS_WITHIN_MS),
        webSockets.close(SOCKETS_END_WITHIN_MS),
        streams.close(SOCKETS_END_WITHIN_MS),
      ]);
    });
    closers.add('commit detector', () => {
      detector.close();
      grantWatch.close();
    });
    await sender.start();
    await uploads.start();
    if (hasKeys(state) || config.approval.selfAddress !== '') await access.load();
    if (config.canary.selfAddress !== '') {
      const [{ openCanary }, { selfChat }] = await Promise.all([import('../features/canary/canary.ts'), access.load()]);
      canary = openCanary({ config, selfChat, state, detector, awake, reader, sender, clock, log });
    }
    detection.start();
    publisher.start();
    // Binds the port before publishing or sending anything.
    const { host: address, port } = config.server;
    if (host.platform === 'darwin') await assertPortFree(host.run, address, port);
    const url = await http.listen(address, port);
    // The detector starts first: a client that asks for changes needs to know where the change log starts.
    detector.start();
    await listenElsewhere({ config, http, version, counters, log });
    clockWatch.start();
    webhooks.start();
    fleet?.start();
    await access.loaded?.start();
    scheduler.start();
    search.start();
    canary?.start();
    // Called last, because V8 would otherwise collect garbage in the middle of startup.
    preferLittleMemory();
    return { url, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}
