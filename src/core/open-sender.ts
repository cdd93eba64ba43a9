import { join } from 'node:path';
import type { Connection } from './chatdb/connection.ts';
import { chatSendLookup } from './chatdb/lookups.ts';
import type { Config } from './config/config.ts';
import type { Host } from './host.ts';
import { untilPublished } from './log/published.ts';
import type { MacPermissions } from './mac/mac-permissions.ts';
import type { MessageDetails } from './model/details.ts';
import type { Message } from './model/message.ts';
import type { RowFeed } from './model/ports/feed-ports.ts';
import type { Clock, Log } from './model/ports/host-ports.ts';
import type { IdempotencyStore } from './model/ports/sending-ports.ts';
import type { AttachmentRules } from './sender/checked-attachments.ts';
import { KeptCopies } from './sender/kept-files.ts';
import { osascript } from './sender/osascript.ts';
import { Sender } from './sender/sender.ts';
import type { SentRows } from './sender/sent-rows.ts';

interface OpenSenderParts {
  readonly config: Config;
  readonly host: Host;
  /** A clock that stops while the Mac sleeps, so that sleep does not use up the time limit of a running script. */
  readonly awake: Clock;
  readonly connection: Connection;
  readonly permissions: MacPermissions;
  readonly feed: RowFeed;
  readonly publisher: { publishPending(): void };
  readonly idempotency: IdempotencyStore;
  readonly sentRows: SentRows;
  readonly details: (message: Message) => Promise<MessageDetails | undefined>;
}

function attachmentRulesOf({ send, backend, dir }: Config): AttachmentRules {
  return { roots: send.attachmentRoots, chatDbPath: backend.chatDbPath, configDir: dir };
}

/** Creates the sender, which drives Messages and then looks for the sent rows in chat.db. */
export function openSender(parts: OpenSenderParts): Sender {
  const { config, host, awake, connection, permissions, feed, publisher, idempotency, sentRows: rows, details } = parts;
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
    rows,
    details,
    clock: awake,
    log,
    attachments: attachmentRulesOf(config),
    published: (rowId) => untilPublished(rowId, { feed, clock: awake, publish: () => publisher.publishPending() }),
    ...(host.platform === 'darwin' && {
      stagingFolder: join(host.homeFolder, 'Library/Messages/Attachments/Postern'),
    }),
  });
}

/** Opens the store for copies of the files that held and deferred sends attach. */
export function openKeptFiles(config: Config, log: Log): KeptCopies {
  return new KeptCopies({ rules: attachmentRulesOf(config), log });
}
