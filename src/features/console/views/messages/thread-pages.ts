// Pages of a conversation's messages.

import type { Message } from '../../../../core/model/message.ts';
import { pageOf } from '../../service/api.ts';
import { ALL_PARTS } from '../../service/service.ts';

const FIRST = 50;

export const pathOfMessages = (conversation: string, query: Readonly<Record<string, string>>): string =>
  `messages?include=${ALL_PARTS}&conversation_id=${encodeURIComponent(conversation)}&${new URLSearchParams(query)}`;

export const cursorIn = (path: string | undefined): string | undefined =>
  new URLSearchParams(path?.split('?')[1]).get('cursor') ?? undefined;

/** A page of messages, oldest first. */
export interface MessagePage {
  readonly items: readonly Message[];
  readonly next: string | undefined;
  /** True if it ends with the newest message. */
  readonly isNewest: boolean;
}

/**
 * Returns the newest messages if `wanted` is undefined or among them. Otherwise, returns a page that begins with
 * `wanted`.
 */
export async function around(conversation: string, wanted: Message | undefined): Promise<MessagePage> {
  const newest = await pageOf<Message>(pathOfMessages(conversation, { limit: String(FIRST) }));
  const isThere = newest.items.length < FIRST || newest.items.some(({ id }) => id === wanted?.id);
  if (wanted === undefined || isThere) {
    return { items: newest.items.reverse(), next: newest.next, isNewest: true };
  }
  // The API returns only messages later than `since`, so `since` is 1 ms before the wanted message.
  const since = new Date(Date.parse(wanted.timestamp) - 1).toISOString();
  const path = pathOfMessages(conversation, { limit: String(FIRST), order: 'asc', since });
  const { items, next } = await pageOf<Message>(path);
  return { items, next, isNewest: next === undefined };
}
