import type { AccessParts } from '../access/limited-access.ts';
import type { Config } from '../config/config.ts';
import type { Caller } from '../domain/caller.ts';
import type { MessageReader } from '../domain/ports/reading-ports.ts';
import type { IdempotencyStore } from '../domain/ports/sending-ports.ts';
import type { Connection } from '../mac/chatdb/connection.ts';
import { MessagesDirectory } from '../mac/chatdb/lookups.ts';
import { chatDbOwner } from '../mac/chatdb/owner.ts';
import { namedReader } from '../mac/contacts/named-reader.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { approvalStore } from '../store/state/approvals-store.ts';
import { auditStore } from '../store/state/audit-store.ts';
import { keyStore } from '../store/state/keys-store.ts';
import { selfChatStore } from '../store/state/self-chat-store.ts';
import type { Host } from './host.ts';
import { LazySubscriptions } from './lazy-subscriptions.ts';

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
    | 'onKeyChange'
    | 'selfAddress'
  > {
  readonly config: Config;
  readonly host: Host;
  readonly state: Sqlite;
  readonly connection: Connection;
  readonly idempotency: IdempotencyStore;
  /** Reads messages without the contacts' names, which `named` adds. */
  readonly messages: MessageReader;
  readonly callerOf: (keyId: string) => Caller | undefined;
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
    stores: {
      keys: keyStore(state),
      approvals: approvalStore(state, () => parts.deferral.openIds()),
      audit: auditStore(state),
      idempotency,
      selfChat: selfChatStore(state),
    },
    directory: new MessagesDirectory(connection),
    named: namedReader,
    subscriptions: new LazySubscriptions({ ...parts, feed: () => parts.owner().feed }),
    attachmentRoots: config.send.attachmentRoots,
    hasTapbacks: config.approval.selfAddress !== '',
    ownerInChatDb: chatDbOwner(connection),
  };
}
