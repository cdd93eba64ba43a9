import { join } from 'node:path';
import { LazyAccess } from '../access/lazy-access.ts';
import type { HttpServer } from '../api/http/server.ts';
import { DiagnosticsRunner } from '../app/diagnostics-runner.ts';
import { openEventLog } from '../app/event-log.ts';
import { openStatistics } from '../app/home-page.ts';
import type { Host } from '../app/host.ts';
import { openChatDb, openContacts, openConversions } from '../app/inputs.ts';
import { openSearchIndex } from '../app/open-search.ts';
import { openHeldFiles, openSender } from '../app/open-sender.ts';
import { openStatus } from '../app/open-status.ts';
import type { Config } from '../config/config.ts';
import { OWNER } from '../domain/audit.ts';
import type { Caller } from '../domain/caller.ts';
import type { IncludeSet } from '../domain/include.ts';
import { rowOffset } from '../domain/offset.ts';
import { Ports } from '../domain/port.ts';
import { type Deferral, NO_DEFERRAL } from '../domain/ports/deferral-ports.ts';
import type { WireEventJson } from '../domain/ports/wires-ports.ts';
import { HttpStreams } from '../events/streams/http-streams.ts';
import { WebSocketClients } from '../events/streams/web-socket-clients.ts';
import { Dispatcher } from '../events/webhooks/dispatcher.ts';
import { Poster } from '../events/webhooks/poster.ts';
import { CommitDetector } from '../mac/chatdb/commit-detector.ts';
import { chatDbNames, messageColumns } from '../mac/chatdb/lookups.ts';
import { ChatLog } from '../mac/chatdb/message-log.ts';
import { ChatReader } from '../mac/chatdb/reader.ts';
import { namedReader } from '../mac/contacts/named-reader.ts';
import { UPLOADS } from '../mac/sender/checked-attachments.ts';
import { OriginReader } from '../mac/sender/origins.ts';
import type { Sender } from '../mac/sender/sender.ts';
import { MacPermissions } from '../mac/system/mac-permissions.ts';
import { PermissionWatcher } from '../mac/system/permission-watcher.ts';
import { AwakeClock } from '../runtime/awake-clock.ts';
import type { Cleanup } from '../runtime/cleanup.ts';
import { ClockWatch } from '../runtime/clock-watch.ts';
import { Counters } from '../runtime/counters.ts';
import { eventSerializer } from '../schema/event-json.ts';
import { assertRestored } from '../store/state/backup.ts';
import { idempotencyStore } from '../store/state/idempotency-store.ts';
import { lockFolder } from '../store/state/lock.ts';
import { openStateDatabase } from '../store/state/state-database.ts';
import { webhookStore } from '../store/state/webhooks-store.ts';
import { UploadStore } from '../store/uploads/upload-store.ts';
import type { Running } from './feature.ts';

/** The running features, in the order of the list. Key: the feature's name. */
export type RunningFeatures = ReadonlyMap<string, Running>;

/** The parts of the core, with which every feature is opened. */
export type Core = Awaited<ReturnType<typeof openCore>>;

