import type { ThreadTargets } from '../reader-worker.ts';
import type { CommitDetector } from './chatdb/commit-detector.ts';
import type { Connection } from './chatdb/connection.ts';
import type { ConvertedFiles } from './chatdb/converted-files.ts';
import type { Decoder } from './chatdb/decoder.ts';
import type { ChatLog } from './chatdb/message-log.ts';
import type { ChatReader } from './chatdb/reader.ts';
import type { Config } from './config/config.ts';
import type { Running } from './feature.ts';
import type { Host } from './host.ts';
import type { OtherHost } from './http/server.ts';
import type { ChangeStream } from './log/change-stream.ts';
import type { Channel } from './log/channel.ts';
import type { Feed } from './log/feed.ts';
import type { Publisher } from './log/publisher.ts';
import type { RowAges } from './log/row-ages.ts';
import type { MacPermissions } from './mac/mac-permissions.ts';
import type { MessagesAccounts } from './mac/messages-accounts.ts';
import type { PermissionWatcher } from './mac/permission-watcher.ts';
import type { MacCaller } from './model/caller.ts';
import type { MessageDetails } from './model/details.ts';
import type { Guests } from './model/guests.ts';
import type { IncludeSet } from './model/include.ts';
import type { Ports } from './model/port.ts';
import type { ChangeStore, Detecting } from './model/ports/changes-ports.ts';
import type { Deferrals } from './model/ports/deferral-ports.ts';
import type { MessageLog } from './model/ports/feed-ports.ts';
import type { Naming } from './model/ports/names-ports.ts';
import type { DeferringStore } from './model/ports/sending-ports.ts';
import type { WireEventJson } from './model/ports/wires-ports.ts';
import type { DeliveryWatcher } from './model/webhook.ts';
import type { AwakeClock } from './runtime/awake-clock.ts';
import type { Cleanup } from './runtime/cleanup.ts';
import type { ClockWatch } from './runtime/clock-watch.ts';
import type { Counters } from './runtime/counters.ts';
import type { OwnListeners } from './runtime/own-listeners.ts';
import type { ReaderThread } from './runtime/reader-thread.ts';
import type { Sqlite } from './runtime/sqlite.ts';
import type { EventJson } from './schema/event-json.ts';
import type { KeptCopies } from './sender/kept-files.ts';
import type { OwnerSends } from './sender/owner-sends.ts';
import type { Sender } from './sender/sender.ts';
import type { SentRows } from './sender/sent-rows.ts';
import type { UploadStore } from './state/upload-store.ts';
import type { Status } from './status/open-status.ts';
import type { HttpStreams } from './streams/http-streams.ts';
import type { WebSocketClients } from './streams/web-socket-clients.ts';
import type { Dispatcher } from './webhooks/dispatcher.ts';
import type { Poster } from './webhooks/poster.ts';

/** The parts of the core, with which every feature is opened. `open-core.ts` makes them in this order. */
export interface Core extends CoreBase, CoreMac, CoreEvents, CoreSends, CoreReaders, CoreOwner {}

/** The configuration, state.db, and the places that features fill. */
export interface CoreBase {
  readonly config: Config;
  readonly host: Host;
  /** Starts what is added to it, and closes it in the reverse order. */
  readonly closers: Cleanup;
  /** A clock that stands still while the Mac sleeps. */
  readonly awake: AwakeClock;
  readonly state: Sqlite;
  readonly idempotency: DeferringStore;
  readonly counters: Counters;
  /** The addresses at which this service listens, so that nothing posts to itself. */
  readonly ownListeners: OwnListeners;
  /** The running features, in the order of the list. Key: the feature's name. */
  readonly running: Map<string, Running>;
  /** The services that features provide to callers. */
  readonly ports: Ports;
  /** Empty if there is a reader thread, which has its own. */
  readonly decoders: readonly Decoder[];
  readonly guests: Guests;
  /** The hosts, besides the server's own address, at which features answer requests. */
  readonly otherHosts: OtherHost[];
  readonly naming: Naming;
  readonly deferrals: Deferrals;
  /** The serialisers of other programs' protocols. Key: `StoredWebhook.wire.protocol`. */
  readonly wires: Map<string, WireEventJson>;
}

/** The readers of this Mac, and its permissions. */
export interface CoreMac {
  readonly connection: Connection;
  /** Undefined where the main thread reads everything. */
  readonly thread: ReaderThread<ThreadTargets> | undefined;
  readonly permissions: MacPermissions;
  readonly messagesAccounts: MessagesAccounts;
  readonly grantWatch: PermissionWatcher;
  readonly detector: CommitDetector;
  /** Calls `listener` whenever chat.db has become readable or unreadable. */
  readonly onHealth: (listener: (isConnected: boolean) => void) => void;
  readonly sentRows: SentRows;
  readonly chatLog: ChatLog;
  readonly files: ConvertedFiles;
}

/** The event log, and what reads and serialises its events. */
export interface CoreEvents {
  readonly channel: Channel;
  readonly publisher: Publisher;
  readonly changeLog: ChangeStore;
  readonly changeStream: ChangeStream;
  readonly detecting: Detecting;
  readonly feed: Feed;
  /** The rows of chat.db, with their age when they arrived. */
  readonly agedLog: MessageLog;
  readonly ages: RowAges;
  /** Reads messages without the names of people. */
  readonly messages: ChatReader;
  readonly json: EventJson;
  /** Returns the addresses in the members that features add to details. */
  readonly people: (details: MessageDetails) => readonly string[];
  /** Resolves once the requested includes are loaded; undefined if they already are. */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
}

/** The sender, and the stores that keep files until they are sent. */
export interface CoreSends {
  readonly sender: Sender;
  readonly ownerSends: OwnerSends;
  readonly uploads: UploadStore;
  readonly keptFiles: KeptCopies;
}

/** The readers of the event log: webhooks and streams. */
export interface CoreReaders {
  readonly poster: Poster;
  readonly webhooks: Dispatcher;
  readonly watchDeliveries: (watcher: DeliveryWatcher) => void;
  readonly webSockets: WebSocketClients;
  readonly streams: HttpStreams;
}

/** The owner's ports, and the status. */
export interface CoreOwner {
  readonly clockWatch: ClockWatch;
  readonly status: Status;
  readonly owner: MacCaller;
}
