import { join } from 'node:path';
import { attachmentNames } from './chatdb/attachment-details.ts';
import { messageColumns } from './chatdb/lookups.ts';
import { ChatReader } from './chatdb/reader.ts';
import type { Config } from './config/config.ts';
import type { Core, CoreBase, CoreEvents, CoreMac, CoreOwner, CoreReaders, CoreSends } from './core.ts';
import { addedPeople } from './details-part.ts';
import { openEventLog } from './event-log.ts';
import { capabilitiesOf, operationsIn } from './feature.ts';
import type { Host } from './host.ts';
import { RESOURCES } from './http/resources.ts';
import { untilPublished } from './log/published.ts';
import type { MacCaller } from './model/caller.ts';
import { macCapabilities } from './model/capabilities.ts';
import { ownerStatus } from './model/command-words.ts';
import type { Message } from './model/message.ts';
import { namedReader } from './model/named-reader.ts';
import { rowOffset } from './model/offset.ts';
import { OWNER } from './model/owner.ts';
import type { Log } from './model/ports/host-ports.ts';
import type { DeliveryWatcher } from './model/webhook.ts';
import { openBase, openMac } from './open-mac.ts';
import type { Cleanup } from './runtime/cleanup.ts';
import { ClockWatch } from './runtime/clock-watch.ts';
import { eventSerializer } from './schema/event-json.ts';
import { type AttachmentRules, UPLOADS } from './sender/checked-attachments.ts';
import { KeptCopies } from './sender/kept-files.ts';
import { osascript } from './sender/osascript.ts';
import { OwnerSends } from './sender/owner-sends.ts';
import { Sender } from './sender/sender.ts';
import { UploadStore } from './state/upload-store.ts';
import { webhookStore } from './state/webhooks-store.ts';
import { openStatus, type StatusParts } from './status/open-status.ts';
import { HttpStreams } from './streams/http-streams.ts';
import { WebSocketClients } from './streams/web-socket-clients.ts';
import { DeliveredEvents } from './webhooks/delivered-events.ts';
import { Dispatcher } from './webhooks/dispatcher.ts';
import { Poster } from './webhooks/poster.ts';

/** Creates what every Postern of a Mac has, in an order in which no part needs a later one. */
export async function openCore(config: Config, host: Host, closers: Cleanup): Promise<Core> {
  const base = await openBase(config, host, closers);
  const mac = { ...base, ...openMac(base) };
  const events = { ...mac, ...openEvents(mac) };
  const sends = { ...events, ...openSends(events) };
  const readers = { ...sends, ...openReaders(sends) };
  return { ...readers, ...openOwner(readers) };
}

/** Opens the event log, and what reads and serialises its events. */
function openEvents(core: CoreBase & CoreMac): CoreEvents {
  const { host, connection, thread, detector, onHealth, naming, counters } = core;
  const { origins } = core.sentRows;
  const people = addedPeople(host.features);
  // The log must not publish a row that a send is about to mark as outgoing.
  const isAwaited = (message: Message): boolean =>
    origins.isAwaited(message, ({ id }) => attachmentNames(connection, Number(id)));
  const { noteHealth, ages, ...eventLog } = openEventLog(core, isAwaited);
  const { publisher, feed } = eventLog;
  onHealth(noteHealth);
  detector.onCommit(() => publisher.publishPending());
  const messages = new ChatReader(connection, thread, (message, details) => {
    for (const column of details.undecoded ?? []) counters.undecoded.inc({ column });
    return ages.added(message, origins.added(message, details));
  });
  const json = eventSerializer({
    details: (message) => messages.details(message),
    reactionDetails: (reaction) => messages.reactionDetails(reaction),
    names: () => naming.names,
    people,
    offsetText: (...position) => feed.offsetText(...position),
  });
  return {
    ...eventLog,
    ages,
    messages,
    json,
    people,
    ready: (include) => (include.has('contacts') ? naming.ready() : undefined),
  };
}

/** Opens what sends, and what keeps files until they are sent. */
function openSends(core: CoreBase & CoreMac & CoreEvents): CoreSends {
  const { config, host, closers, guests, deferrals } = core;
  const sender = openSender(core);
  closers.add('sender', { start: () => sender.start(), end: () => sender.close() });
  const uploads = new UploadStore({
    folder: join(config.dir, UPLOADS),
    clock: host.clock,
    log: host.log,
    keptBytes: () => [...deferrals.keptBytes(), ...guests.keptBytes()],
  });
  closers.add('uploads', { start: () => uploads.start(), close: () => uploads.close() });
  const ownerSends = new OwnerSends({ sender, deferral: deferrals });
  return { sender, ownerSends, uploads, keptFiles: openKeptFiles(config, host.log) };
}

