import { randomBytes } from 'node:crypto';
import type { KeyDetails, KeyRevocation } from '../../client/key-types.ts';
import { MessagesDirectory } from '../../core/chatdb/public.ts';
import { mayCallBack } from '../../core/model/callback-hosts.ts';
import type { Caller } from '../../core/model/caller.ts';
import type { GuestBook } from '../../core/model/guests.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { DueSend } from '../../core/model/ports/deferral-ports.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { CallerSender } from '../../core/model/ports/sending-ports.ts';
import type { SelfChatService } from '../self-chat/port.ts';
import type { AccessCore } from './access-core.ts';
import { assertAllowedFiles } from './allowed-files.ts';
import { AllowedSends } from './allowed-sends.ts';
import { ApprovalDesk } from './approval-desk.ts';
import { Asks } from './asks.ts';
import { Audit } from './audit.ts';
import { callerApprovals } from './caller-approvals.ts';
import { remaining } from './caps.ts';
import { selfChatClosed } from './closed-self-chat.ts';
import { deferredCheck } from './deferred-rights.ts';
import { HeldQuestions } from './held-questions.ts';
import { KeyCallers } from './key-callers.ts';
import { KeyRing } from './key-ring.ts';
import type { LimitedKey } from './limited-key.ts';
import { LimitedSender } from './limited-sender.ts';
import { ownerSender } from './owner-sender.ts';
import type { Approvals, KeyStore } from './ports.ts';
import { accessProblem } from './problems.ts';
import { assertStillAllowed, isNewRecipient } from './rights.ts';
import { approvalStore } from './state/approvals-store.ts';
import { auditStore } from './state/audit-store.ts';
import { keyStore } from './state/keys-store.ts';

/** Limited keys and everything done under them. */
export class LimitedAccess implements GuestBook {
  readonly keys: KeyRing;
  readonly audit: Audit;
  /** The owner's sender. After the first limited key has been created, it also writes the audit log. */
  readonly owner: CallerSender;
  readonly #core: AccessCore;
  readonly #selfChat: SelfChatService;
  readonly #keyStore: KeyStore;
  readonly #directory: ChatDirectory;
  readonly #desk: ApprovalDesk;
  readonly #callers: KeyCallers;
  readonly #questions: HeldQuestions;

