import type { Conversation } from '../../domain/conversation.ts';
import { nameOfOne, splitId } from '../../domain/fleet.ts';
import { type IncludeSet, includeSet } from '../../domain/include.ts';
import type { Message, MessageStatus } from '../../domain/message.ts';
import type { Log } from '../../domain/ports/host.ts';
import type { ConversationQuery, MessageQuery, MessageReader, Page, ReadOptions } from '../../domain/ports/reading.ts';
import { problem } from '../../domain/problems.ts';
import { behind, cursorBehind, readCursor } from './fleet-cursor.ts';
import type { MacReads, ReadPlace } from './mac-reads.ts';
import type { Macs } from './macs.ts';
import { type MacList, merged } from './merge.ts';
import { qualifiedConversation, qualifiedMessage } from './qualified.ts';

/** Beyond these, each Mac would have to give as many as are skipped. */
const MAX_OFFSET = 1000;
/** Conversations have no cursor, so more of them can be skipped. */
const MAX_CONVERSATION_OFFSET = 10_000;
const PAGE = 200;
const NOTHING = { items: [] };
/** How far a message has come. */
const RANK: Readonly<Record<MessageStatus, number>> = { pending: 0, failed: 1, sent: 2, delivered: 3, read: 4 };

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
    if (query.conversationId === undefined) return this.#merged(query);
    const of = this.#split(query.conversationId);
    if (of === undefined) return NOTHING;
    // A Mac's own cursor means nothing to the other Mac of a pair.
    if (this.#parts.macs.nameOf(of.mac).isPair) return this.#merged({ ...query, conversationId: of.id }, of.mac);
    const page = await this.#parts.reads.messages(of.mac, { ...query, conversationId: of.id });
    return { ...page, items: page.items.map((message) => qualifiedMessage(nameOfOne(of.mac), message)) };
  }

  async message(id: string, { include }: ReadOptions = {}): Promise<Message | undefined> {
    assertHere(include);
    const { macs, reads } = this.#parts;
    const of = this.#split(id);
    if (of === undefined) return undefined;
    const places = reads.placesOf(of);
    // Details say which of two Macs knows the later state.
    const asked = places.length > 1 ? includeSet([...(include ?? []), 'details']) : include;
    const ask = async (place: ReadPlace): Promise<Message | undefined> => {
      const message = await reads.message(place.mac, place.id, asked);
      return message && qualifiedMessage(macs.nameOf(place.mac), message);
    };
    const [one, other] = await Promise.all([reads.first(places, ask), this.#second(places, ask)]);
    const message = one && other ? mergedMessage(one, other) : one;
    return message && asked !== include && include?.has('details') !== true
      ? { ...message, details: undefined }
      : message;
  }

  async listConversations({ limit, offset, include }: ConversationQuery): Promise<Page<Conversation>> {
    assertHere(include);
    if (offset > MAX_CONVERSATION_OFFSET) throw problem('offset_too_deep', { max: MAX_CONVERSATION_OFFSET });
    const { macs, reads, log } = this.#parts;
    const pageSize = Math.min(offset + limit, PAGE);
    const { lists, away } = this.#lists(async (mac, _member, place = '0') => {
      const { items } = await reads.conversations(mac, { limit: pageSize, offset: Number(place) }, include);
      const next = items.length < pageSize ? undefined : String(Number(place) + pageSize);
      return { items: items.map((item) => qualifiedConversation(macs.nameOf(mac), item)), next };
    });
    const all = await merged<Conversation>(lists, offset + limit, newestConversation, log);
    return {
      items: all.items.slice(offset).map(({ item }) => item),
      ...missingOf(away, all.missing),
    };
  }

  async conversation(id: string, { include }: ReadOptions = {}): Promise<Conversation | undefined> {
    assertHere(include);
    const { macs, reads } = this.#parts;
    const of = this.#split(id);
    return of === undefined
      ? undefined
      : reads.first(reads.placesOf(of), async ({ mac, id: own }) => {
          const conversation = await reads.conversation(mac, own, include);
          return conversation && qualifiedConversation(macs.nameOf(mac), conversation);
        });
  }

  /** What the second Mac of a pair shows; undefined where there is none, or it cannot be asked. */
  async #second(
    [, second]: readonly ReadPlace[],
    ask: (place: ReadPlace) => Promise<Message | undefined>,
  ): Promise<Message | undefined> {
    return second && ask(second).catch(() => undefined);
  }

  /** Messages of all members, or of one. */
  async #merged(query: MessageQuery, only?: string): Promise<Page<Message>> {
    const { macs, reads, log } = this.#parts;
    const { limit, order } = query;
    const cursor = query.cursor === undefined ? undefined : readCursor(query.cursor);
    const offset = cursor === undefined ? query.offset : 0;
    if (offset > MAX_OFFSET) throw problem('offset_too_deep', { max: MAX_OFFSET });
    const pageSize = Math.min(offset + limit, PAGE);
    const { lists, away } = this.#lists(async (mac, member, place) => {
      const first = cursor === undefined ? { ...query, offset: 0 } : behind(cursor, member, query);
      const { items, next } = await reads.messages(mac, { ...first, limit: pageSize, cursor: place });
      return { items: items.map((item) => qualifiedMessage(macs.nameOf(mac), item)), next };
    }, only);
    const compare = order === 'desc' ? newestMessage : oldestMessage;
    const all = await merged<Message>(lists, offset + limit, compare, log);
    if (only !== undefined && away.length + all.missing.length > 0) throw problem('mac_away', { mac: only });
    const items = all.items.slice(offset).map(({ item }) => item);
    const next = all.hasMore ? cursorBehind(all.items, cursor) : undefined;
    return { items, ...(next !== undefined && { next }), ...missingOf(away, all.missing) };
  }

  /** A list for each member that is not known to be away, or for one. */
  #lists<Item>(
    load: (mac: string, member: string, place?: string) => ReturnType<MacList<Item>['load']>,
    only?: string,
  ) {
    const { macs, reads } = this.#parts;
    const wanted = only === undefined ? undefined : macs.nameOf(only).member;
    const members = macs.members().filter(({ id }) => wanted === undefined || id === wanted);
    const away = members.filter((member) => macs.isMemberAway(member)).map(({ id }) => id);
    const lists = members
      .filter(({ id }) => !away.includes(id))
      .map(({ id }): MacList<Item> => {
        // Further pages of one answer come from the same Mac.
        let chosen = '';
        const loadFirst = async (): ReturnType<MacList<Item>['load']> => {
          let page: Awaited<ReturnType<MacList<Item>['load']>> | undefined;
          const ask = async ({ mac }: ReadPlace): Promise<true | undefined> => {
            page = await load(mac, id);
            chosen = mac;
            return page.items.length > 0 || undefined;
          };
          await reads.first(reads.placesOf({ mac: id, id: '' }), ask).catch((error: unknown) => {
            if (page === undefined) throw error;
          });
          return page ?? { items: [] };
        };
        return { mac: id, load: (place) => (place === undefined ? loadFirst() : load(chosen, id, place)) };
      });
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

/** A message as both Macs of a pair know it: the later edit, and everything that either has seen happen to it. */
function mergedMessage(one: Message, other: Message): Message {
  const changedAt = ({ details }: Message): string => later(details?.edited_at, details?.retracted_at) ?? '';
  const [newer, older] = changedAt(other) > changedAt(one) ? [other, one] : [one, other];
  const status = RANK[older.status] > RANK[newer.status] ? older.status : newer.status;
  if (newer.details === undefined || older.details === undefined) return { ...newer, status };
  const { delivered_at, read_at } = newer.details;
  return {
    ...newer,
    status,
    details: {
      ...newer.details,
      delivered_at: delivered_at ?? older.details.delivered_at,
      read_at: read_at ?? older.details.read_at,
    },
  };
}

function later(one?: string | null, other?: string | null): string | undefined {
  return [one, other]
    .filter((instant) => typeof instant === 'string')
    .sort()
    .at(-1);
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
