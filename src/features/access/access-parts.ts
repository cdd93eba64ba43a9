import type { Connection } from '../../core/chatdb/connection.ts';
import { MessagesDirectory } from '../../core/chatdb/lookups.ts';
import type { Config } from '../../core/config/config.ts';
import type { Host } from '../../core/host.ts';
import type { MessageReader } from '../../core/model/ports/reading-ports.ts';
import type { IdempotencyStore } from '../../core/model/ports/sending-ports.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import type { AccessParts } from './limited-access.ts';
import { chatDbOwner } from './owner-in-chatdb.ts';
import { approvalStore } from './state/approvals-store.ts';
import { auditStore } from './state/audit-store.ts';
import { keyStore } from './state/keys-store.ts';
import { selfChatStore } from './state/self-chat-store.ts';

interface LimitedAccessParts
  extends Pick<
    AccessParts,
    | 'owner'
    | 'json'
    | 'sender'
    | 'deferral'
    | 'ports'
    | 'files'
    | 'uploads'
    | 'ownListeners'
    | 'guests'
    | 'selfAddress'
    | 'hasTapbacks'
  > {
  readonly config: Config;
  readonly host: Host;
  readonly state: Sqlite;
  readonly connection: Connection;
  readonly idempotency: IdempotencyStore;
  /** Reads messages without the names of people. */
  readonly messages: MessageReader;
}

/** Creates the modules that only limited keys need. Loaded with the first key. */
export function accessParts(parts: LimitedAccessParts): AccessParts {
  const { config, host, state, connection, idempotency, messages: reader, ...others } = parts;
  const { clock, log } = host;
  return {
    ...others,
    reader,
    clock,
    log,
    features: host.features,
    stores: {
      keys: keyStore(state),
      approvals: approvalStore(state, () => parts.deferral.openIds()),
      audit: auditStore(state),
      idempotency,
      selfChat: selfChatStore(state),
    },
    directory: new MessagesDirectory(connection),
    attachmentRoots: config.send.attachmentRoots,
    ownerInChatDb: chatDbOwner(connection),
  };
}
