import { join } from 'node:path';
import type { ThreadTargets } from '../reader-worker.ts';
import { AttachmentFiles } from './chatdb/attachment-files.ts';
import type { SharedDatabaseParts } from './chatdb/chatdb-handle.ts';
import { CommitDetector } from './chatdb/commit-detector.ts';
import { Connection } from './chatdb/connection.ts';
import { ConvertedFiles } from './chatdb/converted-files.ts';
import { chatSendLookup } from './chatdb/lookups.ts';
import { ChatLog } from './chatdb/message-log.ts';
import type { Config } from './config/config.ts';
import type { CoreBase, CoreMac } from './core.ts';
import { decodersOf } from './details-part.ts';
import { hiddenTexts } from './feature.ts';
import type { Host } from './host.ts';
import { MacPermissions } from './mac/mac-permissions.ts';
import { openMessagesAccounts } from './mac/messages-accounts.ts';
import { PermissionWatcher } from './mac/permission-watcher.ts';
import { Guests } from './model/guests.ts';
import { Ports } from './model/port.ts';
import { Deferrals } from './model/ports/deferral-ports.ts';
import { Naming } from './model/ports/names-ports.ts';
import { AwakeClock } from './runtime/awake-clock.ts';
import type { Cleanup } from './runtime/cleanup.ts';
import { Counters } from './runtime/counters.ts';
import { OwnListeners } from './runtime/own-listeners.ts';
import { ReaderThread } from './runtime/reader-thread.ts';
import { openSentRows } from './sender/sent-rows.ts';
import { idempotencyStore } from './state/idempotency-store.ts';
import { lockFolder } from './state/lock.ts';
import { assertRestored } from './state/restored.ts';
import { sentPartStore } from './state/sent-parts-store.ts';
import { openStateDatabase } from './state/state-database.ts';

const READER_WORKER = new URL('../reader-worker.js', import.meta.url);

/** Locks the folder of the configuration, opens state.db, and makes the places that features fill. */
export async function openBase(config: Config, host: Host, closers: Cleanup): Promise<CoreBase> {
  closers.add('lock', lockFolder(config.dir));
  await host.onLocked?.();
  assertRestored(config.dir);
  const awake = new AwakeClock(host.clock, host.log);
  closers.add('awake clock', () => awake.close());
  awake.start();
  const state = openStateDatabase(join(config.dir, 'state.db'), host.features);
  closers.add('state', () => state.close());
  return {
    config,
    host,
    closers,
    awake,
    state,
    idempotency: idempotencyStore(state),
    counters: new Counters(),
    ownListeners: new OwnListeners(),
    running: new Map(),
    ports: new Ports(),
    decoders: ReaderThread.isSupported ? [] : await decodersOf(host.features),
    guests: new Guests(),
    otherHosts: [],
    naming: new Naming(),
    deferrals: new Deferrals(),
    wires: new Map(),
  };
}

/** Opens everything that reads this Mac, and what it allows. Nothing here sends or publishes. */
export function openMac(core: CoreBase): CoreMac {
  const { config, host, closers, awake, state } = core;
  const { clock, log } = host;
  const { chatDbPath, pollIntervalMs, osascriptPath } = config.backend;
  const { connection, thread } = openChatDb(core);
  const permissions = new MacPermissions({
    platform: host.platform,
    osascriptPath,
    clock: awake,
    chatDbAccess: () => connection.access,
  });
  const asking = { osascriptPath, run: host.run, clock, log, permissions };
  const messagesAccounts = openMessagesAccounts({ ...asking, closers });
  const grantWatch = new PermissionWatcher({ path: chatDbPath, clock, log, onGranted: () => host.restart() });
  const healthListeners: ((isConnected: boolean) => void)[] = [];
  const detector = new CommitDetector({
    connection,
    clock,
    pollIntervalMs,
    onHealth({ connected, message }) {
      if (connected) log.info('chat.db is open');
      else log.warn('chat.db cannot be read; retrying at every poll', { reason: message });
      if (host.supervised) grantWatch.set({ isAway: !connected });
      for (const listener of healthListeners) listener(connected);
    },
  });
  const sentRows = openSentRows({
    lookup: chatSendLookup(connection),
    sentParts: sentPartStore(state),
    clock: awake,
    log,
    confirmMs: config.send.confirmMs,
    onChange: (look) => detector.onCommit(look),
  });
  return {
    connection,
    thread,
    permissions,
    messagesAccounts,
    grantWatch,
    detector,
    onHealth: (listener) => void healthListeners.push(listener),
    sentRows,
    chatLog: new ChatLog(connection),
    files: new ConvertedFiles(new AttachmentFiles(connection)),
  };
}

/** Opens chat.db. The reader thread starts at its first use. */
function openChatDb(core: CoreBase): Pick<CoreMac, 'connection' | 'thread'> {
  const { config, host, closers, decoders } = core;
  const { clock, log, homeFolder: home } = host;
  const { chatDbPath: path, associatedRows } = config.backend;
  const database: SharedDatabaseParts = { path, home, associatedRows, hidden: hiddenTexts(core) };
  const thread = ReaderThread.isSupported
    ? new ReaderThread<ThreadTargets>({ script: READER_WORKER, database, clock, log })
    : undefined;
  const survey = thread && (() => thread.call('lists', 'survey'));
  const connection = new Connection({ ...database, log, decoders }, survey);
  closers.add('chat.db', () => connection.close());
  closers.add('reader thread', { end: () => thread?.hurry(), close: () => thread?.close() });
  return { connection, thread };
}