  constructor(core: AccessCore, selfChat: SelfChatService) {
    const { state, connection, deferrals } = core;
    const { clock, log } = core.host;
    const { address } = selfChat.tapbacks;
    this.#core = core;
    this.#selfChat = selfChat;
    this.#keyStore = keyStore(state);
    const all = new MessagesDirectory(connection);
    const directory = address === '' ? all : selfChatClosed(all, address);
    this.#directory = directory;
    const secret = this.#keyStore.secret('audit', () => randomBytes(32).toString('hex'));
    const audit = new Audit(auditStore(state), clock, secret, log);
    this.audit = audit;
    this.#desk = new ApprovalDesk(core, {
      store: approvalStore(state, () => deferrals.openIds()),
      audit,
      check: (keyId, to, members) => assertStillAllowed({ directory, clock }, this.keys.withId(keyId), to, members),
      onHeld: (approval) => selfChat.tapbacks.ask(this.#questions.about(approval)),
    });
    this.keys = new KeyRing({
      store: this.#keyStore,
      directory,
      clock,
      note: (action, target, outcome) => audit.note({ keyId: OWNER, action, target, outcome }),
      remaining: (key) => remaining(audit, key, clock.now()),
      onChange: (key, before) => this.#onKeyChange(key, before),
    });
    this.#questions = new HeldQuestions(this.#desk, audit, log, (id) => this.keys.withId(id)?.stored.name ?? id);
    const asks = new Asks(audit, core.idempotency, clock);
    const { config, messages, sender } = core;
    const sending = { directory, clock, audit, desk: this.#desk, asks };
    this.#callers = new KeyCallers(core, {
      directory,
      hasClosed: address !== '',
      audit,
      senderOf: (key, shown) =>
        new LimitedSender(key, {
          ...sending,
          sends: new AllowedSends(key, { sender, deferrals, directory, clock, messages, shown }),
          assertFiles: (paths) => assertAllowedFiles(paths, config.send.attachmentRoots, sender),
        }),
    });
    this.owner = ownerSender(core, directory, () => (this.hasKeys() ? audit : undefined));
    selfChat.chat.onProved((chat) =>
      audit.note({ keyId: OWNER, action: 'approval', target: chat, outcome: 'self_chat_proved' }),
    );
  }

  /** Reports whether a limited key has ever existed. */
  hasKeys(): boolean {
    return this.#keyStore.hasAny();
  }

  /** Returns the held sends that a key may see, or all for the owner. Throws `key_not_found`. */
  approvalsOf(keyId: string): Approvals {
    const key = keyId === OWNER ? undefined : this.keys.withId(keyId);
    if (key === undefined && keyId !== OWNER) throw accessProblem('key_not_found');
    return callerApprovals(this.#desk, this.#core.host.clock, key, (to) => isNewRecipient(this.#directory, to));
  }

  heldSends(): number | undefined {
    return this.hasKeys() ? this.#desk.held().length : undefined;
  }

  keptBytes(): number {
    return this.#desk.keptBytes();
  }

  /** Continues approved sends and tapbacks after a restart. Called once all other parts are running. */
  async start(): Promise<void> {
    if (this.hasKeys()) await this.#desk.resume();
    this.#selfChat.tapbacks.start(this.#questions);
  }

  find(secret: string): Caller | undefined {
    const key = this.keys.find(secret);
    return key && this.#callers.of(key);
  }

  callerOf(keyId: string): Caller | undefined {
    const key = this.keys.withId(keyId);
    return key?.isAlive(this.#core.host.clock.now()) === true ? this.#callers.of(key) : undefined;
  }

  admitDue(entry: DueSend): () => void {
    if (entry.key_id === OWNER) return () => {};
    const parts = { directory: this.#directory, clock: this.#core.host.clock, audit: this.audit };
    return deferredCheck(parts, this.keys.withId(entry.key_id), entry);
  }

  noteDeferred({ key_id: keyId, to: target, text }: DueSend, outcome: string): void {
    if (!this.hasKeys()) return;
    if (outcome === 'cancelled') this.audit.noteScheduling(keyId, outcome, target);
    else this.audit.noteEnd({ keyId, action: 'schedule', target, outcome, textHmac: this.audit.hmac(text ?? '') });
  }

  async close(): Promise<void> {
    this.keys.close();
    await Promise.all([this.#selfChat.tapbacks.close(), this.#desk.close()]);
    this.audit.close();
  }

  #onKeyChange(key: LimitedKey, before: KeyDetails = key.stored): Omit<KeyRevocation, 'id'> {
    const { deferrals, uploads, owner, guests, host } = this.#core;
    const { id, callback_hosts: hosts } = key.stored;
    const isRevoked = this.keys.withId(id) === undefined;
    const ended = {
      approvals_voided: isRevoked ? this.#desk.voidAll(id) : 0,
      scheduled_cancelled: isRevoked ? deferrals.cancelAll(id) : 0,
    };
    if (isRevoked) void uploads.removeOf(id);
    const { webhooks } = owner;
    for (const webhook of webhooks.list().filter(({ keyId }) => keyId === id)) {
      // Keeps a webhook whose host was forbidden to the key even before this change, because the owner chose that host.
      const isForbidden = mayCallBack(before.callback_hosts, webhook.url) && !mayCallBack(hosts, webhook.url);
      if (isForbidden) this.audit.note({ keyId: OWNER, action: 'webhook', target: webhook.id, outcome: 'removed' });
      if (isRevoked || isForbidden) void webhooks.remove(webhook.id);
    }
    const isAlive = key.isAlive(host.clock.now());
    guests.noteChange({ keyId: id, isAlive, mayCallBack: (url) => mayCallBack(hosts, url) });
    return ended;
  }
}
