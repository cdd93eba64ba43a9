import { join } from 'node:path';
import type { LazyAccess } from '../access/lazy-access.ts';
import type { Config } from '../config/config.ts';
import type { MessageDetails } from '../domain/details.ts';
import type { Message } from '../domain/message.ts';
import type { EventFeed } from '../domain/ports/feed-ports.ts';
import type { Clock } from '../domain/ports/host-ports.ts';
import type { IdempotencyStore, SchedulingStore } from '../domain/ports/sending-ports.ts';
import { untilPublished } from '../events/log/published.ts';
import { scheduledOnPhone } from '../features/scheduled/on-phone.ts';
import { SendScheduler } from '../features/scheduled/scheduler.ts';
import { scheduledStore } from '../features/scheduled/store.ts';
import type { CommitDetector } from '../mac/chatdb/commit-detector.ts';
import type { Connection } from '../mac/chatdb/connection.ts';
import { chatSendLookup } from '../mac/chatdb/lookups.ts';
import type { AttachmentRules } from '../mac/sender/checked-attachments.ts';
import { HeldCopies } from '../mac/sender/held-files.ts';
import { osascript } from '../mac/sender/osascript.ts';
import { Sender } from '../mac/sender/sender.ts';
import type { MacPermissions } from '../mac/system/mac-permissions.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { sentPartStore } from '../store/state/sent-parts-store.ts';
import type { Host } from './host.ts';

interface SenderParts {
  readonly config: Config;
  readonly host: Host;
  /** A clock that stops while the Mac sleeps, so that sleep does not use up the time limit of a running script. */
  readonly awake: Clock;
  readonly state: Sqlite;
  readonly connection: Connection;
  readonly permissions: MacPermissions;
  readonly detector: CommitDetector;
  readonly feed: EventFeed;
  readonly publisher: { publishPending(): void };
  readonly idempotency: IdempotencyStore;
  readonly details: (message: Message) => MessageDetails | undefined;
}

function attachmentRulesOf({ send, backend, dir }: Config): AttachmentRules {
  return { roots: send.attachmentRoots, chatDbPath: backend.chatDbPath, configDir: dir };
}

/** Creates the sender, which drives Messages and then looks for the sent rows in chat.db. */
export function openSender(parts: SenderParts): Sender {
  const { config, host, awake, state, connection, permissions, detector, feed, publisher, idempotency, details } =
    parts;
  const { log } = host;
  return new Sender({
    messages: osascript({
      path: config.backend.osascriptPath,
      clock: awake,
      onAnswer: (tookMs) => permissions.noteAnswer(tookMs),
    }),
    isAsking: () => permissions.isAsking(),
    lookup: chatSendLookup(connection),
    idempotency,
    sentParts: sentPartStore(state),
    details,
    clock: awake,
    log,
    confirmMs: config.send.confirmMs,
    attachments: attachmentRulesOf(config),
    published: (rowId) => untilPublished(rowId, { feed, clock: awake, publish: () => publisher.publishPending() }),
    onChange: (look) => detector.onCommit(look),
    ...(host.platform === 'darwin' && {
      stagingFolder: join(host.homeFolder, 'Library/Messages/Attachments/Postern'),
    }),
  });
}

interface SchedulingParts extends Pick<SenderParts, 'config' | 'host' | 'state' | 'connection'> {
  readonly idempotency: SchedulingStore;
  readonly sender: Sender;
  readonly uploads: () => { readonly bytes: number };
  readonly access: () => LazyAccess;
}

/** Opens the scheduler, and the store for copies of the files that scheduled and held sends attach. */
export function openScheduler({ config, host, state, connection, uploads, access, ...parts }: SchedulingParts) {
  const { clock, log } = host;
  const files = new HeldCopies({ rules: attachmentRulesOf(config), log });
  const scheduler = new SendScheduler({
    ...parts,
    otherBytes: () => uploads().bytes + (access().loaded?.heldBytes() ?? 0),
    admit: (entry) => access().admitScheduled(entry),
    onEnd: (entry, outcome) => access().loaded?.noteScheduled(entry, outcome),
    store: scheduledStore(state),
    sentParts: sentPartStore(state),
    files,
    onPhone: () => scheduledOnPhone(connection),
    // The wall clock, not the one that stops during sleep: scheduled sends are due at a time of day.
    clock,
    log,
  });
  return { files, scheduler };
}
