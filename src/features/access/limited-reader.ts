import type { Conversation } from '../../core/model/conversation.ts';
import type { Message } from '../../core/model/message.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { AttachmentReader, MessageQuery, MessageReader } from '../../core/model/ports/reading-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { compareTexts } from '../../core/model/text.ts';
import { narrowed } from './narrowing.ts';
import type { ReadableChats } from './readable.ts';
import { CONVERSATION, type ShownRows } from './shown-messages.ts';

export interface LimitedReaderParts {
  readonly reader: MessageReader;
  readonly directory: ChatDirectory;
  readonly chats: ReadableChats;
  readonly shown: ShownRows;
  /** Called after each read, with the conversations that the key has read. */
  readonly onRead: (conversationIds: ReadonlySet<string>) => void;
}

/**
 * Returns a reader that hides conversations and messages that the key may not read: lists omit them, and lookups return
 * undefined.
 */
export function limitedReader({ reader, directory, chats, shown, onRead }: LimitedReaderParts): MessageReader {
  const noteRead = (conversationIds: readonly string[]): void => {
    if (conversationIds.length > 0) onRead(new Set(conversationIds));
  };
  /** Notes conversations as read if the answer shows the beginning of their last message. */
  const noteLast = (conversations: readonly Conversation[]): void => {
    const shown = conversations.filter(({ details }) => details !== undefined && details.last_message !== null);
    noteRead(shown.map(({ id }) => id));
  };
  /** Returns the ids, or all ids, without closed conversations, which would leave gaps in a page and show in `next`. */
  const open = async (ids?: readonly string[]): Promise<readonly string[]> => {
    const closed = new Set(chats.closed());
    return (ids ?? (await reader.chats()).map(({ id }) => id)).filter((id) => !closed.has(id));
  };
  const isReadable = (message: Message | undefined): message is Message =>
    message !== undefined && chats.rows([message], (one) => one).length > 0;
  const narrowedMessage = (message: Message): Message => narrowed(message, shown.message, chats);
  const narrowedConversation = (one: Conversation): Conversation => narrowed(one, CONVERSATION, chats);
  /** Returns the query, restricted to conversations that the key may read. */
  const within = (query: MessageQuery): MessageQuery => {
    const { conversationId: id, conversationIds: ids, ...rest } = query;
    if (ids !== undefined) return { ...rest, conversationIds: chats.filter(ids, (guid) => guid) };
    if (id === undefined) return chats.isUnlisted ? query : { ...rest, conversationIds: chats.guids() };
    const meant = directory.meant(id);
    const [best] = meant;
    // Also without its messages, a page of a closed conversation would say in `next` how many it has, and when.
    if (meant.some(({ isClosed }) => isClosed)) return { ...rest, conversationIds: [] };
    if (chats.isUnlisted) return query;
    const isThere = best !== undefined && chats.has(best.guid);
    return isThere ? { ...rest, conversationId: best.guid } : { ...rest, conversationIds: [] };
  };
  return {
    async listMessages(query) {
      const page = await reader.listMessages(chats.isEverything ? query : within(query));
      const items = chats.rows(page.items, (message) => message);
      noteRead(items.map(({ conversation_id }) => conversation_id));
      return { ...page, items: items.map(narrowedMessage) };
    },
    async message(id, options) {
      // Before its details are read, so that the time until a 404 tells nothing of what a hidden message has.
      if (!isReadable(await reader.message(id))) return undefined;
      const message = await reader.message(id, options);
      if (!isReadable(message)) return undefined;
      noteRead([message.conversation_id]);
      return narrowedMessage(message);
    },
    async listConversations(query) {
      const { limit, offset, cursor, include, ids } = query;
      if (chats.isUnlisted) {
        const all = await reader.listConversations(chats.isEverything ? query : { ...query, ids: await open(ids) });
        const items = chats.filter(all.items, ({ id }) => id);
        noteLast(items);
        return { ...all, items: items.map(narrowedConversation) };
      }
      const wanted = ids && new Set(ids);
      const guids = chats.guids().filter((guid) => wanted?.has(guid) ?? true);
      const found = await Promise.all(guids.map((guid) => reader.conversation(guid)));
      const after = cursor ? positionAt(cursor) : undefined;
      const listed = [...new Map(found.flatMap((one) => (one === undefined ? [] : [[one.id, one] as const]))).values()]
        .sort(inOrder)
        .filter((one) => after === undefined || inOrder(one, after) > 0);
      const start = after === undefined ? offset : 0;
      const page = listed.slice(start, start + limit);
      const end = listed.length > start + limit ? page.at(-1) : undefined;
      const items = await Promise.all(page.map(({ id }) => reader.conversation(id, { ...(include && { include }) })));
      const there = items.filter((conversation) => conversation !== undefined);
      noteLast(there);
      return { items: there.map(narrowedConversation), ...(end && { next: `${end.last_message_at}.${end.id}` }) };
    },
    chats: async () => chats.filter(await reader.chats(), ({ id }) => id),
    async conversation(id, options) {
      // Before anything is read, so that the time until a 404 does not tell whether the conversation exists.
      if (!chats.isUnlisted && !directory.meant(id).some(({ guid }) => chats.has(guid))) return undefined;
      const conversation = await reader.conversation(id, options);
      if (conversation === undefined || !chats.has(conversation.id)) return undefined;
      noteLast([conversation]);
      return narrowedConversation(conversation);
    },
    marks(what, ids) {
      return reader.marks(
        what,
        what === 'messages' ? ids.filter((id) => chats.hasMessage(id)) : chats.filter(ids, (id) => id),
      );
    },
  };
}

/** Returns an attachment reader that opens only the files of messages that the key may read. */
export function limitedAttachments(attachments: AttachmentReader, reader: MessageReader): AttachmentReader {
  return {
    async open(id, n, form) {
      return (await reader.message(id)) === undefined ? undefined : attachments.open(id, n, form);
    },
  };
}

type ListPosition = Pick<Conversation, 'id' | 'last_message_at'>;

/** Compares two conversations for sorting: newest first, then by id. */
function inOrder(a: ListPosition, b: ListPosition): number {
  return compareTexts(b.last_message_at, a.last_message_at) || compareTexts(a.id, b.id);
}

/** Parses the cursor of a list. Throws `invalid_cursor`. */
function positionAt(cursor: string): ListPosition {
  const [, at, id] = /^([\dTZ:-]{20,24})\.(.+)$/s.exec(cursor) ?? [];
  if (at === undefined || id === undefined) throw problem('invalid_cursor');
  return { id, last_message_at: at };
}
