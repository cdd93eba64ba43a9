import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Approval } from '../../src/client/access-types.ts';
import { Connection } from '../../src/core/chatdb/connection.ts';
import { chatSendLookup, MessagesDirectory } from '../../src/core/chatdb/lookups.ts';
import { ChatLog } from '../../src/core/chatdb/message-log.ts';
import { ChatReader } from '../../src/core/chatdb/reader.ts';
import type { Core } from '../../src/core/core.ts';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { Publisher } from '../../src/core/log/publisher.ts';
import type { Caller, MacCaller } from '../../src/core/model/caller.ts';
import { isAppError } from '../../src/core/model/errors.ts';
import { Guests } from '../../src/core/model/guests.ts';
import { OWNER } from '../../src/core/model/owner.ts';
import { Ports } from '../../src/core/model/port.ts';
import { Deferrals } from '../../src/core/model/ports/deferral-ports.ts';
import type { CallerSender, SendAnswer, SendRequest } from '../../src/core/model/ports/sending-ports.ts';
import { OwnListeners } from '../../src/core/runtime/own-listeners.ts';
import { UPLOADS } from '../../src/core/sender/checked-attachments.ts';
import { KeptCopies } from '../../src/core/sender/kept-files.ts';
import type { Sender } from '../../src/core/sender/sender.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { idempotencyStore } from '../../src/core/state/idempotency-store.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { UploadStore } from '../../src/core/state/upload-store.ts';
import type { LimitedAccess } from '../../src/features/access/limited-access.ts';
import { limitedAccess } from '../../src/features/access/open.ts';
import { ownerSender } from '../../src/features/access/owner-sender.ts';
import { APPROVALS, type CallersApprovals } from '../../src/features/access/port.ts';
import type { Approvals, NewKey } from '../../src/features/access/ports.ts';
import { FEATURES } from '../../src/features/list.ts';
import { scheduledOnPhone } from '../../src/features/scheduled/on-phone.ts';
import { SCHEDULED } from '../../src/features/scheduled/port.ts';
import type { ScheduledSends } from '../../src/features/scheduled/ports.ts';
import { type RunParts, ScheduledRun } from '../../src/features/scheduled/run.ts';
import { allScheduled, SendScheduler } from '../../src/features/scheduled/scheduler.ts';
import { scheduledStore } from '../../src/features/scheduled/store.ts';
import { selfChat } from '../../src/features/self-chat/feature.ts';
import { chatDbOwner } from '../../src/features/self-chat/owner-in-chatdb.ts';
import { SelfChat } from '../../src/features/self-chat/self-chat.ts';
import { selfChatStore } from '../../src/features/self-chat/store.ts';
import { Tapbacks } from '../../src/features/self-chat/tapbacks.ts';
import { appleNs, ChatFixture } from './chat-fixture.ts';
import { plainJson } from './event-json.ts';
import { FakeClock } from './fake-clock.ts';
import { InMemoryMessages } from './in-memory-messages.ts';
import { collectingLog } from './log.ts';
import { newSender } from './new-sender.ts';

export const ANA = '+15550100';
export const BEN = '+15550101';
export const GARDEN = 'any;+;chat77';
export const ME = 'me@example.com';
export const SELF_CHAT = `any;-;${ME}`;

interface AccessSendingOptions {
  readonly roots?: readonly string[];
  readonly chats?: ChatFixture;
  readonly clock?: FakeClock;
  readonly selfAddress?: string;
}

/** Limited keys, the real sender and a real chat.db in one process, with a fake clock. */
export class AccessSending {
  readonly clock: FakeClock;
  readonly chats: ChatFixture;
  readonly messages = new InMemoryMessages();
  readonly log = collectingLog();
  readonly state;
  readonly sender: Sender;
  readonly uploads: UploadStore;
  readonly files: KeptCopies;
  /** Reads the rows of scheduled sends. */
  readonly lookup: ReturnType<typeof chatSendLookup>;
  readonly scheduler: SendScheduler;
  readonly scheduled: ScheduledSends;
  readonly access: LimitedAccess;
  readonly selfChat: SelfChat;
  readonly owner: Pick<Caller, 'sender'>;
  /** The owner's sender that also writes the audit log. */
  readonly ownerSender: CallerSender;
  readonly publisher: Publisher;
  readonly guests = new Guests();
  readonly #connection: Connection;
  readonly #folder: string;
  readonly #options: AccessSendingOptions;

