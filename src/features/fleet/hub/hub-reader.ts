import type { Conversation } from '../../../core/model/conversation.ts';
import { nameOfOne, splitId } from '../../../core/model/fleet.ts';
import { type IncludeSet, includeSet } from '../../../core/model/include.ts';
import type { Message } from '../../../core/model/message.ts';
import type {
  ConversationQuery,
  MessageQuery,
  MessageReader,
  Page,
  ReadOptions,
} from '../../../core/model/ports/reading-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import { behind, cursorBehind, readCursor } from './fleet-cursor.ts';
import type { HubParts } from './hub-parts.ts';
import type { ReadPlace } from './mac-reads.ts';
import { type MacList, merged } from './merge.ts';
import { STATUS_RANK } from './pair-changes.ts';
import { qualifiedConversation, qualifiedMessage } from './qualified.ts';

/** Maximum offset in a list of messages. Each Mac must supply as many messages as the offset skips. */
const MAX_OFFSET = 1000;
/**
 * Maximum offset in a list of conversations. It is larger than `MAX_OFFSET`, because lists of conversations have no
 * cursor for later pages.
 */
const MAX_CONVERSATION_OFFSET = 10_000;
const PAGE = 200;
const NOTHING = { items: [] };

/** Reads from one Mac by id, and merges the lists of all Macs (decision N1). */
export class HubReader implements MessageReader {
  readonly #parts: HubParts;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  async listMessages(query: MessageQuery): Promise<Page<Message>> {
    assertHere(query.include);
    if (query.conversationId === undefined) return this.#merged(query);
    const of = this.#split(query.conversationId);
    if (of === undefined) return NOTHING;
    // The messages of a pair are merged, because a cursor of one Mac has no meaning for the other Mac.
    if (this.#parts.macs.nameOf(of.mac).isPair) return this.#merged({ ...query, conversationId: of.id }, of.mac);
    const { items, next } = await this.#page(of.mac, { ...query, conversationId: of.id });
    return { items: items.map((message) => qualifiedMessage(nameOfOne(of.mac), message)), ...(next && { next }) };
  }

