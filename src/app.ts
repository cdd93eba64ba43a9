import { dirname, join } from 'node:path';
import { LazyAccess } from './access/lazy-access.ts';
import { ChangeDetection } from './changes/detection.ts';
import { AttachmentFiles } from './chatdb/attachment-files.ts';
import { ChangeDetector } from './chatdb/change-detector.ts';
import { Connection } from './chatdb/connection.ts';
import { Fingerprints } from './chatdb/fingerprints.ts';
import { ChatIndexSource } from './chatdb/index-source.ts';
import { ChatDbNames, ChatSendLookup, MessagesDirectory } from './chatdb/lookups.ts';
import { ChatLog } from './chatdb/message-log.ts';
import { ChatDbOwner, ownNumber } from './chatdb/owner.ts';
import { ChatReader } from './chatdb/reader.ts';
import { socketOf } from './config/address.ts';
import type { Config } from './config.ts';
import { AddressBook } from './contacts/address-book.ts';
import { callingCodeOf } from './contacts/canonical-address.ts';
import { NamedReader } from './contacts/named-reader.ts';
import { noContacts } from './contacts/no-contacts.ts';
import { DiagnosticsRunner } from './diagnostics.ts';
import { OWNER } from './domain/audit.ts';
import type { Caller } from './domain/caller.ts';
import type { IncludeSet } from './domain/include.ts';
import { rowOffset } from './domain/offset.ts';
import type { Clock, Log } from './domain/ports/host.ts';
import { ChangeStream } from './events/change-stream.ts';
import { Channel } from './events/channel.ts';
import { Feed } from './events/feed.ts';
import { untilPublished } from './events/published.ts';
import { Publisher } from './events/publisher.ts';
import { HttpServer } from './http/server.ts';
import { PermissionWatcher } from './mac/permission-watcher.ts';
import { MacPermissions } from './mac/permissions.ts';
import { assertPortFree } from './mac/port-listeners.ts';
import { LazyMcpService } from './mcp/service.ts';
import { Conversions } from './media/conversions.ts';
import type { ThreadMethods } from './reader-worker.ts';
import { Cleanup } from './runtime/cleanup.ts';
import { localTimeZone } from './runtime/clock.ts';
import { ClockWatch } from './runtime/clock-watch.ts';
import type { RunCommand } from './runtime/command.ts';
import { Counters } from './runtime/counters.ts';
import { preferLittleMemory } from './runtime/memory.ts';
import { ReaderThread } from './runtime/reader-thread.ts';
import { openSearch } from './search/open.ts';
import { UPLOADS } from './sender/attachments.ts';
import { HeldCopies } from './sender/held-files.ts';
import { OriginReader } from './sender/origins.ts';
import { osascript } from './sender/osascript.ts';
import { Sender } from './sender/sender.ts';
import { approvalStore } from './state/approvals.ts';
import { auditStore } from './state/audit.ts';
import { assertRestored } from './state/backup.ts';
import { changeStore } from './state/changes.ts';
import { cursorStore } from './state/cursor.ts';
import { openStateDatabase } from './state/database.ts';
import { idempotencyStore } from './state/idempotency.ts';
import { hasKeys, keyStore } from './state/keys.ts';
import { lockFolder } from './state/lock.ts';
import { selfChatStore } from './state/self-chat.ts';
import { sentPartStore } from './state/sent-parts.ts';
import { webhookStore } from './state/webhooks.ts';
import { Status } from './status.ts';
import { HttpStreams } from './streams/http-streams.ts';
import { UploadStore } from './uploads/store.ts';
import { Dispatcher } from './webhooks/dispatcher.ts';
import { Poster } from './webhooks/poster.ts';
import { eventSerializer } from './wire/event-json.ts';
import { Hub } from './ws/hub.ts';

/** Decision A7: everything within 10 s; a run of osascript is killed after 8, and its answer still goes out. */
const REQUESTS_END_WITHIN_MS = 8700;
const ATTEMPTS_END_WITHIN_MS = 8700;
const SOCKETS_END_WITHIN_MS = 2000;

/** The machine the service runs on. */
export interface Host {
  readonly clock: Clock;
  readonly log: Log;
  /** launchd watches over this process (decisions A3, C6). */
  readonly supervised: boolean;
  readonly version: string;
  /** As Node names it, or `simulated`. */
  readonly platform: string;
  readonly homeFolder: string;
  /** For what can be made again. */
  readonly cacheFolder: string;
  /** Programs of this machine, looked up on PATH. */
  readonly run: RunCommand;
  /** Called once the configuration folder is this process's alone, before anything else is opened. */
  readonly onLocked?: () => Promise<void>;
  /** Asks to be stopped and started again (exit code 75). */
  restart(): void;
}

