import type { Message } from '../domain/message.ts';
import type { Highlight, SearchQuery, SearchSender } from '../domain/search.ts';
import { addressKey, conversationTag, MAX_UNITS, nameOf, senderTags, tagsOf } from './document.ts';
import { excludedOf, expressionOf, isAsked, type Sequence, sequencesOf } from './expression.ts';
import { merged, type Token, tokensOf } from './tokens.ts';

/** What a message is to a query. `stale`: what the index has of it is not what it is. */
export type Match = { readonly highlights: readonly Highlight[] } | 'stale' | 'other';

/** Looks whether messages that the index named are what was asked for, and where. */
export function matcherOf(query: SearchQuery): (message: Message) => Match {
  const wanted = sequencesOf(query.terms);
  const excluded = excludedOf(query);
  const tags = [
    ...query.conversations.filter(isAsked).map((ids) => ids.map(conversationTag)),
    ...(query.senders.length > 0 ? [query.senders.flatMap(senderTags)] : []),
  ];
  const isIndexAsked = expressionOf(query) !== undefined;
  const isInConversation = conversationFilter(query);
  return (message) => {
    const has = new Set(tagsOf(message));
    if (!tags.every((alternatives) => alternatives.some((tag) => has.has(tag)))) return 'stale';
    if (query.hasAttachment && message.attachments.length === 0) return 'stale';
    const body = tokensOf(message.body.slice(0, MAX_UNITS));
    const names = message.attachments.map((path) => tokensOf(nameOf(path)));
    const isIn = (sequence: Sequence): boolean =>
      find(body, sequence).length > 0 || names.some((name) => find(name, sequence).length > 0);
    if (!wanted.every(isIn)) return 'stale';
    if (excluded.some(isIn)) return isIndexAsked ? 'stale' : 'other';
    // Another conversation or address with the same tag.
    if (!isInConversation(message.conversation_id) || !isMeant(query, message)) return 'other';
    return { highlights: merged(wanted.flatMap((sequence) => find(body, sequence))) };
  };
}

/** Whether a conversation is one of those that a query is about. */
export function conversationFilter({ conversations }: SearchQuery): (id: string) => boolean {
  const lists = conversations.map((ids) => new Set(ids));
  return (id) => lists.every((ids) => ids.has(id));
}

function isMeant({ senders, fromMs, beforeMs }: SearchQuery, message: Message): boolean {
  const sender = addressKey(message.sender);
  const isBy = (one: SearchSender): boolean =>
    one.isMe ? message.is_from_me : one.addresses.some((address) => addressKey(address) === sender);
  const ms = Date.parse(message.timestamp);
  return (
    (senders.length === 0 || senders.some(isBy)) && ms >= (fromMs ?? ms) && (beforeMs === undefined || ms < beforeMs)
  );
}

/** The place of the sequence in a text. */
function find(text: readonly Token[], { tokens, isBegun }: Sequence): readonly Highlight[] {
  const found: Highlight[] = [];
  const [first = ''] = tokens;
  const lastAt = tokens.length - 1;
  for (let at = 0; at + lastAt < text.length; at += 1) {
    const start = text[at];
    const end = text[at + lastAt];
    if (start === undefined || end === undefined) break;
    if (lastAt > 0 && start.text !== first) continue;
    const last = tokens[lastAt] ?? '';
    if (!(isBegun ? end.text.startsWith(last) : end.text === last)) continue;
    if (tokens.every((token, step) => step === lastAt || text[at + step]?.text === token)) {
      found.push([start.start, end.end]);
    }
  }
  return found;
}