/** Opens what reads the event log: webhooks and streams. */
function openReaders(core: CoreBase & CoreMac & CoreEvents): CoreReaders {
  const { config, host, state, feed, json, ready } = core;
  const { clock, log, version } = host;
  const watchers: DeliveryWatcher[] = [];
  const poster = new Poster({ version, clock, ...config.webhooks, ownListeners: core.ownListeners });
  const events = new DeliveredEvents({
    feed,
    json,
    ready,
    wires: core.wires,
    silentRows: (first, last) => core.chatLog.silentRows(first, last),
    rowNow: (rowId) => core.agedLog.entries(rowOffset(rowId - 1), rowOffset(rowId), 1)[0],
    callerOf: (keyId) => core.guests.callerOf(keyId),
  });
  const watcher: DeliveryWatcher = {
    countDelivery(record, webhookId) {
      core.counters.deliveries.inc({ outcome: record.outcome });
      for (const one of watchers) one.countDelivery(record, webhookId);
    },
    countRetry: (webhookId) => {
      for (const one of watchers) one.countRetry(webhookId);
    },
  };
  const webhooks = new Dispatcher({ feed, events, store: webhookStore(state, clock), poster, clock, log, watcher });
  core.guests.onChange(({ keyId }) => webhooks.refresh(keyId));
  return {
    poster,
    webhooks,
    watchDeliveries: (watcher) => void watchers.push(watcher),
    webSockets: new WebSocketClients({ clock, log, ready }),
    streams: new HttpStreams({ feed, clock, log, ready }),
  };
}

/** Creates the owner's ports, the status, and what limited keys get of both. */
function openOwner(core: Omit<Core, keyof CoreOwner>): CoreOwner {
  const { config, host, connection, messages, naming, guests, permissions, ports, webhooks } = core;
  const { clock, log, version } = host;
  const clockWatch = new ClockWatch(clock, log);
  const ofFeatures = capabilitiesOf(config, host.features);
  const parts: StatusParts = {
    version,
    clock,
    database: connection,
    messages: core.chatLog,
    publisher: core.publisher,
    webhooks,
    permissions,
    abilities: () => ({
      operations: operationsIn([...RESOURCES, ...host.features], core.running),
      capabilities: macCapabilities({
        hasColumn: messageColumns(connection),
        maySend: permissions.known.find(({ name }) => name === 'automation')?.state !== 'denied',
        ofFeatures,
      }),
    }),
    members: () => [
      ['publisher', core.publisher],
      ['clock', clockWatch],
      ['messages_account', core.messagesAccounts],
      ...core.running,
      ['arrival_delay', core.ages.delays],
    ],
  };
  const status = openStatus(parts, core.closers, log);
  const owner: MacCaller = {
    key: undefined,
    reader: namedReader(messages, naming, core.people),
    attachments: core.files,
    feed: core.feed,
    json: core.json,
    sender: core.ownerSends,
    uploads: core.uploads.of(OWNER),
    webhooks,
    naming,
    port: (wanted) => ports.get(wanted),
    status: () => {
      const heldSends = guests.heldSends();
      return { ...ownerStatus(status.report(), host.cli), ...(heldSends !== undefined && { held_sends: heldSends }) };
    },
  };
  return { clockWatch, status, owner };
}

function attachmentRulesOf({ send, backend, dir }: Config): AttachmentRules {
  return { roots: send.attachmentRoots, chatDbPath: backend.chatDbPath, configDir: dir };
}

/** Creates the sender, which drives Messages and then looks for the sent rows in chat.db. */
function openSender(core: CoreBase & CoreMac & CoreEvents): Sender {
  const { config, host, permissions, idempotency, sentRows: rows, feed, publisher, messages } = core;
  // It stops while the Mac sleeps, so that sleep does not use up the time limit of a running script.
  const clock = core.awake;
  return new Sender({
    messages: osascript({ path: config.backend.osascriptPath, clock, permission: permissions }),
    rows,
    idempotency,
    clock,
    log: host.log,
    attachments: attachmentRulesOf(config),
    details: (message) => messages.details(message),
    published: (rowId) => untilPublished(rowId, { feed, clock, publish: () => publisher.publishPending() }),
    ...(host.platform === 'darwin' && {
      stagingFolder: join(host.homeFolder, 'Library/Messages/Attachments/Postern'),
    }),
  });
}

/** Opens the store for copies of the files that held and deferred sends attach. */
function openKeptFiles(config: Config, log: Log): KeptCopies {
  return new KeptCopies({ rules: attachmentRulesOf(config), log });
}
