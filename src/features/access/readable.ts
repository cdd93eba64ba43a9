import { idsOf } from '../../core/model/destination.ts';
import type { LogEntry } from '../../core/model/event.ts';
import type { AccessList } from '../../core/model/key.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import { mayRead } from './policy.ts';

/** The conversations a key may read. Cached until chat.db or the key's list changes. */
export class ReadableChats {
  readonly #list: () => AccessList;
  readonly #directory: ChatDirectory;
  readonly #hasClosed: boolean;
  readonly #known = new Map<string, boolean>();
  #guids: readonly string[] | undefined;
  #set: { readonly guids: readonly string[]; readonly ids: ReadonlySet<string> } | undefined;
  #listed: AccessList | undefined;
  #version: unknown;

  /** `hasClosed` is true if the directory may contain closed conversations, which even the list `*` does not open. */
  constructor(list: () => AccessList, directory: ChatDirectory, hasClosed = false) {
    this.#list = list;
    this.#directory = directory;
    this.#hasClosed = hasClosed;
  }

  /** Reports whether the key may read everything. */
  get isEverything(): boolean {
    return this.isUnlisted && !this.#hasClosed;
  }

  /** Reports whether the list is `*`, which names no conversations and allows all that are not closed. */
  get isUnlisted(): boolean {
    return this.#list() === '*';
  }

  /**
   * Reports whether the key may read a conversation now. Items without a conversation (`""`) are readable only if the
   * key may read everything: Messages stores a row before it joins the row to its chat, which may be a closed one.
   */
  has(guid: string): boolean {
    return this.all([guid]);
  }

  /** Reports whether the key may read all of these conversations. */
  all(guids: readonly string[]): boolean {
    if (this.isEverything) return true;
    this.#refresh();
    return guids.every((guid) => this.#isReadable(guid));
  }

  /** Keeps the items whose conversation the key may read. */
  filter<Item>(items: readonly Item[], guidOf: (item: Item) => string): readonly Item[] {
    if (this.isEverything) return items;
    this.#refresh();
    return items.filter((item) => this.#isReadable(guidOf(item)));
  }

  /** Keeps the rows of which the key may read every conversation that they are in (decision AB1). */
  rows<Item>(
    items: readonly Item[],
    rowOf: (item: Item) => { readonly id: string; readonly conversation_id: string },
  ): readonly Item[] {
    if (this.isEverything) return items;
    const found = items.filter((item) => this.all([rowOf(item).conversation_id]) || this.#isUnplaced(rowOf(item)));
    if (found.length === 0) return found;
    const chats = this.#directory.chatsOfRows(found.map((item) => Number(rowOf(item).id)).filter(Number.isSafeInteger));
    return found.filter((item) => {
      const ofRow = chats.get(Number(rowOf(item).id)) ?? [];
      return this.all(ofRow) && (ofRow.length > 0 || !this.#isUnplaced(rowOf(item)));
    });
  }

  /** Reports whether a row had no chat when it was read. Messages may have joined it to one since. */
  #isUnplaced({ conversation_id: id }: { readonly conversation_id: string }): boolean {
    return id === '' && this.isUnlisted;
  }

  /**
   * Reports whether the key may see an event. A `messages.changed` event is always allowed, because it names rows and
   * no people.
   */
  admits({ event }: LogEntry): boolean {
    if (this.isEverything || event.type === 'messages.changed') return true;
    // The event of a removed row whose chat is unknown names nobody and has no text.
    if (event.type === 'message.removed' && event.data.conversation_id === '') return this.isUnlisted;
    return 'conversation_id' in event.data && this.rows([event.data], (data) => data).length > 0;
  }

  /** Reports whether the key may read the message with this id. */
  hasMessage(id: string): boolean {
    const conversation = this.isEverything ? '' : (this.#directory.conversationOf(Number(id)) ?? '');
    return this.rows([{ id, conversation_id: conversation }], (row) => row).length > 0;
  }

  /** Returns the ids of all readable conversations. Returns none for the list `*`, so check `isUnlisted` first. */
  guids(): readonly string[] {
    this.#refresh();
    const list = this.#list();
    if (this.#guids !== undefined || list === '*') return this.#guids ?? [];
    const chats = list.flatMap((entry) =>
      'address' in entry ? this.#directory.withMember(entry.address) : this.#directory.meant(entry.group),
    );
    this.#guids = [...new Set(chats.filter((chat) => mayRead(list, chat)).flatMap(idsOf))];
    return this.#guids;
  }

  /** Returns the ids of the conversations that even the list `*` does not open. */
  closed(): readonly string[] {
    return this.#directory.closed().flatMap(idsOf);
  }

  /** Keeps the ids of the conversations that the key may read. Fit for many ids. */
  ids(all: readonly string[]): readonly string[] {
    if (this.isUnlisted) return this.filter(all, (id) => id);
    const guids = this.guids();
    if (this.#set?.guids !== guids) this.#set = { guids, ids: new Set(guids) };
    const { ids } = this.#set;
    return all.filter((id) => ids.has(id));
  }

  #isReadable(guid: string): boolean {
    const known = this.#known.get(guid);
    if (known !== undefined) return known;
    const chat = guid === '' ? undefined : this.#directory.chat(guid);
    const isReadable = chat === undefined ? guid !== '' && this.isUnlisted : mayRead(this.#list(), chat);
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