  constructor(folder: string, options: AccessSendingOptions = {}) {
    this.#folder = folder;
    this.#options = options;
    const { roots = [], chats, clock, selfAddress = '' } = options;
    const configDir = join(folder, 'config');
    mkdirSync(configDir, { recursive: true });
    this.clock = clock ?? new FakeClock();
    this.chats = chats ?? seeded(join(folder, 'chat.db'));
    this.#connection = new Connection({ path: this.chats.path, home: folder, log: this.log });
    this.state = openStateDatabase(join(configDir, 'state.db'), FEATURES);
    const idempotency = idempotencyStore(this.state);
    const rules = { roots, chatDbPath: this.chats.path, configDir };
    const reader = new ChatReader(this.#connection);
    this.messages.behave = ({ recipient, chatId, content }) => {
      const guid = chatId ?? `any;-;${recipient}`;
      const known = this.chats.sqlite.prepare('SELECT ROWID FROM chat WHERE guid = ?').get(guid)?.[0];
      const chat = known === undefined ? this.chats.chat(guid, [recipient]) : Number(known);
      const text = 'body' in content ? content.body : '';
      const date = appleNs(new Date(this.clock.now()).toISOString());
      const message = this.chats.message({ chat, is_from_me: 1, text, date, account: `E:${ME}` });
      if ('attachment' in content) this.chats.attach(message, content.attachment);
      return { kind: 'done' };
    };
    ({ sender: this.sender } = newSender({
      messages: this.messages,
      lookup: chatSendLookup(this.#connection),
      idempotency,
      sentParts: sentPartStore(this.state),
      clock: this.clock,
      log: this.log,
      confirmMs: 1000,
      attachments: rules,
    }));
    this.uploads = new UploadStore({
      folder: join(configDir, UPLOADS),
      clock: this.clock,
      log: this.log,
      keptBytes: () => [...this.access.keptBytes(), ...this.scheduler.keptBytes()],
    });
    this.files = new KeptCopies({ rules, log: this.log });
    const { files } = this;
    const store = scheduledStore(this.state);
    const guests: RunParts['guests'] = {
      admitDue: (entry) => this.access.admitDue(entry),
      noteDeferred: (entry, outcome) => this.access.noteDeferred(entry, outcome),
    };
    const scheduling = { store, files, sender: this.sender, guests, clock: this.clock, log: this.log };
    this.lookup = chatSendLookup(this.#connection);
    const { lookup } = this;
    const run = new ScheduledRun({ ...scheduling, sentParts: sentPartStore(this.state), lookup });
    this.scheduler = new SendScheduler({ ...scheduling, idempotency, uploads: this.uploads }, run);
    const ports = new Ports();
    this.scheduled = allScheduled(this.scheduler, store, () => scheduledOnPhone(this.#connection));
    ports.provide(SCHEDULED, this.scheduled);
    const channel = new Channel();
    const messages = new ChatLog(this.#connection);
    const parts = { messages, channel, clock: this.clock, log: this.log };
    this.publisher = new Publisher({ ...parts, cursor: cursorStore(this.state, [selfChat]) });
    this.publisher.start();
    const feed = new Feed(parts);
    const directory = new MessagesDirectory(this.#connection);
    const { sender } = this;
    const inChat = {
      store: selfChatStore(this.state),
      directory,
      owner: chatDbOwner(this.#connection),
      sender,
      feed,
      clock: this.clock,
      log: this.log,
    };
    this.selfChat = new SelfChat(inChat, selfAddress);
    const deferrals = new Deferrals();
    deferrals.takenBy(this.scheduler);
    // Only what access uses.
    const core = {
      state: this.state,
      connection: this.#connection,
      idempotency,
      config: { send: { attachmentRoots: roots } },
      host: { clock: this.clock, log: this.log, features: [] },
      // Nothing here reads through the owner's other ports.
      owner: { webhooks: { list: () => [] } } as unknown as MacCaller,
      messages: reader,
      json: plainJson(),
      sender,
      deferrals,
      keptFiles: files,
      uploads: this.uploads,
      ownListeners: new OwnListeners({ addresses: () => [] }),
      ports,
      guests: this.guests,
    } as unknown as Core;
    this.owner = { sender: ownerSender(core, directory, () => undefined) };
    const tapbacks = new Tapbacks(inChat, this.selfChat, selfAddress);
    const { access, owner } = limitedAccess(core, { chat: this.selfChat, tapbacks });
    this.ownerSender = owner;
    const approvals = (keyId: string): CallersApprovals => ({
      get own() {
        return access.approvalsOf(keyId);
      },
      ofKey: approvals,
    });
    ports.provide(APPROVALS, approvals(OWNER));
    this.access = access;
  }

  /** The held sends, as the owner sees them. */
  get approvals(): Approvals {
    return this.access.approvalsOf(OWNER);
  }

  /** Returns a caller with a new key that may send to Ana. */
  caller(key: Partial<NewKey['settings']> & { readonly scopes?: NewKey['scopes'] } = {}): Caller {
    const { scopes = ['send'], ...settings } = key;
    const made = this.access.keys.add({
      name: 'test',
      scopes,
      settings: { send: [ANA], approval: 'never', ...settings },
    });
    const caller = this.access.find(made.key);
    if (caller === undefined) throw new Error('the key is not known');
    return caller;
  }

  send({ sender }: Pick<Caller, 'sender'>, request: Partial<SendRequest> = {}): Promise<SendAnswer> {
    return sender.send({ recipient: ANA, body: 'hello', attachments: [], ...request });
  }

  async hold(caller: Caller, request: Partial<SendRequest> = {}): Promise<Approval & { readonly shown: string }> {
    const answer = await this.send(caller, request);
    if (answer.kind !== 'deferred') throw new Error(`It was ${answer.kind}.`);
    return (await this.approvals.get(answer.deferred.id, 0)) as Approval & { readonly shown: string };
  }

  /** Approves a held send as it was shown. */
  approve({ id, shown }: { readonly id: string; readonly shown: string }): Promise<unknown> {
    return this.approvals.approve(id, shown);
  }

  async stateOf(approval: string): Promise<Approval['state']> {
    return (await this.approvals.get(approval, 0)).state;
  }

  /** Publishes new rows of chat.db, and waits for everything that follows. */
  async publish(): Promise<void> {
    this.publisher.publishPending();
    await this.clock.advance(0);
  }

  /** Returns the texts that Messages was given. */
  texts(): readonly string[] {
    return this.messages.runs.map(({ content }) => ('body' in content ? content.body : content.attachment));
  }

  /** Closes the service, and returns the service after a restart: over the same files, with `changed` options. */
  async restarted(changed: AccessSendingOptions = {}): Promise<AccessSending> {
    const { chats, clock } = this;
    await this.close();
    return new AccessSending(this.#folder, { ...this.#options, chats, clock, ...changed });
  }

  async close(): Promise<void> {
    await this.access.close();
    await this.publisher.close();
    this.#connection.close();
    this.state.close();
  }
}

/** Returns the code of the error that `work` throws. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'none';
  } catch (error) {
    if (isAppError(error)) return error.code;
    throw error;
  }
}

function seeded(path: string): ChatFixture {
  const chats = new ChatFixture(path);
  for (const [guid, people] of [
    [`any;-;${ANA}`, [ANA]],
    [`any;-;${BEN}`, [BEN]],
    [GARDEN, [ANA, BEN]],
  ] as const) {
    const chat = chats.chat(guid, people);
    chats.message({ chat, text: 'earlier', handle_id: chats.handle(people[0]) });
  }
  return chats;
}

/** Returns the held sends that a caller may see. */
export function approvalsOf(caller: Caller): Approvals {
  return caller.port(APPROVALS).own;
}