/** Creates what every Postern of a Mac has. Nothing in here names a feature. */
export async function openCore(config: Config, host: Host, closers: Cleanup) {
  const { clock, log, version } = host;
  const running = new Map<string, Running>();
  const ports = new Ports();
  const counters = new Counters();
  /** The serialisers of other programs' protocols. Key: `StoredWebhook.wire.protocol`. */
  const wires = new Map<string, WireEventJson>();
  const healthListeners: (() => void)[] = [];
  let deferral: Deferral = NO_DEFERRAL;
  let http: HttpServer | undefined;

  closers.add('lock', lockFolder(config.dir));
  await host.onLocked?.();
  assertRestored(config.dir);
  const awake = new AwakeClock(clock, log);
  closers.add('awake clock', () => awake.close());
  awake.start();
  const state = openStateDatabase(join(config.dir, 'state.db'), host.features);
  closers.add('state', () => state.close());
  const { chatDbPath, pollIntervalMs, osascriptPath } = config.backend;
  const { connection, thread } = openChatDb({ config, host, closers });
  const reader = new ChatReader(connection, thread);
  const chatLog = new ChatLog(connection);
  const eventLog = openEventLog({
    ...{ config, host, closers, state, connection, thread, chatLog, awake },
    // The log must not publish a row that a send is about to mark as outgoing, and the sender waits for the log.
    isAwaited: (message) => sender.origins.isAwaited(message, (one) => reader.details(one)),
  });
  const { channel, publisher, detection, feed, ages } = eventLog;

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
      eventLog.noteHealth(connected);
      if (connected) log.info('chat.db is open');
      else log.warn('chat.db cannot be read; retrying at every poll', { reason: message });
      if (host.supervised) grantWatch.set({ isAway: !connected });
      for (const listener of healthListeners) listener();
    },
  });
  detector.onCommit(() => publisher.publishPending());
  detector.onCommit(() => detection.noteCommit());

  const idempotency = idempotencyStore(state);
  const sender: Sender = openSender({
    ...{ config, host, state, connection, awake, detector, feed, publisher, idempotency, permissions },
    details: (message) => messages.details(message),
  });
  const messages = new OriginReader(reader, {
    added: (message, details) => {
      for (const column of details.undecoded ?? []) counters.undecoded.inc({ column });
      return ages.added(message, sender.origins.added(message, details));
    },
  });
  const heldFiles = openHeldFiles(config, log);
  const statistics = openStatistics({ state, host, closers, counters, channel });
  const { contacts, people } = openContacts({ config, host, closers, connection, thread });
  const ready = (include: IncludeSet) => (include.has('contacts') ? contacts.ready() : undefined);
  const json = eventSerializer({
    details: (message) => messages.details(message),
    reactionDetails: (reaction) => reader.reactionDetails(reaction),
    names: () => contacts.names,
    offsetText: (...position) => feed.offsetText(...position),
  });
  const search = await openSearchIndex({ config, host, connection, thread, feed, messages: chatLog });
  closers.add('search', () => search.close());
  const uploads: UploadStore = new UploadStore({
    folder: join(config.dir, UPLOADS),
    clock,
    log,
    heldBytes: () => deferral.heldBytes() + (access.loaded?.heldBytes() ?? 0),
  });
  closers.add('uploads', () => uploads.close());
  const access: LazyAccess = new LazyAccess(async () => {
    const { accessParts } = await import('../app/access-parts.ts');
    return accessParts({
      ...{ config, host, state, connection, idempotency, messages, json, sender, deferral, ports, uploads },
      files: heldFiles,
      selfAddress: config.approval.selfAddress || access.selfAddress,
      owner: () => owner,
      onKeyChange: (keyId) => webhooks.refresh(keyId),
      callerOf: (keyId) => access.loaded?.callerOf(keyId),
    });
  });
  const poster = new Poster({ version, clock, allowedHosts: config.webhooks.allowedHosts });
  const webhooks = new Dispatcher({
    ...{ feed, poster, clock, log, json, ready, wires },
    rowNow: (rowId) => eventLog.messages.entries(rowOffset(rowId - 1), rowOffset(rowId), 1)[0],
    store: webhookStore(state, clock),
    ...statistics.deliveryCounts(counters),
    callerOf: (keyId) => access.loaded?.callerOf(keyId),
  });
  const webSockets = new WebSocketClients({ clock, log, ready });
  const streams = new HttpStreams({ feed, clock, log, ready });
  const clockWatch = new ClockWatch(clock, log);
  closers.add('clock', () => clockWatch.close());
  const status = openStatus({
    ...{ closers, version, clock, log, clockWatch, publisher, webhooks, permissions, contacts, search, running },
    database: connection,
    columns: () => messageColumns(connection),
    messages: chatLog,
    changes: detection,
  });
  const diagnostics = new DiagnosticsRunner({ chatDbPath, osascriptPath, run: host.run, clock, awake, poster });
  const owner: Caller = {
    key: undefined,
    reader: namedReader(messages, contacts),
    people,
    attachments: openConversions({ config, host, closers, connection }),
    feed,
    json,
    sender: access.ownerSender(sender, () => deferral),
    uploads: uploads.of(OWNER),
    webhooks,
    contacts,
    approvals: access.ownerApprovals(),
    port: (wanted) => ports.get(wanted),
    status: () => ({ ...status.report(), ...access.heldSends(), ...(host.people && { demo: true }) }),
    search,
    chats: chatDbNames(connection),
  };
  return {
    ...{ config, host, closers, state, awake, connection, chatLog, feed, channel, publisher, detection, detector },
    ...{ reader, messages, json, sender, idempotency, heldFiles, uploads, access, owner, counters, statistics },
    ...{ contacts, search, webhooks, webSockets, streams, wires, ports, running, status, diagnostics, permissions },
    ...{ ready, clockWatch, grantWatch },
    /** Makes a feature take over the sends that ask for a later time. */
    defer: (one: Deferral): void => {
      deferral = one;
    },
    /** Calls `listener` whenever chat.db has become readable or unreadable. */
    onHealth: (listener: () => void): void => void healthListeners.push(listener),
    /** Returns the HTTP server. Only once the features start. */
    http: (): HttpServer => {
      if (http === undefined) throw new Error('the service does not listen yet');
      return http;
    },
    serveBy: (server: HttpServer): void => {
      http = server;
    },
  };
}
