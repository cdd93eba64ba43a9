import { randomBytes } from 'node:crypto';
import { addedPeople, addedRules } from '../../core/details-part.ts';
import { type Feature, shownToKeys } from '../../core/feature.ts';
import { mayCallBack } from '../../core/model/callback-hosts.ts';
import type { Caller, EventView, MacCaller } from '../../core/model/caller.ts';
import type { LogEntry } from '../../core/model/event.ts';
import type { Guests } from '../../core/model/guests.ts';
import type { IncludeSet } from '../../core/model/include.ts';
import type { Key, KeyRevocation } from '../../core/model/key.ts';
import { namedReader } from '../../core/model/named-reader.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { Ports } from '../../core/model/port.ts';
import type { Deferral, DueSend } from '../../core/model/ports/deferral-ports.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { Clock, Log } from '../../core/model/ports/host-ports.ts';
import type { MessageReader } from '../../core/model/ports/reading-ports.ts';
import type { CallerSender, HeldFiles, IdempotencyStore, MessageSender } from '../../core/model/ports/sending-ports.ts';
import type { Uploads } from '../../core/model/ports/uploads-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { OwnListeners } from '../../core/runtime/own-listeners.ts';
import { type ApprovalDesk, approvalDesk } from './approval-desk.ts';
import { Audit } from './audit.ts';
import { callerApprovals } from './caller-approvals.ts';
import { remaining } from './caps.ts';
import { deferredCheck } from './deferred-rights.ts';
import { KeyRing } from './key-ring.ts';
import { limitedFeed } from './limited-feed.ts';
import type { LimitedKey } from './limited-key.ts';
import { limitedNames } from './limited-names.ts';
import { limitedAttachments, limitedReader } from './limited-reader.ts';
import { limitedSender } from './limited-sender.ts';
import { limitedWebhooks } from './limited-webhooks.ts';
import { narrowed } from './narrowing.ts';
import type { OwnerInChatDb } from './owner-in-chatdb.ts';
import { ownerSender } from './owner-sender.ts';
import type { AccessService, ApprovalStore, Approvals, AuditStore, KeyStore } from './ports.ts';
import { accessProblem } from './problems.ts';
import { reachOf } from './reach.ts';
import { ReadableChats } from './readable.ts';
import { assertStillAllowed, isNewRecipient, sendRight } from './rights.ts';
import { type SelfChat, selfChatClosed, selfChatOf } from './self-chat.ts';
import type { SelfChatStore } from './self-chat-ports.ts';
import { type ShownRows, shownRows, statusRules } from './shown-members.ts';
import { tapbacks } from './tapbacks.ts';

export interface AccessStores {
  readonly keys: KeyStore;
  readonly approvals: ApprovalStore;
  readonly audit: AuditStore;
  readonly idempotency: IdempotencyStore;
  readonly selfChat: SelfChatStore;
}

/** The uploads of each key. */
export interface KeyUploads {
  readonly bytes: number;
  of(keyId: string): Uploads;
  removeOf(keyId: string): Promise<void>;
}

export interface AccessParts {
  readonly stores: AccessStores;
  readonly directory: ChatDirectory;
  /** Returns the owner's caller. Limited keys get the same ports, restricted to what each key may use. */
  readonly owner: () => MacCaller;
  /** The message reader that adds no names of people. */
  readonly reader: MessageReader;
  /** Serialises an event as far as a limited key may see it. */
  readonly json: (entry: LogEntry, include: IncludeSet, view: EventView) => string | Promise<string>;
  readonly sender: MessageSender;
  readonly deferral: Deferral;
  readonly features: readonly Feature[];
  /** The ports that features add to callers. */
  readonly ports: Ports;
  readonly files: HeldFiles;
  readonly uploads: KeyUploads;
  readonly ownListeners: OwnListeners;
  readonly attachmentRoots: readonly string[];
  /** The configured address of the owner's conversation with themselves; "" for none. */
  readonly selfAddress: string;
  /** True if the owner decides about held sends by tapback in the self-chat. */
  readonly hasTapbacks: boolean;
  readonly ownerInChatDb: OwnerInChatDb;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells others that a key has changed or ended. */
  readonly guests: Pick<Guests, 'noteChange'>;
}

/** Limited keys and everything done under them. */
export class LimitedAccess implements AccessService {
  readonly keys: KeyRing;
  readonly audit: Audit;
  /** The owner's view of the held sends. */
  readonly approvals: Approvals;
  /** The owner's sender. After the first limited key has been created, it also writes the audit log. */
  readonly owner: CallerSender;
  readonly #parts: AccessParts;
  readonly selfChat: SelfChat;
  readonly #desk: ApprovalDesk;
  readonly #tapbacks: ReturnType<typeof tapbacks>;
  readonly #callers = new WeakMap<LimitedKey, Caller>();
  readonly #shown: ShownRows;

