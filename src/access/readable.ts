import type { MessageDetails } from '../domain/details.ts';
import type { LogEntry } from '../domain/event.ts';
import type { AccessList } from '../domain/key.ts';
import type { ChatDirectory } from '../domain/ports/access.ts';
import { mayRead } from './policy.ts';

/** Which conversations are there for a key. Found again after each commit to chat.db and each change of the list. */
export class ReadableChats {
  readonly #list: () => AccessList;
  readonly #directory: ChatDirectory;
  readonly #hasClosed: boolean;
  readonly #known = new Map<string, boolean>();
  #guids: readonly string[] | undefined;
  #listed: AccessList | undefined;
  #version: unknown;

  /** `hasClosed`: there may be a conversation that no list opens. */
  constructor(list: () => AccessList, directory: ChatDirectory, hasClosed = false) {
    this.#list = list;
    this.#directory = directory;
    this.#hasClosed = hasClosed;
  }

  /** True when nothing is kept from the key. */
  get isEverything(): boolean {
    return this.isUnlisted && !this.#hasClosed;
  }

  /** True when the list is `*`, so that there is nothing to look up by it. */
  get isUnlisted(): boolean {
    return this.#list() === '*';
  }

  /** Whether a conversation is there now. What belongs to none is there only for a key that may read everything. */
  has(guid: string): boolean {
    return this.all([guid]);
  }

  /** The same for several at once. */
  all(guids: readonly string[]): boolean {
    if (this.isEverything) return true;
    this.#refresh();
    return guids.every((guid) => this.#isReadable(guid));
  }

  /** Those of the items whose conversation is there. */
  filter<Item>(items: readonly Item[], guidOf: (item: Item) => string): readonly Item[] {
    if (this.isEverything) return items;
    this.#refresh();
    return items.filter((item) => this.#isReadable(guidOf(item)));
  }

  /** Whether an event is there. A summary of many changes is: it says which rows to read again, and not of whom. */
  admits({ event }: LogEntry): boolean {
    if (this.isEverything || event.type === 'messages.changed') return true;
    return 'conversation_id' in event.data && this.has(event.data.conversation_id);
  }

  /** Details without a quoted message or reactions of a conversation that is not there. */
  withoutOthers(details: MessageDetails): MessageDetails {
    if (this.isEverything) return details;
    const { reply_to: quoted } = details;
    const isQuotedThere = quoted !== null && this.has(this.#directory.conversationOf(Number(quoted.id)) ?? '');
    return {
      ...details,
      reply_to: isQuotedThere ? quoted : null,
      reactions: this.filter(details.reactions, (reaction) => reaction.conversation_id),
    };
  }

  /** Exact ids of all that are there, for a list that names some. */
  guids(): readonly string[] {
    this.#refresh();
    const list = this.#list();
    if (this.#guids !== undefined || list === '*') return this.#guids ?? [];
    const chats = list.flatMap((entry) =>
      'address' in entry ? this.#directory.withMember(entry.address) : this.#directory.meant(entry.group),
    );
    this.#guids = [...new Set(chats.filter((chat) => mayRead(list, chat)).map(({ guid }) => guid))];
    return this.#guids;
  }

  #isReadable(guid: string): boolean {
    const known = this.#known.get(guid);
    if (known !== undefined) return known;
    const chat = guid === '' ? undefined : this.#directory.chat(guid);
    const isReadable = chat === undefined ? this.isUnlisted : mayRead(this.#list(), chat);
    this.#known.set(guid, isReadable);
    return isReadable;
  }

  #refresh(): void {
    const version = this.#directory.version();
    const list = this.#list();
    if (version === this.#version && list === this.#listed) return;
    this.#version = version;
    this.#listed = list;
    this.#known.clear();
    this.#guids = undefined;
  }
}
