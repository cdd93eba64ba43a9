// Pages of a conversation's messages.

import { pageOf } from '../../service/api.ts';
import { partsToInclude } from '../../service/service.ts';

const FIRST = 50;

/**
 * @param {string} conversation
 * @param {Record<string, string>} query
 */
export const pathOf = (conversation, query) =>
  `messages?include=${partsToInclude()}&conversation_id=${encodeURIComponent(conversation)}&${new URLSearchParams(query)}`;

/** @param {string | undefined} path */
export const cursorIn = (path) => new URLSearchParams(path?.split('?')[1]).get('cursor') ?? undefined;

/**
 * Returns the newest messages if `wanted` is undefined or among them. Otherwise, returns a page that begins with
 * `wanted`. In both cases, the oldest message comes first.
 * @param {string} conversation
 * @param {any} wanted
 */
export async function around(conversation, wanted) {
  const newest = await pageOf(pathOf(conversation, { limit: String(FIRST) }));
  const isThere = newest.items.length < FIRST || newest.items.some(({ id }) => id === wanted?.id);
  if (wanted === undefined || isThere) {
    return { items: newest.items.reverse(), next: newest.next, isNewest: true };
  }
  // The API returns only messages later than `since`, so `since` is 1 ms before the wanted message.
  const since = new Date(Date.parse(wanted.timestamp) - 1).toISOString();
  const { items, next } = await pageOf(pathOf(conversation, { limit: String(FIRST), order: 'asc', since }));
  return { items, next, isNewest: next === undefined };
}
