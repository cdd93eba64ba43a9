import { chatIdentity, memberKey } from '../../domain/address.ts';
import type { LogEntry } from '../../domain/event.ts';
import { splitId } from '../../domain/fleet.ts';
import { wantedBy } from '../../domain/narrowing.ts';
import { type StoredWebhook, type WebhookEventType, type WebhookFilter, wantsChanges } from '../../domain/webhook.ts';

/** A range of changed messages comes with either of the other two (decision I3). */
export function subscribedTypes(webhook: StoredWebhook): ReadonlySet<WebhookEventType> {
  return new Set([...webhook.events, ...(wantsChanges(webhook) ? (['messages.changed'] as const) : [])]);
}

/**
 * Whether events match a filter (decision P4). What an event does not say is not looked at: a removed message has no
 * sender, and a range of changed messages no conversation.
 */
export function eventFilter(filter: WebhookFilter | null): (entry: LogEntry) => boolean {
  if (filter === null) return () => true;
  const { conversation_ids: ids, senders: addresses, is_from_me: isOwn } = filter;
  const conversations = ids && new Set(ids.map(conversationKey));
  const senders = addresses && new Set(addresses.map(memberKey));
  const isWanted = wantedBy(filter);
  return (entry) => {
    if (isWanted?.(entry) === false) return false;
    const { data } = entry.event;
    const conversation = 'conversation_id' in data && data.conversation_id !== '' ? data.conversation_id : undefined;
    if (conversation !== undefined && conversations !== undefined && !isListed(conversation, conversations))
      return false;
    if (!('sender' in data)) return true;
    return senders?.has(memberKey(data.sender)) !== false && (isOwn ?? data.is_from_me) === data.is_from_me;
  };
}

/** At a hub an id without a Mac means the conversation at any of them. */
function isListed(id: string, keys: ReadonlySet<string>): boolean {
  return keys.has(conversationKey(id)) || keys.has(conversationKey(splitId(id)?.id ?? id));
}

/** The same for every variant of an id, whatever service it names. */
function conversationKey(text: string): string {
  const { mac, id } = splitId(text) ?? { mac: '', id: text };
  const identity = chatIdentity(id);
  return `${mac}~${identity === undefined ? id : `${identity.style};${memberKey(identity.identifier)}`}`;
}
