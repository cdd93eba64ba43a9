import type { Core } from '../../core/core.ts';
import { addedPeople, addedRules } from '../../core/details-part.ts';
import { shownToKeys } from '../../core/feature.ts';
import { mayCallBack } from '../../core/model/callback-hosts.ts';
import type { Caller, EventView, MacCaller } from '../../core/model/caller.ts';
import type { LogEntry } from '../../core/model/event.ts';
import type { Message } from '../../core/model/message.ts';
import { namedReader } from '../../core/model/named-reader.ts';
import type { Reach } from '../../core/model/port.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { RowFeed } from '../../core/model/ports/feed-ports.ts';
import type { CallerSender } from '../../core/model/ports/sending-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { Audit } from './audit.ts';
import { limitedFeed } from './limited-feed.ts';
import type { LimitedKey } from './limited-key.ts';
import { isListedAddress, limitedNames } from './limited-names.ts';
import { limitedAttachments, limitedReader } from './limited-reader.ts';
import { limitedWebhooks } from './limited-webhooks.ts';
import { narrowed } from './narrowing.ts';
import { ReadableChats } from './readable.ts';
import { sendRight } from './rights.ts';
import { type ShownRows, shownRows } from './shown-messages.ts';
import { statusRules } from './shown-status.ts';

/** The parts of this feature that every caller uses. */
export interface CallerParts {
  readonly directory: ChatDirectory;
  /** True if the directory may contain closed conversations. */
  readonly hasClosed: boolean;
  readonly audit: Audit;
  /** Returns what sends for a key. `shown` returns a message as the key sees it. */
  readonly senderOf: (key: LimitedKey, shown: (message: Message) => Message) => CallerSender;
}

type NarrowedCore = Pick<Core, 'owner' | 'messages' | 'json' | 'uploads' | 'ownListeners' | 'ports' | 'host'>;

/** The callers of limited keys: each has the owner's ports, restricted to what its key may use. */
export class KeyCallers {
  readonly #core: NarrowedCore;
  readonly #parts: CallerParts;
  readonly #shown: ShownRows;
  readonly #made = new WeakMap<LimitedKey, Caller>();

  constructor(core: NarrowedCore, parts: CallerParts) {
    this.#core = core;
    this.#parts = parts;
    this.#shown = shownRows(addedRules(core.host.features));
  }

  /** Returns the caller of a key: always the same one. */
  of(key: LimitedKey): Caller {
    const caller = this.#made.get(key) ?? this.#make(key);
    this.#made.set(key, caller);
    return caller;
  }

  #make(key: LimitedKey): Caller {
    const core = this.#core;
    const shown = this.#shown;
    const { directory, hasClosed, audit, senderOf } = this.#parts;
    const { owner } = core;
    const { clock } = core.host;
    const { id } = key.stored;
    const chats = new ReadableChats(() => key.stored.read, directory, hasClosed);
    const naming = limitedNames(owner.naming, () => key.stored);
    const onRead = (ids: ReadonlySet<string>): void => audit.noteRead(id, 'read', ids);
    const limited = limitedReader({ reader: core.messages, directory, chats, onRead, shown });
    const reader = namedReader(limited, naming, addedPeople(core.host.features));
    const view: EventView = {
      get names() {
        return naming.names;
      },
      details: (details) => narrowed(details, shown.messageDetails, chats),
      reactionDetails: (details) => narrowed(details, shown.reactionDetails, chats),
    };
    const reach = reachOf(key, { chats, audit, shown });
    const assertAlive = (): void => {
      if (!key.isAlive(clock.now())) throw problem('limited_key_refused');
    };
    const webhooks = limitedWebhooks(core, chats, reach, assertAlive);
    return {
      get key() {
        return key.stored;
      },
      reader,
      attachments: limitedAttachments(owner.attachments, reader),
      feed: this.#feed(owner, key, chats),
      json: (entry, include) => core.json(entry, include, view),
      sender: senderOf(key, (message) => narrowed(message, shown.message, chats)),
      uploads: core.uploads.of(id),
      webhooks,
      naming,
      port: (wanted) => core.ports.narrowed(wanted, reach),
      async status() {
        const status = await owner.status();
        const own = new Set(webhooks.list().map((one) => one.id));
        return { ...narrowed(status, statusRules(own), chats), ...shownToKeys(status, core.host.features) };
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

  #feed(owner: MacCaller, key: LimitedKey, chats: ReadableChats): RowFeed {
    const { clock } = this.#core.host;
    const { audit } = this.#parts;
    const admits = (entry: LogEntry): boolean => {
      const isAdmitted = key.isAlive(clock.now()) && chats.admits(entry);
      if (isAdmitted && 'conversation_id' in entry.event.data) {
        audit.noteRead(key.stored.id, 'event', [entry.event.data.conversation_id]);
      }
      return isAdmitted;
    };
    return limitedFeed(owner.feed, admits, () => key.stored);
  }
}

interface ReachParts {
  readonly chats: ReadableChats;
  /** Records what the key reads through the ports. */
  readonly audit: Audit;
  readonly shown: ShownRows;
}

/** Returns the reach of a key, by which features narrow their ports. */
function reachOf(key: LimitedKey, { chats, audit, shown }: ReachParts): Reach {
  const keyId = key.stored.id;
  return {
    keyId,
    has: (scope) => key.stored.scopes.includes(scope),
    mayRead(row) {
      const readable = chats.rows([row], (one) => one);
      audit.noteRead(keyId, 'read', new Set(readable.map((one) => one.conversation_id)));
      return readable.length > 0;
    },
    mayCallBack: (url) => mayCallBack(key.stored.callback_hosts, url),
    noteCallback: (target, outcome) => audit.note({ keyId, action: 'webhook', target, outcome }),
    lists: (address) => isListedAddress(key.stored, address),
    readable: (ids) => chats.ids(ids),
    conversations: () => (chats.isUnlisted ? undefined : chats.guids()),
    closed: () => chats.closed(),
    read(messages) {
      const readable = chats.rows(messages, (message) => message);
      audit.noteRead(keyId, 'read', new Set(readable.map((message) => message.conversation_id)));
      return new Map(readable.map((message) => [message, narrowed(message, shown.message, chats)]));
    },
  };
}
