import type { Message } from '../../domain/message.ts';
import type { SearchableMessage, SearchHit, SearchQuery, SearchSender } from '../../domain/search.ts';
import { addressKey, conversationTag, MAX_UNITS, nameOf, senderTags, tagsOf } from '../index/document.ts';
import { type Pattern, SearchedText, toPattern } from '../index/searched-text.ts';
import { mergedPlaces } from '../index/tokens.ts';
import { excludedOf, expressionOf, isAsked, sequencesOf } from './expression.ts';

/** The relation of a message to a query. `stale`: the indexed document differs from the message. */
export type Match = Pick<SearchHit, 'highlights' | 'in'> | 'stale' | 'other';

/** Checks whether messages that the index named match, and where. */
export function matcherOf(query: SearchQuery): (message: SearchableMessage) => Match {
  const wanted = sequencesOf(query.terms).map(toPattern);
  const excluded = excludedOf(query).map(toPattern);
  const tags = [
    ...query.conversations.filter(isAsked).map((ids) => ids.map(conversationTag)),
    ...(query.senders.length > 0 ? [query.senders.flatMap(senderTags)] : []),
  ];
  const isIndexAsked = expressionOf(query) !== undefined;
  const isInConversation = conversationFilter(query);
  return (message) => {
    if (tags.length > 0) {
      const has = new Set(tagsOf(message));
      if (!tags.every((alternatives) => alternatives.some((tag) => has.has(tag)))) return 'stale';
    }
    if (query.hasAttachment && message.attachments.length === 0) return 'stale';
    const body = new SearchedText(message.body.slice(0, MAX_UNITS));
    const names = message.attachments.map((path) => new SearchedText(nameOf(path)));
    const others = (message.texts ?? []).map(([place, text]) => [place, new SearchedText(text)] as const);
    const found = wanted.map((pattern) => body.places(pattern));
    const placeOf = (pattern: Pattern) => others.find(([, text]) => text.places(pattern).length > 0)?.[0];
    const isNamed = (pattern: Pattern): boolean =>
      names.some((name) => name.places(pattern).length > 0) || placeOf(pattern) !== undefined;
    if (!wanted.every((pattern, at) => found[at]?.length !== 0 || isNamed(pattern))) return 'stale';
    const isExcluded = excluded.some((pattern) => body.places(pattern).length > 0 || isNamed(pattern));
    if (isExcluded) return isIndexAsked ? 'stale' : 'other';
    // Another conversation or address with the same tag.
    if (!isInConversation(message.conversation_id) || !isMeant(query, message)) return 'other';
    const elsewhere = wanted.filter((_, at) => found[at]?.length === 0).map(placeOf);
    const place = elsewhere.find((one) => one !== undefined);
    return { highlights: mergedPlaces(found.flat()), ...(place !== undefined && { in: place }) };
  };
}

/** Reports whether a conversation is one of the query's. */
export function conversationFilter({ conversations }: SearchQuery): (id: string) => boolean {
  const lists = conversations.map((ids) => new Set(ids));
  return (id) => lists.every((ids) => ids.has(id));
}

function isMeant({ senders, fromMs, beforeMs }: SearchQuery, message: Message): boolean {
  if (senders.length > 0) {
    const sender = addressKey(message.sender);
    const isBy = (one: SearchSender): boolean =>
      one.isMe ? message.is_from_me : one.addresses.some((address) => addressKey(address) === sender);
    if (!senders.some(isBy)) return false;
  }
  if (fromMs === undefined && beforeMs === undefined) return true;
  const ms = Date.parse(message.timestamp);
  return ms >= (fromMs ?? ms) && (beforeMs === undefined || ms < beforeMs);
}
