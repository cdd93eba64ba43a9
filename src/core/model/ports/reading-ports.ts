import type { Conversation } from '../conversation.ts';
import type { IncludeSet } from '../include.ts';
import type { Message } from '../message.ts';
import type { Marks } from '../narrowing.ts';

/** The part `backend` of the health record, as the contract defines it. */
export interface BackendHealth {
  readonly connected: boolean;
  readonly message: string | null;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Opaque cursor of the next page; absent on the last page. */
  readonly next?: string;
}

export interface MessageQuery {
  readonly conversationId?: string | undefined;
  /** Only messages in conversations with exactly these ids. */
  readonly conversationIds?: readonly string[] | undefined;
  /** Only messages dated after this instant (exclusive), in nanoseconds since the Unix epoch. */
  readonly sinceNs?: bigint | undefined;
  /** Only messages dated before this instant (exclusive), in nanoseconds since the Unix epoch. */
  readonly beforeNs?: bigint | undefined;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  /** `next` of an earlier page of the same query. If present, `offset` is ignored. */
  readonly cursor?: string | undefined;
  readonly include?: IncludeSet;
  /** True to list hidden messages too: those that Postern wrote for one of its features. */
  readonly withHidden?: boolean | undefined;
  /** True to list only messages with attachments, and no hidden ones. */
  readonly hasFiles?: boolean | undefined;
}

/** A conversation, as far as `matchingChats` reads it. */
export interface NamedChat {
  readonly id: string;
  readonly isGroup: boolean;
  /** Empty for a conversation without a name. */
  readonly name: string;
  readonly participants: readonly string[];
}

export interface ConversationQuery {
  readonly limit: number;
  readonly offset: number;
  /** Lists only the conversations that `matchingChats` finds for this text. */
  readonly q?: string | undefined;
  /** Lists only the conversations with exactly these ids. */
  readonly ids?: readonly string[] | undefined;
  /** `next` of an earlier page, or "" for the first page. If present, `offset` is ignored. */
  readonly cursor?: string | undefined;
  readonly include?: IncludeSet;
}

/** The additions to each message or conversation that a method returns (decision H). */
export interface ReadOptions {
  readonly include?: IncludeSet;
}

/**
 * Reads messages and conversations for clients. Every method throws `chat_db_unavailable` while chat.db is unreadable
 * (decision C6).
 */
export interface MessageReader {
  listMessages(query: MessageQuery): Promise<Page<Message>>;
  /** Returns the message with this id; undefined if there is none, or if the id belongs to a reaction (decision B8). */
  message(id: string, options?: ReadOptions): Message | undefined | Promise<Message | undefined>;
  listConversations(query: ConversationQuery): Promise<Page<Conversation>>;
  /** Returns the names and participants of all conversations, in no particular order. Throws 501 at a hub. */
  chats(): Promise<readonly NamedChat[]>;
  /**
   * Returns the conversation with this id, in any variant of the chat guid (decision B4); undefined if there is none.
   */
  conversation(id: string, options?: ReadOptions): Promise<Conversation | undefined>;
  /**
   * Returns the marks of those of the messages or conversations that have any. Key: the id. Only lists that leave
   * junk out need marks.
   */
  marks(what: 'messages' | 'conversations', ids: readonly string[]): ReadonlyMap<string, Marks>;
}

/** An open file of a message. The caller that opened it must either read it once or close it. */
export interface AttachmentFile {
  readonly name: string;
  /** The MIME type that Messages stored, unchecked: it may be any text. */
  readonly mimeType: string | null;
  readonly bytes: number;
  /** A text that changes when the file is replaced or modified. */
  readonly version: string;
  /** Yields bytes `start` to `end`, both inclusive; closes the file at the end. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/**
 * The format to convert a file to, so that every client can show or play it. `max` limits the longer side of an image,
 * in pixels.
 */
export type ConvertedForm = { readonly as: 'jpeg'; readonly max: number | undefined } | { readonly as: 'm4a' };

export interface AttachmentReader {
  /**
   * Opens attachment `n` of a message, counted from 0. Returns undefined if its file is not on this machine (decision
   * H). With `form`, converts the file first, and throws if the conversion fails.
   */
  open(id: string, n: number, form?: ConvertedForm): Promise<AttachmentFile | undefined>;
}