  constructor(given: AccessParts) {
    const { stores, clock, selfAddress, hasTapbacks } = given;
    const directory = hasTapbacks ? selfChatClosed(given.directory, selfAddress) : given.directory;
    const parts = { ...given, directory };
    this.#parts = parts;
    this.#shown = shownRows(addedRules(given.features));
    const secret = stores.keys.secret('audit', () => randomBytes(32).toString('hex'));
    this.audit = new Audit(stores.audit, clock, secret, given.log);
    this.#desk = approvalDesk({
      ...parts,
      store: stores.approvals,
      idempotency: stores.idempotency,
      audit: this.audit,
      uploadedBytes: () => parts.uploads.bytes + parts.deferral.heldBytes(),
      check: (keyId, to, members) => assertStillAllowed(parts, this.keys.withId(keyId), to, members),
      onHeld: (approval) => this.#tapbacks.ask(approval),
    });
    this.keys = new KeyRing({
      store: stores.keys,
      directory,
      clock,
      note: (action, target, outcome) => this.audit.note({ keyId: 'owner', action, target, outcome }),
      remaining: (key) => remaining(stores.audit, key, clock.now()),
      onChange: (key, before) => this.#onKeyChange(key, before),
    });
    const { sender, ownerInChatDb: owner } = given;
    this.selfChat = selfChatOf({
      address: selfAddress,
      hasTapbacks,
      store: stores.selfChat,
      directory: given.directory,
      owner,
      sender,
      clock,
      onProved: (proof) => {
        this.#tapbacks.onProved(proof);
        this.audit.note({ keyId: OWNER, action: 'approval', target: proof.chat, outcome: 'self_chat_proved' });
      },
    });
    this.#tapbacks = tapbacks({
      ...parts,
      selfChat: this.selfChat,
      store: stores.selfChat,
      desk: this.#desk,
      owner,
      feed: () => parts.owner().feed,
      audit: this.audit,
      keyName: (id) => this.keys.withId(id)?.stored.name ?? id,
    });
    this.approvals = callerApprovals(this.#desk, clock, undefined, (to) => isNewRecipient(directory, to));
    this.owner = ownerSender({ ...parts, audit: () => (stores.keys.hasAny() ? this.audit : undefined) });
  }

  /** Returns the held sends that a key may see. Throws `key_not_found`. */
  approvalsOf(keyId: string): Approvals {
    const key = this.keys.withId(keyId);
    if (key === undefined) throw accessProblem('key_not_found');
    const { directory, clock } = this.#parts;
    return callerApprovals(this.#desk, clock, key, (to) => isNewRecipient(directory, to));
  }

  /** Returns the number of sends that wait for a decision. */
  heldCount(): number {
    return this.#desk.held().length;
  }

  heldBytes(): number {
    return this.#parts.stores.approvals.heldBytes();
  }

  /** Continues approved sends and tapbacks after a restart. Called once all other parts are running. */
  async start(): Promise<void> {
    await this.#desk.resume();
    this.#tapbacks.start();
  }

  /** Returns the caller with this key; undefined if the key is unknown, wrong, expired or revoked. */
  find(secret: string): Caller | undefined {
    const key = this.keys.find(secret);
    return key && this.#callerOf(key);
  }

  /** Returns the caller of a key by the key's id; undefined if the key has expired or was revoked. */
  callerOf(keyId: string): Caller | undefined {
    const key = this.keys.withId(keyId);
    return key?.isAlive(this.#parts.clock.now()) === true ? this.#callerOf(key) : undefined;
  }

  /** Returns the check that runs just before a limited key's deferred send, and throws if the send is forbidden. */
  admitDue(entry: DueSend): () => void {
    const { stores } = this.#parts;
    const parts = { ...this.#parts, audit: this.audit, auditStore: stores.audit };
    return deferredCheck(parts, this.keys.withId(entry.key_id), entry);
  }

  /** Records how a deferred send ended. */
  noteDeferred({ key_id: keyId, to: target, text }: DueSend, outcome: string): void {
    if (!this.#parts.stores.keys.hasAny()) return;
    if (outcome === 'cancelled') this.audit.noteScheduling(keyId, outcome, target);
    else this.audit.noteEnd({ keyId, action: 'schedule', target, outcome, textHmac: this.audit.hmac(text ?? '') });
  }

  async close(): Promise<void> {
    this.keys.close();
    await Promise.all([this.#tapbacks.close(), this.#desk.close()]);
    this.audit.close();
  }

  #onKeyChange(key: LimitedKey, before: Key = key.stored): Omit<KeyRevocation, 'id'> {
    const { id, callback_hosts: hosts } = key.stored;
    const isRevoked = this.keys.withId(id) === undefined;
    const ended = {
      approvals_voided: isRevoked ? this.#desk.voidAll(id) : 0,
      scheduled_cancelled: isRevoked ? this.#parts.deferral.cancelAll(id) : 0,
    };
    if (isRevoked) void this.#parts.uploads.removeOf(id);
    const { webhooks } = this.#parts.owner();
    for (const webhook of webhooks.list().filter(({ keyId }) => keyId === id)) {
      // Keeps a webhook whose host was forbidden to the key even before this change, because the owner chose that host.
      const isForbidden = mayCallBack(before.callback_hosts, webhook.url) && !mayCallBack(hosts, webhook.url);
      if (isForbidden) this.audit.note({ keyId: OWNER, action: 'webhook', target: webhook.id, outcome: 'removed' });
      if (isRevoked || isForbidden) void webhooks.remove(webhook.id);
    }
    const isAlive = key.isAlive(this.#parts.clock.now());
    this.#parts.guests.noteChange({ keyId: id, isAlive, mayCallBack: (url) => mayCallBack(hosts, url) });
    return ended;
  }

  #callerOf(key: LimitedKey): Caller {
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const made = this.#makeCaller(key);
    this.#callers.set(key, made);
    return made;
  }

  #makeCaller(key: LimitedKey): Caller {
    const { stores, directory, clock, reader: plain, json, ports, features } = this.#parts;
    const { audit } = this;
    const shown = this.#shown;
    const owner = this.#parts.owner();
    const { id } = key.stored;
    const chats = new ReadableChats(() => key.stored.read, directory, this.#parts.hasTapbacks);
    const naming = limitedNames(owner.naming, () => key.stored);
    const onRead = (ids: ReadonlySet<string>): void => audit.noteRead(id, 'read', ids);
    const reader = namedReader(
      limitedReader({ reader: plain, directory, chats, onRead, shown }),
      naming,
      addedPeople(features),
    );
    const view: EventView = {
      get names() {
        return naming.names;
      },
      details: (details) => narrowed(details, shown.messageDetails, chats),
      reactionDetails: (details) => narrowed(details, shown.reactionDetails, chats),
    };
    const reach = reachOf(key, { chats, audit, shown });
    const { idempotency, audit: auditStore } = stores;
    const { ownListeners } = this.#parts;
    const hosts = () => key.stored.callback_hosts;
    const note = (target: string, outcome: string): void => reach.noteCallback(target, outcome);
    const assertAlive = (): void => assertStillAlive(key, clock);
    const callbacks = { ownListeners, hosts, assertAlive, note };
    const webhooks = limitedWebhooks({ ...callbacks, webhooks: owner.webhooks, keyId: id, chats, clock });
    return {
      get key() {
        return key.stored;
      },
      reader,
      attachments: limitedAttachments(owner.attachments, reader),
      feed: limitedFeed(
        owner.feed,
        (entry) => {
          const isAdmitted = key.isAlive(clock.now()) && chats.admits(entry);
          if (isAdmitted && 'conversation_id' in entry.event.data) {
            audit.noteRead(id, 'event', [entry.event.data.conversation_id]);
          }
          return isAdmitted;
        },
        () => key.stored,
      ),
      json: (entry, include) => json(entry, include, view),
      sender: limitedSender(key, {
        ...this.#parts,
        approvals: this.#desk,
        chats,
        audit,
        auditStore,
        idempotency,
        shown,
      }),
      uploads: this.#parts.uploads.of(id),
      webhooks,
      naming,
      port: (wanted) => ports.narrowed(wanted, reach),
      async status() {
        const status = await owner.status();
        const own = new Set(webhooks.list().map((one) => one.id));
        return { ...narrowed(status, statusRules(own), chats), ...shownToKeys(status, features) };
      },
      canSend: (recipient) => sendRight(directory, key, recipient),
      streams: { open: () => key.openStream() },
      onRefused: (code) => audit.noteRefusal(id, code),
      assertAlive,
      onEnd(run) {
        if (key.isAlive(clock.now())) return key.onEnd(run);
        run();
        return () => {};
      },
    };
  }
}

function assertStillAlive(key: LimitedKey, clock: Clock): void {
  if (!key.isAlive(clock.now())) throw problem('limited_key_refused');
}
