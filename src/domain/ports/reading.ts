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
  /** Opaque cursor of the next page, absent on the last one. */
  readonly next?: string;
  /** At a hub alone: the Macs whose items are not among these, because they are away. */
  readonly missing?: readonly string[];
}

export interface MessageQuery {
  readonly conversationId?: string | undefined;
  /** Only messages of the conversations with exactly these ids. */
  readonly conversationIds?: readonly string[] | undefined;
  /** Strictly after this instant, nanoseconds since the Unix epoch. */
  readonly sinceNs?: bigint | undefined;
  /** Strictly before this one. */
  readonly beforeNs?: bigint | undefined;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  /** `next` of an earlier page of the same query; replaces `offset`. */
  readonly cursor?: string | undefined;
  readonly include?: IncludeSet;
}

export interface ConversationQuery {
  readonly limit: number;
  readonly offset: number;
  readonly include?: IncludeSet;
}

/** What else a read is to give (decisions H, K1). */
export interface ReadOptions {
  readonly include?: IncludeSet;
}

/** Reads for clients. Every method throws `chat_db_unavailable` while chat.db cannot be read (decision C6). */
export interface MessageReader {
  listMessages(query: MessageQuery): Promise<Page<Message>>;
  /** undefined for an id that no message has, and for a reaction (decision B8). */
  message(id: string, options?: ReadOptions): Message | undefined | Promise<Message | undefined>;
  listConversations(query: ConversationQuery): Promise<Page<Conversation>>;
  /** Accepts every variant of the chat guid (decision B4). */
  conversation(id: string, options?: ReadOptions): Promise<Conversation | undefined>;
}

/** An open file of a message. Its holder reads it once or closes it. */
export interface AttachmentFile {
  readonly name: string;
  /** As Messages stored it: anything. */
  readonly mimeType: string | null;
  readonly bytes: number;
  /** Another one when the file is another or was changed. */
  readonly version: string;
  /** From byte `start` to byte `end`, both included; closes the file at its end. */
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** A form that every client shows or plays; `max`: pixels of the longer side (decision K4). */
export type ConvertedForm = { readonly as: 'jpeg'; readonly max: number | undefined } | { readonly as: 'm4a' };

export interface AttachmentReader {
  /**
   * The n-th file of a message, counted from 0; undefined when it is not on this machine (decision H). With a form it is
   * converted, or throws why it is not.
   */
  open(id: string, n: number, form?: ConvertedForm): Promise<AttachmentFile | undefined>;
}
