import type { Conversation } from '../../domain/conversation.ts';
import { splitId } from '../../domain/fleet.ts';
import type { IncludeSet } from '../../domain/include.ts';
import type { Message } from '../../domain/message.ts';
import type { Log } from '../../domain/ports/host.ts';
import type { ConversationQuery, MessageQuery, MessageReader, Page, ReadOptions } from '../../domain/ports/reading.ts';
import { problem } from '../../domain/problems.ts';
import { behind, cursorBehind, readCursor } from './fleet-cursor.ts';
import type { MacReads } from './mac-reads.ts';
import type { Macs } from './macs.ts';
import { type MacList, merged } from './merge.ts';
import { qualifiedConversation, qualifiedMessage } from './qualified.ts';

/** Beyond these, each Mac would have to give as many as are skipped. */
const MAX_OFFSET = 1000;
/** Conversations have no cursor, so more of them can be skipped. */
const MAX_CONVERSATION_OFFSET = 10_000;
const PAGE = 200;
const NOTHING = { items: [] };

export interface HubReaderParts {
  readonly macs: Macs;
  readonly reads: MacReads;
  readonly log: Log;
}

/** Reads of one Mac by its id, and lists over all of them, merged (decision N1). */
export class HubReader implements MessageReader {
  readonly #parts: HubReaderParts;

  constructor(parts: HubReaderParts) {
    this.#parts = parts;
  }

  async listMessages(query: MessageQuery): Promise<Page<Message>> {
    assertHere(query.include);
    if (query.conversationId === undefined) return this.#allMessages(query);
    const of = this.#split(query.conversationId);
    if (of === undefined) return NOTHING;
    const page = await this.#parts.reads.messages(of.mac, { ...query, conversationId: of.id });
    return { ...page, items: page.items.map((message) => qualifiedMessage(of.mac, message)) };
  }

  async message(id: string, { include }: ReadOptions = {}): Promise<Message | undefined> {
    assertHere(include);
    const of = this.#split(id);
    const message = of && (await this.#parts.reads.message(of.mac, of.id, include));
    return of && message && qualifiedMessage(of.mac, message);
  }

  async listConversations({ limit, offset, include }: ConversationQuery): Promise<Page<Conversation>> {
    assertHere(include);
    if (offset > MAX_CONVERSATION_OFFSET) throw problem('offset_too_deep', { max: MAX_CONVERSATION_OFFSET });
    const { reads, log } = this.#parts;
    const pageSize = Math.min(offset + limit, PAGE);
    const { lists, away } = this.#lists((mac) => async (place = '0') => {
      const { items } = await reads.conversations(mac, { limit: pageSize, offset: Number(place) }, include);
      return { items, next: items.length < pageSize ? undefined : String(Number(place) + pageSize) };
    });
    const all = await merged<Conversation>(lists, offset + limit, newestConversation, log);
    return {
      items: all.items.slice(offset).map(({ mac, item }) => qualifiedConversation(mac, item)),
      ...missingOf(away, all.missing),
    };
  }

  async conversation(id: string, { include }: ReadOptions = {}): Promise<Conversation | undefined> {
    assertHere(include);
    const of = this.#split(id);
    const conversation = of && (await this.#parts.reads.conversation(of.mac, of.id, include));
    return of && conversation && qualifiedConversation(of.mac, conversation);
  }

  async #allMessages(query: MessageQuery): Promise<Page<Message>> {
    const { reads, log } = this.#parts;
    const { limit, order } = query;
    const cursor = query.cursor === undefined ? undefined : readCursor(query.cursor);
    const offset = cursor === undefined ? query.offset : 0;
    if (offset > MAX_OFFSET) throw problem('offset_too_deep', { max: MAX_OFFSET });
    const pageSize = Math.min(offset + limit, PAGE);
    const { lists, away } = this.#lists((mac) => {
      const first = cursor === undefined ? { ...query, offset: 0 } : behind(cursor, mac, query);
      return (place) => reads.messages(mac, { ...first, limit: pageSize, cursor: place });
    });
    const compare = order === 'desc' ? newestMessage : oldestMessage;
    const all = await merged<Message>(lists, offset + limit, compare, log);
    const items = all.items.slice(offset).map(({ mac, item }) => qualifiedMessage(mac, item));
    const next = all.hasMore ? cursorBehind(all.items, cursor) : undefined;
    return { items, ...(next !== undefined && { next }), ...missingOf(away, all.missing) };
  }

  /** A list for each Mac that is not known to be away. */
  #lists<Item>(loadOf: (mac: string) => MacList<Item>['load']) {
    const { macs } = this.#parts;
    const known = macs.all();
    const away = known.filter((mac) => macs.isAway(mac)).map(({ mac }) => mac);
    const lists = known
      .filter(({ mac }) => !away.includes(mac))
      .map(({ mac }): MacList<Item> => ({ mac, load: loadOf(mac) }));
    return { lists, away };
  }

  /** undefined for what no Mac of the fleet can have. */
  #split(id: string) {
    const of = splitId(id);
    return of !== undefined && this.#parts.reads.isKnown(of.mac) ? of : undefined;
  }
}

/** Names of people are not at a hub (decision N2). */
function assertHere(include: IncludeSet | undefined): void {
  if (include?.has('contacts') === true) throw problem('not_at_a_hub');
}

function missingOf(away: readonly string[], missing: readonly string[]): { readonly missing?: readonly string[] } {
  const all = [...away, ...missing].sort();
  return all.length === 0 ? {} : { missing: all };
}

function newestMessage(a: Message, b: Message): number {
  return compare(b.timestamp, a.timestamp);
}

function oldestMessage(a: Message, b: Message): number {
  return compare(a.timestamp, b.timestamp);
}

function newestConversation(a: Conversation, b: Conversation): number {
  return compare(b.last_message_at, a.last_message_at);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