export interface RunningApp {
  /** Base address, without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Creates every module and connects them. Rejects with the socket's error when it cannot listen; nothing is left open. */
export async function startApp(config: Config, host: Host): Promise<RunningApp> {
  const { clock, log, version } = host;
  const closers = new Cleanup(log);
  try {
    closers.add('lock', lockFolder(config.dir));
    await host.onLocked?.();
    assertRestored(config.dir);
    const state = openStateDatabase(join(config.dir, 'state.db'));
    closers.add('state', () => state.close());

    const { chatDbPath, pollIntervalMs, osascriptPath } = config.backend;
    const connection = new Connection({ path: chatDbPath, home: host.homeFolder, log });
    closers.add('chat.db', () => connection.close());
    const thread = ReaderThread.isSupported
      ? new ReaderThread<ThreadMethods>({ path: chatDbPath, home: host.homeFolder, clock, log })
      : undefined;
    closers.add('reader thread', () => thread?.close());
    const reader = new ChatReader(connection, thread);
    const chatLog = new ChatLog(connection);

    const channel = new Channel();
    const changeLog = changeStore(state);
    const stream = new ChangeStream({ log: changeLog, messages: chatLog });
    const publisher: Publisher = new Publisher({
      messages: chatLog,
      channel,
      cursor: cursorStore(state),
      changes: { stream, printsUpTo: (at) => detection.printsUpTo(at) },
      clock,
      log,
    });
    closers.add('publisher', () => publisher.close());
    const prints = new Fingerprints(connection);
    const detection: ChangeDetection = new ChangeDetection({
      // The index of search is kept up to date by changes.
      mode: config.changes.enabled === 'auto' && config.search.isEnabled ? true : config.changes.enabled,
      store: changeLog,
      prints,
      background: {
        range: async (...range) => thread?.call('range', ...range) ?? prints.range(...range),
        origins: async (...range) => thread?.call('origins', ...range) ?? prints.origins(...range),
      },
      cursor: () => publisher.cursor,
      stream,
      publish: () => publisher.publishPending(),
      clock,
      log,
    });
    closers.add('detection of changes', () => detection.close());
    const feed = new Feed({ channel, changes: { stream, control: detection }, messages: chatLog, clock, log });

    const permissions = new MacPermissions({
      platform: host.platform,
      osascriptPath,
      clock,
      chatDbAccess: () => connection.access,
    });
    const grantWatch = new PermissionWatcher({ path: chatDbPath, clock, log, onGranted: () => host.restart() });
    const detector = new ChangeDetector({
      connection,
      clock,
      pollIntervalMs,
      onHealth({ connected, message }) {
        if (connected) log.info('chat.db is open');
        else log.warn('chat.db cannot be read; retrying at every poll', { reason: message });
        if (host.supervised) grantWatch.set({ isAway: !connected });
      },
    });
    detector.onChange(() => publisher.publishPending());
    const attachmentRules = { roots: config.send.attachmentRoots, chatDbPath, configDir: config.dir };
    const idempotency = idempotencyStore(state);
    detector.onChange(() => detection.noteCommit());
    const sender = new Sender({
      messages: osascript({ path: osascriptPath, clock }),
      isAsking: () => permissions.isAsking(),
      lookup: new ChatSendLookup(connection),
      idempotency,
      sentParts: sentPartStore(state),
      clock,
      log,
      confirmMs: config.send.confirmMs,
      attachments: attachmentRules,
      published: (rowId) => untilPublished(rowId, { feed, clock, publish: () => publisher.publishPending() }),
      onChange: (look) => detector.onChange(look),
      ...(host.platform === 'darwin' && {
        stagingFolder: join(host.homeFolder, 'Library/Messages/Attachments/Postern'),
      }),
    });

    const poster = new Poster({ version, clock, allowedHosts: config.webhooks.allowedHosts });
    const counters = new Counters();
    const { addressBookPath, callingCode } = config.contacts;
    const book = new AddressBook({
      folder: addressBookPath,
      // What opens chat.db opens these files too; without that permission macOS would ask the person.
      isAllowed: () => connection.access === 'granted',
      callingCode: () => callingCode || callingCodeOf(ownNumber(connection) ?? ''),
      clock,
      log,
    });
    closers.add('Address Book', () => book.close());
    const contacts = config.contacts.isEnabled ? book : noContacts;
    const ready = (include: IncludeSet) => (include.has('contacts') ? contacts.ready() : undefined);
    const messages = new OriginReader(reader, sender.origins);
    const json = eventSerializer({ details: (message) => messages.details(message), names: () => contacts.names });
    const webhooks = new Dispatcher({
      feed,
      rowNow: (rowId) => chatLog.entries(rowOffset(rowId - 1), rowOffset(rowId), 1)[0],
      store: webhookStore(state, clock),
      poster,
      clock,
      log,
      json,
      ready,
      onOutcome: (outcome) => counters.deliveries.inc({ outcome }),
      callerOf: (keyId) => access.callerOf(keyId),
    });
    const hub = new Hub({ feed, clock, log, json, ready });
    const streams = new HttpStreams({ feed, clock, log, json, ready });

    const search = await openSearch(config.search.isEnabled, {
      path: join(config.dir, 'search.db'),
      source: new ChatIndexSource(connection, thread),
      thread: thread && {
        find: (...args) => thread.call('find', ...args),
        writer: { add: (...args) => thread.call('add', ...args), merge: (...args) => thread.call('merge', ...args) },
      },
      feed,
      messages: chatLog,
      clock,
      log,
    });
    closers.add('search', () => search.close());
    const clockWatch = new ClockWatch(clock, log);
    closers.add('clock', () => clockWatch.close());
    const status = new Status({
      version,
      clock,
      database: connection,
      clockWatch,
      messages: chatLog,
      publisher,
      webhooks,
      permissions,
      contacts,
      search,
      changes: detection,
    });
    const diagnostics = new DiagnosticsRunner({ chatDbPath, osascriptPath, run: host.run, clock });
    const uploads = new UploadStore({
      folder: join(config.dir, UPLOADS),
      clock,
      log,
      heldBytes: () => access.loaded?.heldBytes() ?? 0,
    });
    closers.add('uploads', () => uploads.close());
    const access: LazyAccess = new LazyAccess(() => ({
      stores: {
        keys: keyStore(state),
        approvals: approvalStore(state),
        audit: auditStore(state),
        idempotency,
        selfChat: selfChatStore(state),
      },
      directory: new MessagesDirectory(connection),
      owner: () => owner,
      reader: messages,
      named: (plain, own) => new NamedReader(plain, own),
      sender,
      files: new HeldCopies({ rules: attachmentRules, log }),
      uploads,
      attachmentRoots: config.send.attachmentRoots,
      selfAddress: config.approval.selfAddress,
      ownerInChatDb: new ChatDbOwner(connection),
      clock,
      log,
      onKeyChange: (keyId) => webhooks.refresh(keyId),
    }));
    const attachments = new Conversions({
      files: new AttachmentFiles(connection),
      cacheFolder: host.cacheFolder,
      // On a Mac they are where osascript is.
      toolFolder: dirname(osascriptPath),
      run: host.run,
      clock,
      log,
    });
    closers.add('conversions', () => attachments.close());
    const owner: Caller = {
      key: undefined,
      reader: new NamedReader(messages, contacts),
      attachments,
      feed,
      sender: access.ownerSender(sender),
      uploads: uploads.of(OWNER),
      webhooks,
      contacts,
      approvals: access.ownerApprovals(),
      status: () => ({ ...status.report(), ...access.heldSends() }),
      search,
      chats: new ChatDbNames(connection),
    };
    const mcp = new LazyMcpService({
      clock,
      log,
      counters,
      version,
      timeZone: () => localTimeZone(),
      ownKey: async (caller) => (await access.load()).keys.mine(caller),
    });
    const http = new HttpServer({
      settings: config.server,
      apiKey: config.auth.apiKey,
      callers: { owner, find: (key) => access.find(key) },
      access: () => access.load(),
      json,
      ready,
      health: () => status.health(),
      metrics: () => ({
        webSockets: hub.counts,
        streams: streams.counts,
        isConnected: connection.health().connected,
        newestRow: status.newestRow(),
        newestEvent: feed.lastPublished().rowId,
        published: channel.published,
        heldWebhooks: webhooks.list().filter(({ enabled, held }) => enabled && held !== null).length,
        search: search.status(),
        changes: detection.status(),
      }),
      counters,
      version,
      mcp: { mcp, settings: config.mcp },
      checkPermissions: () => status.checkPermissions(),
      diagnose: (request) => diagnostics.run(request),
      openStream: (request, form) => streams.open(request, form),
      acceptWebSocket: (...handshake) => hub.accept(...handshake),
      clock,
      log,
    });
    closers.add('clients', async () => {
      await Promise.all([
        diagnostics.close(),
        mcp.close(),
        http.close(REQUESTS_END_WITHIN_MS),
        permissions.close(),
        sender.close(),
        access.close(),
        webhooks.close(ATTEMPTS_END_WITHIN_MS),
        hub.close(SOCKETS_END_WITHIN_MS),
        streams.close(SOCKETS_END_WITHIN_MS),
      ]);
    });

    closers.add('change detector', () => {
      detector.close();
      grantWatch.close();
    });

    await sender.start();
    await uploads.start();
    if (hasKeys(state) || config.approval.selfAddress !== '') await access.load();
    detection.start();
    publisher.start();
    // Nothing is published or sent before the port is had, and no request comes in before everything runs.
    const { host: address, port } = config.server;
    if (host.platform === 'darwin') await assertPortFree(host.run, address, port);
    const url = await http.listen(address, port);
    // At once, because a client that asks for changes needs to know where the log begins.
    detector.start();
    await listenOnSocket(config, http, log);
    clockWatch.start();
    webhooks.start();
    await access.loaded?.start();
    search.start();
    // Not before, because V8 would collect in the middle of the start.
    preferLittleMemory();
    return { url, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** Without the socket (decision O1) the port serves all the same, so whatever is in the way is one warning. */
async function listenOnSocket(config: Config, http: HttpServer, log: Log): Promise<void> {
  if (!config.server.socket) return;
  const socket = socketOf(config);
  try {
    if ('reason' in socket) throw new Error(socket.reason);
    await http.listenOnSocket(socket.path);
  } catch (error) {
    const reason = (error as Error).message;
    log.warn('there is no Unix socket: the command line needs --url, and the menu shows no state', { reason });
  }
}
