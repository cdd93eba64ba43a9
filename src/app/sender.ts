import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { MessageDetails } from '../domain/details.ts';
import type { Message } from '../domain/message.ts';
import type { EventFeed } from '../domain/ports/feed.ts';
import type { Clock } from '../domain/ports/host.ts';
import type { IdempotencyStore } from '../domain/ports/sending.ts';
import { untilPublished } from '../events/log/published.ts';
import type { ChangeDetector } from '../mac/chatdb/change-detector.ts';
import type { Connection } from '../mac/chatdb/connection.ts';
import { ChatSendLookup } from '../mac/chatdb/lookups.ts';
import type { AttachmentRules } from '../mac/sender/attachments.ts';
import { osascript } from '../mac/sender/osascript.ts';
import { Sender } from '../mac/sender/sender.ts';
import type { MacPermissions } from '../mac/system/permissions.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { sentPartStore } from '../store/state/sent-parts.ts';
import type { Host } from './host.ts';

interface SenderParts {
  readonly config: Config;
  readonly host: Host;
  /** Stands still while the Mac sleeps, so that a running script keeps its time. */
  readonly awake: Clock;
  readonly state: Sqlite;
  readonly connection: Connection;
  readonly permissions: MacPermissions;
  readonly detector: ChangeDetector;
  readonly feed: EventFeed;
  readonly publisher: { publishPending(): void };
  readonly idempotency: IdempotencyStore;
  readonly details: (message: Message) => MessageDetails | undefined;
}

export function attachmentRulesOf({ send, backend, dir }: Config): AttachmentRules {
  return { roots: send.attachmentRoots, chatDbPath: backend.chatDbPath, configDir: dir };
}

/** Connects sending through Messages with the search for the sent rows in chat.db. */
export function openSender(parts: SenderParts): Sender {
  const { config, host, awake, state, connection, permissions, detector, feed, publisher, idempotency, details } =
    parts;
  const { log } = host;
  return new Sender({
    messages: osascript({ path: config.backend.osascriptPath, clock: awake }),
    isAsking: () => permissions.isAsking(),
    lookup: new ChatSendLookup(connection),
    idempotency,
    sentParts: sentPartStore(state),
    details,
    clock: awake,
    log,
    confirmMs: config.send.confirmMs,
    attachments: attachmentRulesOf(config),
    published: (rowId) => untilPublished(rowId, { feed, clock: awake, publish: () => publisher.publishPending() }),
    onChange: (look) => detector.onChange(look),
    ...(host.platform === 'darwin' && {
      stagingFolder: join(host.homeFolder, 'Library/Messages/Attachments/Postern'),
    }),
  });
}
