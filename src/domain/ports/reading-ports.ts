import type { Conversation } from '../conversation.ts';
import type { IncludeSet } from '../include.ts';
import type { Message } from '../message.ts';

/** The contract's `backend` part of the health record. */
export interface BackendHealth {
  readonly connected: boolean;
  readonly message: string | null;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Opaque cursor of the next page; absent on the last page. */
  readonly next?: string;
  /** Ids of the unreachable Macs, whose items are missing; only at a hub. */
  readonly missing?: readonly string[];
}

export interface MessageQuery {
  readonly conversationId?: string | undefined;
  /** Only messages in conversations with exactly these ids. */
  readonly conversationIds?: readonly string[] | undefined;
  /** After this instant (exclusive), in nanoseconds since the Unix epoch. */
  readonly sinceNs?: bigint | undefined;
  /** Before this instant (exclusive). */
  readonly beforeNs?: bigint | undefined;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  /** `next` of an earlier page of the same query; replaces `offset`. */
  readonly cursor?: string | undefined;
  readonly include?: IncludeSet;
  /** True to list canaries too (decision AA4). */
  readonly include_canary?: boolean | undefined;
  /** True for messages with attachments only; needs `conversationId`, newest first. */
  readonly hasFiles?: boolean | undefined;
}

export interface ConversationQuery {
  readonly limit: number;
  readonly offset: number;
  /** `next` of an earlier page, or empty for the first; replaces `offset`. */
  readonly cursor?: string | undefined;
  readonly include?: IncludeSet;
}

/** Additions to a read (decisions H, K1). */
export interface ReadOptions {
  readonly include?: IncludeSet;
}

/** Reads for clients. Every method throws `chat_db_unavailable` while chat.db is unreadable (decision C6). */
export interface MessageReader {
  listMessages(query: MessageQuery): Promise<Page<Message>>;
  /** Returns undefined if no message has the id, or if it is a reaction (decision B8). */
  message(id: string, options?: ReadOptions): Message | undefined | Promise<Message | undefined>;
  listConversations(query: ConversationQuery): Promise<Page<Conversation>>;
  /** Accepts every variant of the chat guid (decision B4). */
  conversation(id: string, options?: ReadOptions): Promise<Conversation | undefined>;
}

/** An open file of a message. Its holder reads it once or closes it. */
export interface AttachmentFile {
  readonly name: string;
  /** As stored by Messages: any text. */
  readonly mimeType: string | null;
  readonly bytes: number;
  /** Changes when the file is replaced or modified. */
  readonly version: string;
  /** Yields bytes `start` to `end`, both inclusive; closes the file at the end. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** A form that every client can show or play. `max` limits the longer side, in pixels (decision K4). */
export type ConvertedForm = { readonly as: 'jpeg'; readonly max: number | undefined } | { readonly as: 'm4a' };

export interface AttachmentReader {
  /**
   * Opens a message's n-th file, counted from 0; returns undefined if the file is not on this machine (decision H).
   * With a form, converts the file, and throws if that fails.
   */
  open(id: string, n: number, form?: ConvertedForm): Promise<AttachmentFile | undefined>;
}