  async message(id: string, { include }: ReadOptions = {}): Promise<Message | undefined> {
    assertHere(include);
    const { macs, reads } = this.#parts;
    const of = this.#split(id);
    if (of === undefined) return undefined;
    const places = reads.placesOf(of);
    // If two Macs can answer, asks both for details, because only details reveal which Mac knows the later state.
    const asked = places.length > 1 ? includeSet([...(include ?? []), 'details']) : include;
    const ask = async (place: ReadPlace): Promise<Message | null> => {
      const message = await reads.ask(place.mac, 'message', { id: place.id, include: includeNames(asked) });
      return message && qualifiedMessage(macs.nameOf(place.mac), message);
    };
    // If the second Mac fails, the answer of the first is enough.
    const [, second] = places;
    const [one, other] = await Promise.all([reads.first(places, ask), second && ask(second).catch(() => undefined)]);
    const message = one && other ? mergedMessage(one, other) : one;
    if (message !== undefined && this.#parts.pairChanges.isDeleted(of.mac, message.guid)) return undefined;
    return message && asked !== include && include?.has('details') !== true
      ? { ...message, details: undefined }
      : message;
  }

  async listConversations({ q, limit, offset, cursor, include }: ConversationQuery): Promise<Page<Conversation>> {
    assertHere(include);
    if (cursor !== undefined || q !== undefined) throw problem('not_at_a_hub');
    if (offset > MAX_CONVERSATION_OFFSET) throw problem('offset_too_deep', { max: MAX_CONVERSATION_OFFSET });
    const { macs, reads, log } = this.#parts;
    const pageSize = Math.min(offset + limit, PAGE);
    const { lists, away } = this.#lists(async (mac, _member, place = '0') => {
      const request = { limit: pageSize, offset: Number(place), include: includeNames(include) };
      const { items } = await reads.ask(mac, 'listConversations', request);
      const next = items.length < pageSize ? undefined : String(Number(place) + pageSize);
      return { items: items.map((item) => qualifiedConversation(macs.nameOf(mac), item)), next };
    });
    const byTime = (a: Conversation, b: Conversation) => compare(b.last_message_at, a.last_message_at);
    const all = await merged(lists, offset + limit, byTime, log);
    return { items: all.items.slice(offset).map(({ item }) => item), ...missingOf(away, all.missing) };
  }

  async conversation(id: string, { include }: ReadOptions = {}): Promise<Conversation | undefined> {
    assertHere(include);
    const { macs, reads } = this.#parts;
    const of = this.#split(id);
    return of === undefined
      ? undefined
      : reads.first(reads.placesOf(of), async ({ mac, id: own }) => {
          const conversation = await reads.ask(mac, 'conversation', { id: own, include: includeNames(include) });
          return conversation && qualifiedConversation(macs.nameOf(mac), conversation);
        });
  }

  chats(): never {
    throw problem('not_at_a_hub');
  }

  marks(): never {
    throw problem('not_at_a_hub');
  }

  #page(mac: string, { include, sinceNs, beforeNs, conversationIds: _, ...query }: MessageQuery) {
    const times = { sinceNs: sinceNs?.toString(), beforeNs: beforeNs?.toString() };
    return this.#parts.reads.ask(mac, 'listMessages', { ...query, ...times, include: includeNames(include) });
  }

  /** Returns a page of the messages of all members, merged by time. `only` selects one member: a Mac or a pair. */
  async #merged(query: MessageQuery, only?: string): Promise<Page<Message>> {
    const { macs, log } = this.#parts;
    const { limit, order } = query;
    const cursor = query.cursor === undefined ? undefined : readCursor(query.cursor);
    const offset = cursor === undefined ? query.offset : 0;
    if (offset > MAX_OFFSET) throw problem('offset_too_deep', { max: MAX_OFFSET });
    const pageSize = Math.min(offset + limit, PAGE);
    const { lists, away } = this.#lists(async (mac, member, place) => {
      const first = cursor === undefined ? { ...query, offset: 0 } : behind(cursor, member, query);
      const { items, next } = await this.#page(mac, { ...first, limit: pageSize, cursor: place });
      return { items: items.map((item) => qualifiedMessage(macs.nameOf(mac), item)), next };
    }, only);
    const sign = order === 'desc' ? -1 : 1;
    const byTime = (a: Message, b: Message) => sign * compare(a.timestamp, b.timestamp);
    const all = await merged(lists, offset + limit, byTime, log);
    if (only !== undefined && away.length + all.missing.length > 0) throw problem('mac_away', { mac: only });
    const found = all.items.slice(offset).map(({ item }) => item);
    const items = found.filter(({ mac = '', guid }) => !this.#parts.pairChanges.isDeleted(mac, guid));
    const next = all.hasMore ? cursorBehind(all.items, cursor) : undefined;
    return { items, ...(next !== undefined && { next }), ...missingOf(away, all.missing) };
  }

  /**
   * Returns a list for each member (a Mac or a pair) that is present, and the ids of members that are away. `only`
   * selects one member.
   */
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
        // The Mac that supplied the first page also supplies the further pages.
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

  /** Splits an id into its Mac and the Mac's own id. Returns undefined if no Mac of the fleet can have it. */
  #split(id: string) {
    const of = splitId(id);
    return of !== undefined && this.#parts.reads.isKnown(of.mac) ? of : undefined;
  }
}

/** Throws 501 `not_at_a_hub` if `include` has `contacts`, because a hub has no names of people (decision N2). */
function assertHere(include: IncludeSet | undefined): void {
  if (include?.has('contacts') === true) throw problem('not_at_a_hub');
}

function includeNames(include: IncludeSet | undefined): readonly string[] {
  return [...(include ?? [])];
}

function missingOf(away: readonly string[], missing: readonly string[]): { readonly missing?: readonly string[] } {
  const all = [...away, ...missing].sort();
  return all.length === 0 ? {} : { missing: all };
}

/** Merges a message from both Macs of a pair: the later edit, the furthest status and every receipt. */
function mergedMessage(one: Message, other: Message): Message {
  const changedAt = ({ details }: Message): string =>
    [details?.edited_at ?? '', details?.retracted_at ?? ''].sort().at(-1) ?? '';
  const [newer, older] = changedAt(other) > changedAt(one) ? [other, one] : [one, other];
  const status = STATUS_RANK[older.status] > STATUS_RANK[newer.status] ? older.status : newer.status;
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

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
